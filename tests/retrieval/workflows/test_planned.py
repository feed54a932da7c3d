from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from retrieval.errors import IndexUnavailableError
from retrieval.ports import WebResult
from retrieval.trace import Trace
from retrieval.values import Answer, AnswerOptions, Clarification, OpenClarification, Question
from retrieval.workflows.planned.workflow import PlannedWorkflow
from tests.retrieval.steps.fakes import (
    EMPTY_SCOPE,
    HANDBOOK,
    Events,
    MemorySearcher,
    ask,
    chunk,
    make_tools,
)

DIAGRAM = Path(__file__).with_name("planned.mmd")
CLEAR = "What is the deposit for a room in Lakeside hall?"
VAGUE = "How much money must I put down in advance to live there?"
UNKNOWN = "Who won the football cup last year?"
COMPARISON = "How much is the deposit for a room in Lakeside hall and what does a late resit cost?"
GOOD = "The deposit for a room in Lakeside hall is EUR 300 [1]."
PLANS, REFLECTS, CHECKS = '"query_type"', "they agree with each other", "check an answer against the passages"


async def answer(question: Question | str, chunks=HANDBOOK, **parts: Any) -> tuple[Answer, Trace, Events]:
    events = Events()
    trace = Trace(events)
    asked = ask(question) if isinstance(question, str) else question
    workflow = PlannedWorkflow(make_tools(settings.RAG, chunks, **parts))
    return await workflow.answer(asked, trace=trace), trace, events


def task(id_: str, type_: str, input_: str = "", *depends_on: str, priority: int = 1) -> dict[str, Any]:
    return {"id": id_, "type": type_, "input": input_, "depends_on": list(depends_on), "priority": priority}


def plan(*tasks: dict[str, Any], kind: str = "factual") -> dict[str, Any]:
    return {"query_type": kind, "complexity": "simple", "tasks": list(tasks)}


def reflection(*scores: int, completeness: int) -> dict[str, Any]:
    """Of 10: for each passage, and for all of them together."""
    return {"scores": list(scores), "completeness": completeness, "factuality": 10}


def steps(trace: Trace, name: str) -> list[Any]:
    return [step for step in trace.steps if step.name == name]


def shown_tasks(trace: Trace, at: int = 0) -> dict[str, Any]:
    return {row["id"]: row for row in steps(trace, "plan")[at].detail["tasks"]}


def test_the_diagram_is_the_one_that_was_agreed() -> None:
    assert PlannedWorkflow.graph.get_graph().draw_mermaid() == DIAGRAM.read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------------------ plan and execution
async def test_a_good_first_search_takes_two_rounds_and_no_planner(online) -> None:
    result, trace, events = await answer(CLEAR)
    assert result.decision == "ANSWER"
    assert "EUR 300" in result.text == events.text
    assert trace.usage().llm_rounds == 2
    assert steps(trace, "plan")[0].status == "skipped"
    assert [row["state"] for row in shown_tasks(trace).values()] == ["done"]


async def test_a_planned_comparison_searches_its_sides_and_takes_three_rounds(online) -> None:
    sides = [task("t1", "retrieve", "deposit Lakeside hall"), task("t2", "retrieve", "cost of a late resit")]
    online.reply(match=PLANS, json=plan(*sides, kind="comparison"))
    online.reply(match=REFLECTS, json=reflection(9, 9, completeness=9))
    online.reply(structured=False, text=GOOD)
    searcher = MemorySearcher(HANDBOOK)
    result, trace, _ = await answer(COMPARISON, searcher=searcher)
    assert result.decision == "ANSWER"
    assert trace.usage().llm_rounds == 3
    assert {"deposit Lakeside hall", "cost of a late resit"} <= {r.queries[0].text for r in searcher.requests}
    assert {row["state"] for row in shown_tasks(trace).values()} == {"done"}


async def test_independent_searches_run_at_the_same_time(online) -> None:
    class Together(MemorySearcher):
        gate = asyncio.Barrier(2)

        async def search(self, request: Any) -> Any:
            if request.queries[0].text.startswith("side"):
                await self.gate.wait()  # only passes when both are searching
            return await super().search(request)

    online.reply(match=PLANS, json=plan(task("t1", "retrieve", "side one"), task("t2", "retrieve", "side two")))
    _, trace, _ = await answer(COMPARISON, searcher=Together(HANDBOOK))
    assert {row["state"] for row in shown_tasks(trace).values()} == {"done"}


