from __future__ import annotations

import re
from functools import partial

import pytest

from retrieval.engine.ports import WebResult
from retrieval.engine.values import AnswerOptions
from tests.retrieval.engine.steps.fakes import (
    EMPTY_SCOPE,
    HANDBOOK,
    MemorySearcher,
    MemoryWeb,
    ask,
    chunk,
)
from tests.retrieval.engine.workflows.runs import names, run

answer = partial(run, "react")
CLEAR = "What is the deposit for a room in Lakeside hall?"
CHATTY = "Can you help me find something about the deposit for a room in Lakeside hall?"
UNKNOWN = "Who won the football cup last year?"
ENOUGH = {"verdict": "SUFFICIENT", "missing": "none"}
TOO_LITTLE = {"verdict": "INSUFFICIENT", "missing": "the amount"}
PARKING = WebResult(
    title="Parking at Lakeside", url="https://example.org/parking", snippet="Parking at Lakeside costs EUR 7 a day.",
    published="2025-01-02",
)  # fmt: skip


# ------------------------------------------------------------------------------------------------ the seed's cases
ROUTES = '"route"'


async def test_a_clear_query_goes_straight_to_search_and_takes_three_rounds(online) -> None:
    online.reply(match=ROUTES, json={"route": "search"})
    online.reply(match="SUFFICIENT", json=ENOUGH)
    searcher = MemorySearcher(HANDBOOK)
    result, trace, events = await answer(CLEAR, searcher=searcher)
    assert result.decision == "ANSWER"
    assert "EUR 300" in result.text
    assert [source.chunk.title for source in result.sources if source.cited] == [
        "Student Housing Policy"
    ]
    assert (trace.usage().llm_rounds, trace.usage().llm_calls) == (
        3,
        4,
    )  # the second look comes behind the text
    assert "rewrite" not in names(trace)
    assert [query.text for query in searcher.requests[0].queries] == [CLEAR]
    assert [name for kind, name in events.log if kind == "tool"] == [
        "search",
        "relevance_evaluator",
    ]


async def test_a_query_that_the_model_calls_chatty_is_rewritten_first(online) -> None:
    online.reply(match=ROUTES, json={"route": "rewrite"})
    online.reply(match="Tried before", json={"query": "deposit room Lakeside hall"})
    online.reply(match="SUFFICIENT", json=ENOUGH)
    searcher = MemorySearcher(HANDBOOK)
    _, trace, _ = await answer(CHATTY, searcher=searcher)
    assert [query.text for query in searcher.requests[0].queries] == ["deposit room Lakeside hall"]
    assert "chatty or vague" in next(step.summary for step in trace.steps if step.name == "plan")


@pytest.mark.parametrize(("message", "rewritten"), [(CHATTY, 0), ("deposit?", 1)])
async def test_without_the_models_word_length_alone_routes(
    online, message: str, rewritten: int
) -> None:
    online.reply(match=ROUTES, status=500)
    online.reply(match="SUFFICIENT", json=ENOUGH)
    _, trace, _ = await answer(message)
    assert names(trace).count("rewrite") == rewritten


async def test_nobody_is_asked_for_the_way_where_rewriting_is_switched_off(online) -> None:
    _, trace, _ = await answer(ask(CHATTY, options=AnswerOptions(rewrite=False)))
    assert not any(ROUTES in request.prompt for request in online.chats)
    assert "rewrite" not in names(trace)


@pytest.mark.parametrize("message", ["deposit?", "奖学金多少"])
async def test_a_short_query_is_rewritten_first(online, message: str) -> None:
    online.reply(match="Tried before|试过的查询", json={"query": "deposit room Lakeside hall"})
    online.reply(match="SUFFICIENT", json=ENOUGH)
    searcher = MemorySearcher(HANDBOOK)
    _, trace, events = await answer(message, searcher=searcher)
    assert (trace.usage().llm_rounds, names(trace).count("rewrite")) == (3, 1)
    assert [query.text for query in searcher.requests[0].queries] == ["deposit room Lakeside hall"]
    assert ("tool", "query_rewriter") in events.log


async def test_too_little_is_searched_for_again_with_what_is_missing(online) -> None:
    online.reply(match="Tried before", json={"query": "room in a hall"}, times=1)
    online.reply(match="Tried before", json={"query": "deposit room Lakeside hall"})
    online.reply(match="SUFFICIENT", json=TOO_LITTLE, times=1)
    online.reply(match="SUFFICIENT", json=ENOUGH)
    searcher = MemorySearcher(HANDBOOK)
    result, trace, _ = await answer("deposit?", searcher=searcher)
    assert result.decision == "ANSWER"
    assert [request.queries[0].text for request in searcher.requests] == [
        "room in a hall", "deposit room Lakeside hall",
    ]  # fmt: skip
    second = [request.prompt for request in online.chats if "Tried before" in request.prompt][1]
    assert "Tried before: room in a hall" in second
    assert "Still missing: the amount" in second
    assert names(trace).count("rewrite") == 2


