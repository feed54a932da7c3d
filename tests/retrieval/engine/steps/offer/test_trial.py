"""What a question would get: searched for, and written from what was found, as far as its beginning."""

from __future__ import annotations

import pytest
from django.conf import settings

from retrieval.engine.steps.offer.trial import try_question
from tests.retrieval.engine.steps.fakes import HANDBOOK, ask, make_tools

DEPOSIT = "How large is the deposit for a room in Lakeside hall?"
ANSWER = "The deposit for a room in Lakeside hall is EUR 300 [1]."


async def tried(text: str = DEPOSIT, chunks=HANDBOOK):
    return await try_question(make_tools(settings.RAG, chunks), ask(text))


async def test_a_question_that_the_passages_answer_is_kept_with_what_it_rests_on(online) -> None:
    online.reply(text=ANSWER)
    trial = await tried()
    assert trial.outcome == "answered"
    assert [source.chunk.document_id for source in trial.sources] == ["d3"]


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("NO_ANSWER", "refused"),
        ("UNCLEAR", "refused"),
        ("Parking costs EUR 100 [1].", "unsupported"),
        ("", "failed"),
    ],
)
async def test_what_the_writer_does_not_answer_from_them_is_not(online, reply, outcome) -> None:
    online.reply(text=reply)
    assert (await tried()).outcome == outcome


async def test_nothing_is_written_where_nothing_is_found(online) -> None:
    assert (await tried("Zeppelin?", chunks=HANDBOOK[:1])).outcome == "nothing_found"
    assert not online.chats


async def test_without_a_model_nothing_is_kept(offline) -> None:
    assert (await tried()).outcome == "failed"


async def test_a_long_answer_is_left_once_it_has_begun(online) -> None:
    online.reply(text=f"{ANSWER} " * 200, token_delay_s=0.0005)
    assert (await tried()).outcome == "answered"
    assert online.chats[0].pieces_sent < 400


async def test_the_calls_are_counted_and_nothing_is_sent(online) -> None:
    online.reply(text=ANSWER)
    deps = make_tools(settings.RAG, HANDBOOK)
    await try_question(deps, ask(DEPOSIT))
    assert deps.trace.usage().llm_calls == 1
