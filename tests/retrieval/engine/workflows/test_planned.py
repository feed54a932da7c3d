from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from retrieval.engine.errors import IndexUnavailableError
from retrieval.engine.ports import WebResult
from retrieval.engine.trace import Trace
from retrieval.engine.values import AnswerOptions
from tests.retrieval.engine.steps.fakes import HANDBOOK, MemorySearcher, MemoryWeb, ask
from tests.retrieval.engine.workflows.runs import run, steps

answer = partial(run, "planned")
CLEAR = "What is the deposit for a room in Lakeside hall?"
VAGUE = "How much money must I put down in advance to live there?"
UNKNOWN = "Who won the football cup last year?"
COMPARISON = "How much is the deposit for a room in Lakeside hall and what does a late resit cost?"
GOOD = "The deposit for a room in Lakeside hall is EUR 300 [1]."
CUP = WebResult(
    title="Cup final", url="https://example.org/cup", snippet="The football cup was won by FC Nord."
)
PLANS, REFLECTS = '"query_type"', "they agree with each other"


def task(
    id_: str, type_: str, input_: str = "", *depends_on: str, priority: int = 1
) -> dict[str, Any]:
    return {
        "id": id_,
        "type": type_,
        "input": input_,
        "depends_on": list(depends_on),
        "priority": priority,
    }


def plan(*tasks: dict[str, Any], kind: str = "factual") -> dict[str, Any]:
    return {"query_type": kind, "complexity": "simple", "tasks": list(tasks)}


def reflection(*scores: int, completeness: int) -> dict[str, Any]:
    """Of 10: for each passage, and for all of them together."""
    return {"scores": list(scores), "completeness": completeness, "factuality": 10}


def shown_tasks(trace: Trace, at: int = 0) -> dict[str, Any]:
    return {row["id"]: row for row in steps(trace, "plan")[at].detail["tasks"]}


# ------------------------------------------------------------------------------------------------ plan and execution
async def test_a_planned_comparison_searches_its_sides_and_takes_three_rounds(online) -> None:
    sides = [
        task("t1", "retrieve", "deposit Lakeside hall"),
        task("t2", "retrieve", "cost of a late resit"),
    ]
    online.reply(match=PLANS, json=plan(*sides, kind="comparison"))
    online.reply(match=REFLECTS, json=reflection(9, 9, completeness=9))
    online.reply(structured=False, text=GOOD)
    searcher = MemorySearcher(HANDBOOK)
    result, trace, _ = await answer(COMPARISON, searcher=searcher)
    assert result.decision == "ANSWER"
    assert trace.usage().llm_rounds == 3
    assert {"deposit Lakeside hall", "cost of a late resit"} <= {
        r.queries[0].text for r in searcher.requests
    }
    assert {row["state"] for row in shown_tasks(trace).values()} == {"done"}


async def test_independent_searches_run_at_the_same_time(online) -> None:
    class Together(MemorySearcher):
        gate = asyncio.Barrier(2)

        async def search(self, request: Any) -> Any:
            if request.queries[0].text.startswith("side"):
                await self.gate.wait()  # only passes when both are searching
            return await super().search(request)

    online.reply(
        match=PLANS,
        json=plan(task("t1", "retrieve", "side one"), task("t2", "retrieve", "side two")),
    )
    _, trace, _ = await answer(COMPARISON, searcher=Together(HANDBOOK))
    assert {row["state"] for row in shown_tasks(trace).values()} == {"done"}


async def test_a_search_that_follows_another_looks_for_what_that_one_found(online) -> None:
    chain = [
        task("t1", "retrieve", "Wi-Fi error NLU-E107"),
        task("t2", "retrieve", "how to fix it", "t1"),
    ]
    online.reply(match=PLANS, json=plan(*chain, kind="multi_hop"))
    online.reply(
        match="Put the name, number or term", json={"query": "new password at the service desk"}
    )
    searcher = MemorySearcher(HANDBOOK)
    await answer(VAGUE, searcher=searcher)
    assert "new password at the service desk" in [
        request.queries[0].text for request in searcher.requests
    ]