async def test_a_search_that_follows_another_looks_for_what_that_one_found(online) -> None:
    chain = [task("t1", "retrieve", "Wi-Fi error NLU-E107"), task("t2", "retrieve", "how to fix it", "t1")]
    online.reply(match=PLANS, json=plan(*chain, kind="multi_hop"))
    online.reply(match="Put the name, number or term", json={"query": "new password at the service desk"})
    searcher = MemorySearcher(HANDBOOK)
    await answer(VAGUE, searcher=searcher)
    assert "new password at the service desk" in [request.queries[0].text for request in searcher.requests]


async def test_without_a_model_for_it_the_following_search_takes_the_statement_that_was_found(online) -> None:
    chain = [task("t1", "retrieve", "Wi-Fi error NLU-E107"), task("t2", "retrieve", "how to fix it", "t1")]
    online.reply(match=PLANS, json=plan(*chain, kind="multi_hop"))
    online.reply(match="Put the name, number or term", status=500)
    searcher = MemorySearcher(HANDBOOK)
    await answer(VAGUE, searcher=searcher)
    assert any("your password has expired" in request.queries[0].text for request in searcher.requests)


async def test_rewordings_are_searched_for_by_the_task_that_waits_for_them(online) -> None:
    online.reply(match=PLANS, json=plan(task("t1", "rewrite", VAGUE), task("t2", "retrieve", "", "t1")))
    online.reply(match='"queries"', json={"queries": ["deposit for a room in Lakeside hall"]})
    searcher = MemorySearcher(HANDBOOK)
    await answer(VAGUE, searcher=searcher)
    assert [query.kind for query in searcher.requests[1].queries] == ["rewrite"]


async def test_what_the_plan_judged_is_not_judged_again(online) -> None:
    judgement = {"relevant_passages": [1], "verdict": "answer"}
    online.reply(match=PLANS, json=plan(task("t1", "retrieve", "deposit Lakeside"), task("t2", "rerank", CLEAR, "t1")))
    online.reply(match='"verdict"', json=judgement)
    online.reply(structured=False, text=GOOD)
    _, trace, _ = await answer(VAGUE)
    assert not any(REFLECTS in request.prompt for request in online.chats)
    assert steps(trace, "reflect")[0].detail["by_model"]
    assert trace.usage().llm_rounds == 3


async def test_a_circular_plan_is_mended_and_runs(online) -> None:
    online.reply(match=PLANS, json=plan(task("a", "retrieve", "deposit", "b"), task("b", "retrieve", "Lakeside", "a")))
    result, trace, _ = await answer(VAGUE)
    assert result.text
    assert steps(trace, "plan")[0].detail["repairs"] == ["b waited for itself in a circle"]
    assert {row["state"] for row in shown_tasks(trace).values()} == {"done"}


async def test_one_failing_search_does_not_stop_the_others(online) -> None:
    class Limping(MemorySearcher):
        async def search(self, request: Any) -> Any:
            if request.queries[0].text == "broken":
                raise IndexUnavailableError
            return await super().search(request)

    online.reply(match=PLANS, json=plan(task("t1", "retrieve", "broken"), task("t2", "retrieve", "deposit Lakeside")))
    online.reply(match=REFLECTS, json=reflection(9, completeness=10))
    online.reply(structured=False, text=GOOD)
    result, trace, _ = await answer(VAGUE, searcher=Limping(HANDBOOK))
    assert result.decision == "ANSWER"
    assert {name: row["state"] for name, row in shown_tasks(trace).items()} == {"t1": "failed", "t2": "done"}


async def test_an_index_that_is_away_is_an_error_not_an_empty_answer(online) -> None:
    with pytest.raises(IndexUnavailableError):
        await answer(CLEAR, searcher=MemorySearcher(HANDBOOK, error=IndexUnavailableError()))


