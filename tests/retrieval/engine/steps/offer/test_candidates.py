"""Questions that a reader could ask next, as the fast model makes them."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings

from retrieval.engine.steps.offer.candidates import CANDIDATES, next_questions, without_known
from retrieval.engine.values import HistoryMessage
from tests.retrieval.engine.steps.fakes import HANDBOOK, make_tools

DEPOSIT = "How large is the deposit for a room in Lakeside hall?"
RESIT = "What does a late resit cost?"


async def made(online, *questions: str, history=()) -> list[str]:
    online.reply(structured=True, json={"questions": list(questions)})
    deps = make_tools(settings.RAG)
    return await next_questions(deps, HANDBOOK, about="How many books?", history=history)


async def test_they_are_made_of_the_passages_and_of_what_was_asked(online) -> None:
    assert await made(online, DEPOSIT, RESIT) == [DEPOSIT, RESIT]
    assert "EUR 300" in online.chats[0].prompt
    assert online.chats[0].prompt.rstrip().endswith("Question: How many books?")


async def test_what_the_conversation_has_asked_is_left_out(online) -> None:
    history = (HistoryMessage("user", DEPOSIT), HistoryMessage("assistant", "EUR 300 [1]."))
    again = DEPOSIT.upper().replace("?", "")
    assert await made(online, again, RESIT, history=history) == [RESIT]


async def test_more_than_asked_for_too_long_and_empty_ones_are_dropped(online) -> None:
    many = [f"What does form {number} cost in room {number}?" for number in range(9)]
    assert await made(online, "", "Why " * 100, *many) == many[:CANDIDATES]


async def test_long_passages_are_shown_as_far_as_there_is_room(online) -> None:
    long = [replace(chunk, text=chunk.text + " More of it." * 800) for chunk in HANDBOOK]
    online.reply(structured=True, json={"questions": [RESIT]})
    await next_questions(make_tools(settings.RAG), long, about="Which?")
    assert online.chats[0].prompt.count("<passage id=") == 1


def test_another_number_asks_another_thing() -> None:
    assert without_known(["Which fee is due in 2025?"], ["Which fee is due in 2024?"])
    assert not without_known(["Which fee is due in 2024"], ["which fee is due in 2024?"])