async def test_one_failing_search_does_not_stop_the_others(online) -> None:
    class Limping(MemorySearcher):
        async def search(self, request: Any) -> Any:
            if request.queries[0].text == "broken":
                raise IndexUnavailableError
            return await super().search(request)

    online.reply(
        match=PLANS,
        json=plan(task("t1", "retrieve", "broken"), task("t2", "retrieve", "deposit Lakeside")),
    )
    online.reply(match=REFLECTS, json=reflection(9, completeness=10))
    online.reply(structured=False, text=GOOD)
    result, trace, events = await answer(VAGUE, searcher=Limping(HANDBOOK))
    assert result.decision == "ANSWER"
    assert {"t1 retrieve: running", "t2 retrieve: running"} <= set(events.told)
    assert any(one.startswith("t1 retrieve: not possible, ") for one in events.told)
    assert {name: row["state"] for name, row in shown_tasks(trace).items()} == {
        "t1": "failed",
        "t2": "done",
    }


async def test_a_slow_task_is_given_up_and_the_answer_comes_from_the_others(
    online, monkeypatch, rag_settings
) -> None:
    class Slow(MemorySearcher):
        async def search(self, request: Any) -> Any:
            if request.queries[0].text == "slow":
                await asyncio.sleep(600)
            return await super().search(request)

    rag_settings(planned={"max_retries": 0})
    monkeypatch.setattr("retrieval.engine.workflows.planned.runner.TASK_TIMEOUT_S", 2.0)
    online.reply(
        match=PLANS,
        json=plan(task("t1", "retrieve", "slow"), task("t2", "retrieve", "deposit Lakeside")),
    )
    online.reply(match=REFLECTS, json=reflection(9, completeness=10))
    online.reply(structured=False, text=GOOD)
    result, trace, _ = await answer(VAGUE, searcher=Slow(HANDBOOK))
    assert result.decision == "ANSWER"
    late = shown_tasks(trace)["t1"]
    assert (late["state"], late["note"]) == ("failed", "no result within the time limit")


# ------------------------------------------------------------------------------------------------ reflection
async def test_a_poor_result_is_mended_and_then_answered_from(online) -> None:
    online.reply(match=PLANS, json=plan(task("t1", "retrieve", "Wi-Fi")))
    online.reply(match=REFLECTS, json=reflection(3, completeness=4), times=1)
    online.reply(match=REFLECTS, json=reflection(9, 8, completeness=10))
    searcher = MemorySearcher(HANDBOOK)
    online.reply(structured=False, text=GOOD)
    result, trace, _ = await answer("What has to be put down for Lakeside?", searcher=searcher)
    assert result.decision == "ANSWER"
    assert [step.detail["outcome"] for step in steps(trace, "reflect")[:2]] == ["retry", "pass"]
    assert steps(trace, "plan")[1].detail["remedy"] == "rewrite"


async def test_what_nothing_answers_gets_no_answer_after_the_retries(online) -> None:
    result, trace, events = await answer(UNKNOWN)
    assert result.decision == "NO_ANSWER"
    assert result.text == events.text
    assert len(steps(trace, "plan")) <= 3


@pytest.mark.parametrize(
    ("reply", "problem", "remedy"),
    [
        (reflection(4, 4, completeness=9), "low_relevance", "rewrite"),
        (reflection(7, 7, completeness=3), "incomplete", "wide_search"),
        (reflection(3, 9, completeness=4), "badly_ordered", "rerank"),
        (reflection(2, 1, completeness=0), "absent", "web_search"),
        (reflection(7, 7, completeness=3) | {"outdated": True}, "outdated", "web_search"),
        (reflection(9, 9, completeness=10) | {"outdated": True}, "outdated", "web_search"),
    ],
)
async def test_the_remedy_follows_the_problem(
    online, reply: Any, problem: str, remedy: str
) -> None:
    online.reply(match=PLANS, json=plan(task("t1", "retrieve", "deposit Lakeside hall late resit")))
    online.reply(match=REFLECTS, json=reply, times=1)
    online.reply(match=REFLECTS, json=reflection(9, 9, completeness=10))
    online.reply(structured=False, text=GOOD)
    handbook = [one for one in HANDBOOK if one.chunk_id in ("k3", "k6")]
    question = ask(COMPARISON, options=AnswerOptions(web_search=True))
    _, trace, _ = await answer(question, handbook, web=MemoryWeb(()))
    assert problem in steps(trace, "reflect")[0].detail["problems"]
    mended = steps(trace, "plan")[1].detail
    assert (mended["problem"], mended["remedy"]) == (problem, remedy)


