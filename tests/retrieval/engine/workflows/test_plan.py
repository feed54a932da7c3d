"""The plan that a model makes: what of it can run."""

from __future__ import annotations

import pytest
from django.conf import settings

from retrieval.engine.deps import Deps
from retrieval.engine.workflows.planned.plan import make_plan
from tests.retrieval.engine.steps.fakes import HANDBOOK, ask, make_tools

QUESTION = "What does a late resit cost?"


@pytest.fixture
def deps() -> Deps:
    return make_tools(settings.RAG, HANDBOOK)


def drafted(*tasks: dict[str, object]) -> dict[str, object]:
    return {"query_type": "comparison", "complexity": "medium", "tasks": list(tasks)}


async def test_of_a_models_plan_only_what_can_run_is_kept(online, deps: Deps) -> None:
    online.reply(
        match="You plan how",
        json=drafted(
            {"id": "t1", "type": "retrieve", "input": "deposit", "depends_on": ["t2", "t1"]},
            {"id": "t1", "type": "retrieve", "input": "a second of this name"},
            {"id": "t2", "type": "fly", "input": "nowhere"},
            {"id": "t3", "type": "web_search", "input": "outside"},
            {"id": "t4", "type": "retrieve", "input": "", "depends_on": ["t1"], "priority": 3},
        ),
    )
    plan = await make_plan(deps, ask(QUESTION), web=False, memories="-")
    assert [(task.id, task.depends_on) for task in plan.tasks] == [("t1", ()), ("t4", ("t1",))]
    assert plan.goals == ("deposit",)
    assert [row["id"] for row in deps.trace.steps[0].detail["tasks"]] == ["t1", "t4"]


async def test_a_plan_that_searches_for_nothing_is_the_question_itself(online, deps: Deps) -> None:
    online.reply(
        match="You plan how", json=drafted({"id": "t1", "type": "hyde", "input": "deposit"})
    )
    plan = await make_plan(deps, ask(QUESTION), web=True, memories="-")
    assert [(task.type, task.input) for task in plan.tasks] == [("retrieve", QUESTION)]
    assert deps.trace.steps[0].status == "degraded"