async def test_a_slow_task_is_given_up_and_the_answer_comes_from_the_others(online, rag_settings, monkeypatch) -> None:
    class Slow(MemorySearcher):
        async def search(self, request: Any) -> Any:
            if request.queries[0].text == "slow":
                await asyncio.sleep(600)
            return await super().search(request)

    rag_settings(planned={"max_retries": 0})
    monkeypatch.setattr("retrieval.workflows.planned.workflow.TASK_TIMEOUT_S", 2.0)
    online.reply(match=PLANS, json=plan(task("t1", "retrieve", "slow"), task("t2", "retrieve", "deposit Lakeside")))
    online.reply(match=REFLECTS, json=reflection(9, completeness=10))
    online.reply(structured=False, text=GOOD)
    result, trace, _ = await answer(VAGUE, searcher=Slow(HANDBOOK))
    assert result.decision == "ANSWER"
    assert shown_tasks(trace)["t1"]["state"] == "late"


async def test_the_page_is_told_of_the_tasks_as_they_end(online) -> None:
    _, _, events = await answer(CLEAR)
    assert ("tool", "plan") in events.log
    assert events.kinds.index("sources") < events.kinds.index("chunk")


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
    assert "widen" in steps(trace, "plan")[1].detail["remedies"]
    assert max(request.top_k for request in searcher.requests) == 3 * settings.RAG.rerank.max_candidates


async def test_after_a_retry_what_is_new_is_judged_beside_the_best_of_before(online) -> None:
    fillers = [
        chunk(100 + n, f"Notice {n}: Lakeside hall has a deposit box number {n} in room {n}.") for n in range(25)
    ]
    online.reply(match=PLANS, json=plan(task("t1", "retrieve", "Lakeside hall deposit room")))
    online.reply(match=REFLECTS, json=reflection(1, *[0] * 9, completeness=1))
    _, trace, _ = await answer("What has to be put down for a room in Lakeside?", chunks=(*HANDBOOK, *fillers))
    first, second = (step.detail for step in steps(trace, "reflect")[:2])
    assert second["new"] > 2
    assert len(second["scores"]) == len(first["scores"]) + second["new"]


async def test_the_model_reflects_on_as_many_passages_as_fit(online, rag_settings) -> None:
    rag_settings(ollama={"num_ctx": 4096})
    long = [chunk(100 + n, f"Lakeside hall has a room {n} with a deposit box. " * 30) for n in range(9)]
    await answer(CLEAR, chunks=long)
    prompt, shape = next((one.prompt, one.body["format"]) for one in online.chats if REFLECTS in one.prompt)
    assert 1 < shape["properties"]["scores"]["minItems"] == prompt.count("<passage id=") < 9


async def test_fewer_good_documents_than_are_needed_do_not_pass(offline, monkeypatch) -> None:
    monkeypatch.setattr("retrieval.workflows.planned.reflect.MIN_DOCS", 2)
    _, trace, _ = await answer(CLEAR)
    assert steps(trace, "reflect")[0].detail["outcome"] == "tune"
    assert "1 of 2 good documents" in steps(trace, "reflect")[0].summary


async def test_at_the_limit_the_best_result_so_far_is_used(online, rag_settings) -> None:
    rag_settings(planned={"max_retries": 1})
    online.reply(match=PLANS, json=plan(task("t1", "retrieve", "Lakeside deposit")))
    online.reply(match=REFLECTS, json=reflection(7, completeness=3), times=1)
    online.reply(match=REFLECTS, json=reflection(3, completeness=1))
    online.reply(structured=False, text=GOOD)
    result, trace, _ = await answer(VAGUE)
    first, second = (step.detail["score"] for step in steps(trace, "reflect")[:2])
    assert second >= first
    assert len(steps(trace, "plan")) == 2
    assert result.decision == "ANSWER"


async def test_what_nothing_answers_gets_no_answer_after_the_retries(online) -> None:
    result, trace, events = await answer(UNKNOWN)
    assert result.decision == "NO_ANSWER"
    assert result.text == events.text
    assert len(steps(trace, "plan")) <= 1 + settings.RAG.planned.max_retries


async def test_a_middling_result_that_tuning_does_not_better_is_answered_from(online) -> None:
    online.reply(match=PLANS, json=plan(task("t1", "retrieve", "Lakeside deposit")))
    online.reply(match=REFLECTS, json=reflection(7, completeness=7))
    online.reply(structured=False, text=GOOD)
    result, trace, _ = await answer(VAGUE)
    assert result.decision == "ANSWER"
    assert len(steps(trace, "plan")) == 2