@pytest.mark.parametrize("message", [CLEAR, CHATTY])
async def test_there_are_never_more_than_two_rewrites(online, message: str) -> None:
    for number in range(5):
        online.reply(
            match="Tried before", json={"query": f"deposit room wording {number}"}, times=1
        )
    online.reply(match=ROUTES, json={"route": "rewrite"})
    online.reply(match="SUFFICIENT", json=TOO_LITTLE)
    _, trace, _ = await answer(message)
    assert names(trace).count("rewrite") == 2
    assert trace.usage().llm_rounds <= 9


# ------------------------------------------------------------------------------------------------ decisions


async def test_a_question_that_nothing_answers_gets_no_answer(online) -> None:
    online.reply(match="SUFFICIENT", json=TOO_LITTLE)
    result, _, events = await answer(UNKNOWN)
    assert result.decision == "NO_ANSWER"
    assert result.text == events.text


async def test_after_the_rewrites_it_is_answered_from_what_there_is_and_not_confirmed(
    online,
) -> None:
    online.reply(match="SUFFICIENT", json=TOO_LITTLE)
    result, trace, _ = await answer(CLEAR)
    assert (result.decision, result.support) == ("ANSWER", "none")
    assert "EUR 300" in result.text
    assert "does not call sufficient" in trace.steps[-1].summary


async def test_a_request_may_have_it_refuse_after_the_rewrites(online) -> None:
    online.reply(match="SUFFICIENT", json=TOO_LITTLE)
    result, trace, _ = await answer(ask(CLEAR, options=AnswerOptions(force_generate=False)))
    assert result.decision == "NO_ANSWER"
    assert "generate" not in names(trace)


@pytest.mark.parametrize(("forced", "offered"), [(None, True), (True, False)])
async def test_a_forced_answer_is_not_offered_a_refusal(
    online, forced: bool | None, offered: bool
) -> None:
    online.reply(match="SUFFICIENT", json=TOO_LITTLE)
    await answer(ask(CLEAR, options=AnswerOptions(force_generate=forced)))
    (writing,) = [request.prompt for request in online.chats if "Task: WRITE" in request.prompt]
    assert ("NO_ANSWER" in writing) == offered


async def test_the_evaluator_is_shown_what_the_writer_is_given(online) -> None:
    online.reply(match="SUFFICIENT", json=ENOUGH)
    halls = [
        chunk(number, f"The deposit for hall {number} is EUR {number}.") for number in range(9)
    ]
    await answer("What is the deposit for a hall?", halls)
    shown = [
        re.findall(r"EUR \d", request.prompt) for request in online.chats if "EUR" in request.prompt
    ]
    assert shown[0] == shown[1] and len(shown[0]) == 9


# ------------------------------------------------------------------------------------------------ the web
WEB = AnswerOptions(web_search=True)
ABSENT = "How much does parking at Lakeside cost a day?"


async def test_what_the_documents_do_not_hold_is_looked_up_on_the_web_after_the_rewrites(
    online,
) -> None:
    online.reply(match="Tried before", json={"query": "parking fee"}, times=1)
    online.reply(match="Tried before", json={"query": "car park Lakeside"})
    online.reply(match="SUFFICIENT", json=TOO_LITTLE, times=3)
    online.reply(match="SUFFICIENT", json=ENOUGH)
    web = MemoryWeb((PARKING,))
    result, trace, _ = await answer(ask(ABSENT, options=WEB), web=web)
    assert result.decision == "ANSWER"
    assert "EUR 7" in result.text
    cited = [source.chunk for source in result.sources if source.cited]
    assert [(one.kind, one.url) for one in cited] == [("web", PARKING.url)]
    assert len(web.asked) == 1
    assert names(trace).count("rewrite") == 2
    assert trace.usage().llm_rounds <= 8


async def test_where_there_are_no_documents_at_all_the_web_is_searched_at_once(online) -> None:
    online.reply(match="SUFFICIENT", json=ENOUGH)
    searcher = MemorySearcher(())
    question = ask(ABSENT, scope=EMPTY_SCOPE, options=WEB)
    result, trace, _ = await answer(question, web=MemoryWeb((PARKING,)), searcher=searcher)
    assert (result.decision, searcher.requests) == ("ANSWER", [])
    assert "EUR 7" in result.text
    assert trace.usage().llm_rounds == 3
