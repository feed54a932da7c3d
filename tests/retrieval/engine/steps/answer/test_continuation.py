"""An answer that broke off goes on behind its text, from the same passages."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings

from ragsite.core.errors import UnavailableError
from retrieval.engine.providers.chat import TEMPLATE_TOKENS
from retrieval.engine.steps.answer.continuation import PartialAnswer
from retrieval.engine.steps.answer.joint import OverlapStripper
from retrieval.engine.text.quoting import estimate_tokens
from retrieval.engine.trace import Trace
from retrieval.engine.values import Answer, AnswerSource
from retrieval.engine.workflows.base import continue_answer, require_writer
from tests.retrieval.engine.steps.fakes import Events, ask, make_tools, scored

QUESTION = "What does a resit cost, and how is it paid?"
FIRST = scored(1, "A resit costs EUR 55. The resit fee is paid online by card.", title="Exams")
SECOND = scored(2, "The library opens at eight.", title="Library")
SOURCES = tuple(
    AnswerSource(marker=at, chunk=hit.chunk, scores=hit.scores)
    for at, hit in enumerate((FIRST, SECOND), 1)
)
BEGINNING = "A resit costs EUR 55 [1]. The resit fee is paid"


async def continued(
    text: str = BEGINNING, sources: tuple[AnswerSource, ...] = SOURCES
) -> tuple[Answer, Events, Trace]:
    events = Events()
    trace = Trace(events)
    begun = PartialAnswer(question=ask(QUESTION), text=text, sources=sources)
    answer = await continue_answer(begun, engine=make_tools(settings.RAG), trace=trace)
    return answer, events, trace


async def test_without_a_model_it_is_refused_with_a_reason(offline: Any) -> None:
    with pytest.raises(UnavailableError, match="continued by a model"):
        await require_writer(make_tools(settings.RAG))


async def test_many_long_passages_are_cut_to_the_window(online: Any, rag_settings: Any) -> None:
    rag_settings(ollama={"num_ctx": 2048})
    online.reply(text="online.")
    long = tuple(
        AnswerSource(
            marker=at, chunk=scored(at, "The fee is paid online. " * 50).chunk, scores=FIRST.scores
        )
        for at in range(1, 7)
    )
    answer, _, _ = await continued(sources=long)
    assert not answer.partial
    assert online.chats[0].body["options"]["num_ctx"] == 2048
    assert estimate_tokens(online.chats[0].prompt) + TEMPLATE_TOKENS < 2048


@pytest.mark.parametrize(
    ("end", "rest", "joined"),
    [
        ("Undergraduates may borrow", "ten books.", " ten books."),
        ("Undergraduates may borrow ", "ten books.", "ten books."),
        ("Undergraduates may borrow te", "ten books.", "n books."),
        ("Undergraduates may borrow ten", "ten books.", " books."),
        ("Undergraduates may borrow ten books.", "They pay nothing.", " They pay nothing."),
        ("may borrow ten books", "Undergraduates may borrow ten books for a week.",
         " Undergraduates may borrow ten books for a week."),
        ("Undergraduates may borrow ten books", "may borrow ten books for four weeks.", " for four weeks."),
        ("本科生可以借", "十本书。", "十本书。"),
        ("- ten books", "- four weeks", "\n- four weeks"),
        ("a fee of EUR 5", "5 a year", " 5 a year"),
        ("the well-", "known rule", "known rule"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_what_was_said_is_not_said_again(end: str, rest: str, joined: str, size: int) -> None:
    joint = OverlapStripper(end)
    pieces = [joint.feed(rest[at : at + size]) for at in range(0, len(rest), size)]
    assert "".join([*pieces, joint.finish()]) == joined


async def test_open_code_goes_on_as_code_without_citations(online: Any) -> None:
    online.reply(text="A resit costs EUR 55.\n```")
    answer, _, _ = await continued("So:\n```\nfee = 5\n")
    assert answer.text.startswith("So:\n```\nfee = 5\nA resit costs EUR 55.\n```")