async def test_retries_stop_when_no_remedy_is_left(online, rag_settings) -> None:
    rag_settings(planned={"max_retries": 50})
    _, trace, _ = await answer(UNKNOWN)
    assert len(steps(trace, "plan")) < 8


async def test_no_retry_begins_when_the_time_is_nearly_over(online, monkeypatch) -> None:
    online.reply(match=REFLECTS, json=reflection(4, completeness=2))
    monkeypatch.setattr("retrieval.workflows.planned.workflow.TIMEOUT_S", 0.01)
    result, trace, _ = await answer(VAGUE)
    assert result.text
    assert len(steps(trace, "plan")) == 1


async def test_the_reply_to_a_question_asked_back_is_answered(offline) -> None:
    opened = OpenClarification(
        question="How many books may an undergraduate borrow at once?",
        clarification=Clarification(question="Which year do you mean?", options=("2025", "2022")),
    )
    result, _, _ = await answer(ask("2022", open_clarification=opened))
    assert result.decision == "ANSWER"
    assert "8 books" in result.text


# ------------------------------------------------------------------------------------------------ the web
class Web:
    name = "test engine"

    def __init__(self) -> None:
        self.queries: list[str] = []

    async def search(self, query: str, *, limit: int) -> tuple[WebResult, ...]:
        self.queries.append(query)
        page = WebResult(
            title="Cup final", url="https://example.org/cup", snippet="The football cup was won by FC Nord."
        )
        return (page,)


async def test_what_the_documents_do_not_hold_is_looked_up_on_the_web_where_that_is_allowed(online) -> None:
    online.reply(match=PLANS, json=plan(task("t1", "retrieve", "Lakeside hall")))
    online.reply(match=REFLECTS, json=reflection(1, completeness=0), times=1)
    online.reply(match=REFLECTS, json=reflection(9, 8, completeness=10))
    online.reply(structured=False, text="The football cup was won by FC Nord [2].")
    web = Web()
    question = ask(UNKNOWN, options=AnswerOptions(web_search=True))
    result, trace, _ = await answer(question, web=web)
    assert result.decision == "ANSWER"
    assert "web" in steps(trace, "plan")[1].detail["remedies"]
    assert len(web.queries) == 1


async def test_nothing_that_documents_hold_goes_out_to_the_web(online) -> None:
    online.reply(match=PLANS, json=plan(task("t1", "web_search", "password of the service desk NLU-E107")))
    online.reply(match='{"query": "..."}', status=500)  # the query for the web is then made by rules
    web = Web()
    await answer(ask(UNKNOWN, options=AnswerOptions(web_search=True)), web=web)
    assert web.queries
    assert "NLU-E107" not in " ".join(web.queries)


# ------------------------------------------------------------------------------------------------ the answer's check
async def test_an_answer_is_shown_from_its_first_borne_out_statement_on(online) -> None:
    text = "The deposit for a room in Lakeside hall is EUR 300 [1]. It is paid back within 30 days [1]."
    online.reply(structured=False, text=text)
    result, trace, events = await answer(CLEAR)
    assert (result.text, events.text) == (text, text)
    assert len(events.chunks) > 1
    assert "2 of 2 statements" in steps(trace, "reflect")[-1].summary


async def test_an_answer_that_nothing_bears_out_is_searched_for_again_and_never_shown(online) -> None:
    wrong = "Penguins live on Mars and pay EUR 9999 [1]."
    online.reply(structured=False, text=wrong, times=1)
    online.reply(structured=False, text=GOOD)
    online.reply(match=CHECKS, json={"relevance": 2, "completeness": 2, "factuality": 0})
    result, trace, events = await answer(CLEAR)
    assert "Penguins" not in events.text
    assert result.text == events.text
    assert "EUR 300" in result.text
    assert len(steps(trace, "generate")) == 2


async def test_a_refusal_in_place_of_an_answer_is_searched_for_again_and_never_shown(online) -> None:
    online.reply(structured=False, text="The documents do not say.", times=1)
    online.reply(structured=False, text=GOOD)
    result, _, events = await answer(CLEAR)
    assert result.text == events.text == GOOD