async def test_without_the_web_what_is_outdated_is_searched_for_otherwise(online) -> None:
    online.reply(match=PLANS, json=plan(task("t1", "retrieve", "deposit Lakeside hall late resit")))
    online.reply(match=REFLECTS, json=reflection(7, 7, completeness=3) | {"outdated": True})
    _, trace, _ = await answer(COMPARISON)
    assert steps(trace, "plan")[1].detail["remedy"] == "wide_search"


async def test_a_medium_result_that_was_completed_in_vain_is_answered_from(online) -> None:
    online.reply(match=PLANS, json=plan(task("t1", "retrieve", "deposit Lakeside hall")))
    online.reply(match=REFLECTS, json=reflection(9, 9, 9, 9, 9, 9, completeness=3))
    online.reply(structured=False, text=GOOD)
    result, trace, _ = await answer(COMPARISON, HANDBOOK[2:3])
    assert result.decision == "ANSWER"
    assert len(steps(trace, "plan")) <= 2


# ------------------------------------------------------------------------------------------------ tasks
async def test_each_part_of_a_question_is_searched_for_by_itself_twenty_deep_and_reranked(
    online,
) -> None:
    online.reply(match=PLANS, json=plan(task("t1", "decompose", COMPARISON), kind="multi_part"))
    online.reply(
        match="sub_queries", json={"sub_queries": ["deposit Lakeside hall", "late resit costs"]}
    )
    online.reply(match=REFLECTS, json=reflection(9, 9, completeness=10))
    online.reply(structured=False, text=GOOD)
    searcher = MemorySearcher(HANDBOOK)
    result, trace, _ = await answer(COMPARISON, searcher=searcher)
    assert [(request.queries[0].text, request.top_k) for request in searcher.requests] == [
        ("deposit Lakeside hall", 20), ("late resit costs", 20),
    ]  # fmt: skip
    assert {"k3", "k6"} <= {source.chunk.chunk_id for source in result.sources}
    assert shown_tasks(trace)["t1"]["state"] == "done"


async def test_an_evaluation_puts_what_was_found_in_the_order_of_a_models_judgement(online) -> None:
    tasks = [task("t1", "retrieve", "deposit late resit"), task("t2", "evaluate", "", "t1")]
    criteria = [{"passage": 1, "criteria": [2] * 8}, {"passage": 2, "criteria": [9] * 8}]
    online.reply(match=PLANS, json=plan(*tasks))
    online.reply(match='"criteria"', json={"passages": criteria, "verdict": "answer"})
    online.reply(match=REFLECTS, status=500)
    online.reply(structured=False, text="[1] says it.")
    searcher = MemorySearcher([one for one in HANDBOOK if one.chunk_id in ("k3", "k6")])
    result, trace, _ = await answer(COMPARISON, searcher=searcher)
    found = [row["chunk_id"] for row in steps(trace, "retrieve")[0].detail["candidates"]]
    assert [source.chunk.chunk_id for source in result.sources] == found[::-1]
    assert {row["state"] for row in shown_tasks(trace).values()} == {"done"}


# ------------------------------------------------------------------------------------------------ settings
async def test_no_retry_where_the_settings_allow_none(online, rag_settings) -> None:
    rag_settings(planned={"max_retries": 0})
    online.reply(match=REFLECTS, json=reflection(3, 3, 3, 3, 3, 3, completeness=2))
    _, trace, _ = await answer(VAGUE)
    assert len(steps(trace, "plan")) == 1


