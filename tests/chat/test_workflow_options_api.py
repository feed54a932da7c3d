"""What a request and the settings make of a workflow, over the real graph and a real index."""

from __future__ import annotations

from typing import Any

import pytest

from chat.labels import script_efforts
from tests.chat.conftest import Api, Handbook, ScriptedWorkflow, events_of

QUESTION = "How many books may an undergraduate borrow, and what is the deposit for a room?"
ANSWER = "An undergraduate may borrow ten books for four weeks [1]."
PLANS, REFLECTS = '"query_type"', "they agree with each other"


def steps(data: Any, name: str) -> list[Any]:
    return [step for step in data["decision_path"] if step["name"] == name]


# ------------------------------------------------------------------------------------------------ self_corrective
@pytest.mark.parametrize(
    ("option", "decision"), [({"force_generate": True}, "ANSWER"), ({}, "NO_ANSWER")]
)
async def test_force_generate_answers_where_no_document_passed(
    api: Api,
    handbook: Handbook,
    online: Any,
    rag_settings: Any,
    option: dict[str, bool],
    decision: str,
) -> None:
    rag_settings(self_corrective={"max_rewrites": 0})
    await handbook()
    online.reply(match="is_relevant", json={"is_relevant": False, "confidence": 8})
    online.reply(structured=False, text=ANSWER)
    data = (await api.ask(QUESTION, workflow="self_corrective", options=option)).json()
    assert data["decision"] == decision


async def test_the_site_may_want_an_answer_in_any_case(
    api: Api, handbook: Handbook, online: Any, rag_settings: Any
) -> None:
    rag_settings(self_corrective={"max_rewrites": 0, "force_generate": True})
    await handbook()
    online.reply(match="is_relevant", json={"is_relevant": False, "confidence": 8})
    online.reply(structured=False, text=ANSWER)
    data = (await api.ask(QUESTION, workflow="self_corrective")).json()
    assert data["decision"] == "ANSWER"


# ------------------------------------------------------------------------------------------------ planned
async def test_planned_takes_a_question_apart_searches_its_parts_and_evaluates_what_they_found(
    api: Api, handbook: Handbook, online: Any
) -> None:
    await handbook()
    tasks = [
        {"id": "t1", "type": "decompose", "input": QUESTION, "depends_on": [], "priority": 1},
        {"id": "t2", "type": "evaluate", "input": "", "depends_on": ["t1"], "priority": 1},
    ]
    criteria = [{"passage": 1, "criteria": [9] * 8}, {"passage": 2, "criteria": [8] * 8}]
    online.reply(
        match=PLANS, json={"query_type": "multi_part", "complexity": "medium", "tasks": tasks}
    )
    online.reply(
        match="sub_queries",
        json={"sub_queries": ["books of an undergraduate", "deposit for a room"]},
    )
    online.reply(match='"criteria"', json={"passages": criteria, "verdict": "answer"})
    online.reply(match=REFLECTS, json={"scores": [9, 9, 9], "completeness": 10, "factuality": 10})
    online.reply(structured=False, text=ANSWER)
    events = [
        event async for event in events_of(await api.ask(QUESTION, workflow="planned", stream=True))
    ]
    data = events[-1]["message"]
    searched = [step["detail"]["queries"][0]["text"] for step in steps(data, "retrieve")]
    assert searched == ["books of an undergraduate", "deposit for a room"]
    assert {task["state"] for task in steps(data, "plan")[0]["detail"]["tasks"]} == {"done"}
    assert steps(data, "rerank")[-1]["detail"]["reranker"] == "eight_criteria"
    assert any(
        "t2 evaluate: running" in event["content"]
        for event in events
        if event["type"] == "tool_call"
    )


async def test_the_problem_and_the_remedy_against_it_are_in_the_path(
    api: Api, handbook: Handbook, online: Any
) -> None:
    await handbook()
    poor = {"scores": [7, 7, 7], "completeness": 3, "factuality": 9}
    online.reply(match=REFLECTS, json=poor)
    online.reply(structured=False, text=ANSWER)
    data = (await api.ask(QUESTION, workflow="planned")).json()
    mended = steps(data, "plan")[1]
    assert (mended["detail"]["problem"], mended["detail"]["remedy"]) == (
        "incomplete",
        "wide_search",
    )
    assert "a part of the question is not covered → wide_search" in mended["summary"]


async def test_planned_is_refused_and_not_offered_where_it_is_switched_off(
    api: Api, workflow: ScriptedWorkflow, rag_settings: Any
) -> None:
    rag_settings(planned={"enabled": False})
    response = await api.ask(workflow="planned")
    assert response.status_code == 400
    assert "planned" not in response.json()["error"]["fields"]["workflow"][0]
    assert not workflow.questions
    assert "planned" not in [row["name"] for row in script_efforts()]
    listed = (await api.call("get", "/v1/models")).json()["data"]
    assert "ragsite/planned" not in [model["id"] for model in listed]


# ------------------------------------------------------------------------------------------------ CRAG light
async def test_by_eight_criteria_only_good_passages_are_answered_from(
    api: Api, handbook: Handbook, online: Any, rag_settings: Any
) -> None:
    rag_settings(rerank={"evaluator": "eight_criteria"})
    await handbook()
    criteria = [
        {"passage": number, "criteria": [9 if number == 1 else 2] * 8} for number in (1, 2, 3)
    ]
    online.reply(match='"criteria"', json={"passages": criteria, "verdict": "answer"})
    online.reply(structured=False, text=ANSWER)
    data = (await api.ask("How many books may an undergraduate borrow?")).json()
    assert (data["decision"], len(data["sources"])) == ("ANSWER", 1)
    assert data["sources"][0]["scores"]["rerank"] == 0.9


# ------------------------------------------------------------------------------------------------ react
async def test_a_chatty_question_is_rewritten_by_the_models_word(
    api: Api, handbook: Handbook, online: Any
) -> None:
    await handbook()
    online.reply(match='"route"', json={"route": "rewrite"})
    online.reply(match="Tried before", json={"query": "loan limit undergraduate"})
    online.reply(structured=False, text=ANSWER)
    chatty = "Hello there, could you be so kind and tell me about the books that I may take home?"
    data = (await api.ask(chatty, workflow="react")).json()
    assert steps(data, "plan")[0]["detail"]["route"] == "rewrite"
    assert steps(data, "retrieve")[0]["detail"]["queries"][0]["text"] == "loan limit undergraduate"