async def test_the_writing_models_mark_ends_in_no_answer_after_the_retries(online) -> None:
    online.reply(structured=False, json=["no_answer", ""])
    result, trace, events = await answer(CLEAR)
    assert (result.decision, result.reason) == ("NO_ANSWER", "the passages do not answer")
    assert len(steps(trace, "plan")) == 1 + settings.RAG.planned.max_retries
    assert "EUR 300" in result.text == events.text, "the nearest passages are quoted"


async def test_an_answer_that_stays_baseless_becomes_no_answer(online, rag_settings) -> None:
    rag_settings(planned={"max_retries": 0})
    online.reply(structured=False, text="Penguins live on Mars and pay EUR 9999 [1].")
    online.reply(match=CHECKS, json={"relevance": 2, "completeness": 2, "factuality": 0})
    result, _, events = await answer(CLEAR)
    assert result.decision == "NO_ANSWER"
    assert "Penguins" not in events.text
    assert result.text == events.text


async def test_a_judgement_just_above_one_is_no_objection(online, rag_settings) -> None:
    rag_settings(planned={"max_retries": 0})
    online.reply(structured=False, text="Plan with EUR 300 [1].")
    online.reply(match=CHECKS, json={"relevance": 10, "completeness": 10, "factuality": 10})
    result, _, _ = await answer(CLEAR)
    assert result.text == "Plan with EUR 300 [1]."


async def test_the_first_token_is_the_one_that_the_reader_gets(online, rag_settings) -> None:
    rag_settings(planned={"max_retries": 0})
    online.reply(structured=False, text="Plan with EUR 300 [1].")
    online.reply(match=CHECKS, json={"relevance": 9, "completeness": 9, "factuality": 9})
    result, trace, _ = await answer(CLEAR)
    assert result.text == "Plan with EUR 300 [1]."
    generated = steps(trace, "generate")[0]
    first = trace.usage().first_token_ms
    assert first is not None
    assert first >= generated.started_ms + generated.duration_ms
    assert trace.usage().llm_rounds == 3


async def test_the_check_can_be_switched_off(online, monkeypatch) -> None:
    monkeypatch.setattr("retrieval.workflows.planned.workflow.CHECK_ANSWER", False)
    online.reply(structured=False, text="Penguins live on Mars [1].")
    result, _, _ = await answer(CLEAR)
    assert result.text.startswith("Penguins live on Mars.")


# ------------------------------------------------------------------------------------------------ switched off, empty
async def test_switched_off_it_is_answered_by_the_corrective_workflow_and_says_so(offline, rag_settings) -> None:
    rag_settings(planned={"enabled": False})
    result, trace, _ = await answer(CLEAR)
    assert "EUR 300" in result.text
    assert steps(trace, "plan")[0].summary == "planning is switched off: answered by the corrective workflow"


async def test_a_greeting_takes_one_round_and_no_search(online) -> None:
    online.reply(text="Hello!")
    searcher = MemorySearcher(HANDBOOK)
    result, trace, _ = await answer("Hello!", searcher=searcher)
    assert (result.text, trace.usage().llm_rounds) == ("Hello!", 1)
    assert not searcher.requests


async def test_with_nothing_to_search_in_it_says_what_to_do(offline) -> None:
    result, _, _ = await answer(ask("How many books?", scope=EMPTY_SCOPE))
    assert result.decision == "NO_ANSWER"
    assert "Upload" in result.text


# ------------------------------------------------------------------------------------------------ without a model
@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("校长奖学金每学年多少欧元？", "- 校长奖学金"),
        ("校長獎學金每學年多少歐元？", "- 校長獎學金"),
        (CLEAR, "- The deposit"),
    ],
)
async def test_offline_it_plans_by_rules_and_answers_in_the_questions_language(offline, question, lead) -> None:
    result, trace, _ = await answer(question)
    assert result.decision == "ANSWER"
    assert result.text.startswith(lead)
    assert trace.usage().llm_calls == 0


async def test_offline_both_sides_of_a_comparison_are_found(offline) -> None:
    result, trace, _ = await answer(COMPARISON)
    assert result.decision == "ANSWER"
    titles = {source.chunk.title for source in result.sources}
    assert {"Student Housing Policy", "Examination Regulations"} <= titles
    assert len(shown_tasks(trace)) == 4