async def test_the_planner_model_of_the_settings_makes_the_plan(online, rag_settings) -> None:
    rag_settings(planned={"planner_model": "absent:1b"})
    _, trace, _ = await answer(VAGUE)
    entry = steps(trace, "plan")[0]
    assert entry.status == "degraded"
    assert "absent:1b" in entry.detail["reason"]


# ------------------------------------------------------------------------------------------------ the web
async def test_what_the_documents_do_not_hold_is_looked_up_on_the_web_where_that_is_allowed(
    online,
) -> None:
    online.reply(match=PLANS, json=plan(task("t1", "retrieve", "Lakeside hall")))
    online.reply(match=REFLECTS, json=reflection(1, completeness=0), times=1)
    online.reply(match=REFLECTS, json=reflection(9, 8, completeness=10))
    online.reply(structured=False, text="The football cup was won by FC Nord [2].")
    web = MemoryWeb((CUP,))
    question = ask(UNKNOWN, options=AnswerOptions(web_search=True))
    result, trace, _ = await answer(question, web=web)
    assert result.decision == "ANSWER"
    assert steps(trace, "plan")[1].detail["remedy"] == "web_search"
    assert len(web.queries) == 1


async def test_nothing_that_documents_hold_goes_out_to_the_web(online) -> None:
    online.reply(
        match=PLANS, json=plan(task("t1", "web_search", "password of the service desk NLU-E107"))
    )
    online.reply(
        match='{"query": "..."}', status=500
    )  # the query for the web is then made by rules
    web = MemoryWeb((CUP,))
    await answer(ask(UNKNOWN, options=AnswerOptions(web_search=True)), web=web)
    assert web.queries
    assert "NLU-E107" not in " ".join(web.queries)


# ------------------------------------------------------------------------------------------------ the second look
LOOKS, JUDGE = '"supported"', "Task: JUDGE"
DOUBT, TRUST = {"supported": [False], "answers": False}, {"supported": [True], "answers": True}
RESIT = "A late resit costs EUR 55 [{marker}]."


def scripted(online: Any, *, second: dict[str, Any]) -> None:
    """A first answer that nobody confirms, and a second search that finds the passage about resits."""
    online.reply(match=PLANS, json=plan(task("t1", "retrieve", "deposit Lakeside hall")))
    online.reply(
        match=REFLECTS,
        json=lambda prompt: reflection(*[9] * prompt.count("</passage>"), completeness=9),
    )
    online.reply(match='"queries"', json={"queries": ["late resit"]})
    online.reply(match=LOOKS, json=DOUBT, times=1)
    online.reply(match=JUDGE, json={"relevant_passages": [], "verdict": "no_answer"})
    online.reply(match=LOOKS, json=second)
    online.reply(match="Task: WRITE", text=GOOD, times=1)


async def test_an_answer_that_is_not_confirmed_is_searched_for_once_more_and_written_behind_it(
    online,
) -> None:
    scripted(online, second=TRUST)
    online.reply(match="Task: WRITE", text=RESIT.format(marker=2))
    result, trace, events = await answer(CLEAR)
    assert result.text == events.text
    first, lead, second = result.text.split("\n\n")
    assert (first, lead, second) == (
        GOOD,
        "A second search, with other words:",
        RESIT.format(marker=2),
    )
    assert [source.chunk.title for source in result.sources if source.cited] == [
        "Student Housing Policy", "Examination Regulations",
    ]  # fmt: skip
    assert result.support == "partly"
    assert [result.text[one.start : one.end] for one in result.grounding] == [
        GOOD,
        RESIT.format(marker=2),
    ]
    assert len(steps(trace, "plan")) == 2


async def test_where_the_second_search_brings_no_confirmed_answer_the_first_stays_not_confirmed(
    online,
) -> None:
    scripted(online, second=DOUBT)
    online.reply(match="Task: WRITE", text=RESIT.format(marker=2))
    result, trace, events = await answer(CLEAR)
    assert (result.text, events.text, result.support) == (GOOD, GOOD, "none")
    assert len(steps(trace, "generate")) == 2
