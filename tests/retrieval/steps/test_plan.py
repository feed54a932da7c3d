from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings

from retrieval.steps.schemas import DraftedTask
from retrieval.steps.step import Asked
from retrieval.workflows.planned.plan import Planner, ToPlan, mended, tasks_without_model
from retrieval.workflows.planned.question_profile import understand
from tests.retrieval.steps.fakes import ask, context, make_tools, start_run

COMPARISON = "Compare the deposit of Lakeside hall and Bamboo hall"
PLAN = {
    "query_type": "multi_hop",
    "complexity": "medium",
    "tasks": [
        {"id": "t1", "type": "retrieve", "input": "hall where the library is", "depends_on": [], "priority": 2},
        {"id": "t2", "type": "retrieve", "input": "deposit of that hall", "depends_on": ["t1"], "priority": 1},
    ],
}


def drafted(*tasks: dict[str, Any]) -> list[DraftedTask]:
    return [DraftedTask.model_validate({"type": "retrieve", "input": "books", **one}) for one in tasks]


def mend(*tasks: dict[str, Any], web: bool = False, most: int = 8):
    return mended(drafted(*tasks), question="How many books?", web=web, most=most)


async def plan(question: str, *, web: bool = False):
    run = start_run(settings.RAG)
    run.first_search.finish(good=False)
    here = context(make_tools(settings.RAG), run)
    made = await Planner(here)(ToPlan(asked=Asked(ask(question), question), web=web))
    return made, run.trace


# ------------------------------------------------------------------------------------------------ by a model
async def test_the_models_plan_is_taken_and_shown(online) -> None:
    online.reply(match='"query_type"', json=PLAN)
    made, trace = await plan("What is the deposit of the hall that houses the library?")
    assert made.by_model
    assert [(task.id, task.depends_on) for task in made.tasks] == [("t1", ()), ("t2", ("t1",))]
    detail = trace.steps[0].as_dict()["detail"]
    assert detail["type"] == "multi_hop"
    assert [row["state"] for row in detail["tasks"]] == ["waiting", "waiting"]
    assert trace.steps[0].summary == "multi hop, medium: retrieve → retrieve"


async def test_the_planner_may_be_a_model_of_its_own(online, rag_settings) -> None:
    online.add_model("planner", "completion")
    rag_settings(planned={"planner_model": "planner"})
    online.reply(match='"query_type"', json=PLAN)
    made, _ = await plan("What is the deposit?")
    assert made.by_model
    assert online.chats[0].body["model"] == "planner:latest"


async def test_a_planner_that_is_not_installed_is_told_and_done_without(online, rag_settings) -> None:
    rag_settings(planned={"planner_model": "nowhere"})
    made, trace = await plan("What is the deposit?")
    assert not made.by_model
    assert "nowhere" in trace.degraded[0]["reason"]


@pytest.mark.parametrize(
    "reply",
    [{"json": {"tasks": []}}, {"json": {"tasks": [{"id": "t1", "type": "dance", "input": "x"}]}},
     {"json": {"tasks": [{"id": "t1", "type": "rerank", "input": "x"}]}}, {"json": {"wrong": 1}}, {"text": "no json"},
     {"status": 500}],
)  # fmt: skip
async def test_a_plan_that_can_not_be_used_falls_back_to_one_by_rules(online, reply) -> None:
    online.reply(**reply)
    made, trace = await plan(COMPARISON)
    assert not made.by_model
    assert [task.type for task in made.tasks] == ["retrieve", "retrieve", "retrieve", "rerank"]
    assert trace.degraded[0]["step"] == "plan"


async def test_instructions_in_earlier_answers_are_quoted_as_data(online) -> None:
    online.reply(match='"query_type"', json=PLAN)
    run = start_run(settings.RAG)
    run.first_search.finish(good=False)
    planner = Planner(context(make_tools(settings.RAG), run))
    await planner(ToPlan(asked=Asked(ask("How much?"), "How much?"), web=False, memories="- a fact"))
    assert "<memories>\n- a fact\n</memories>" in online.chats[0].prompt


# ------------------------------------------------------------------------------------------------ mending
def test_a_circle_is_cut_where_it_closes() -> None:
    tasks, repairs = mend(
        {"id": "a", "depends_on": ["b"]}, {"id": "b", "depends_on": ["c"]}, {"id": "c", "depends_on": ["a"]}
    )
    assert {task.id: task.depends_on for task in tasks} == {"a": ("b",), "b": ("c",), "c": ()}
    assert repairs == ["c waited for itself in a circle"]


def test_a_task_never_waits_for_itself_or_for_what_is_not_there() -> None:
    tasks, repairs = mend({"id": "a", "depends_on": ["a", "ghost"]})
    assert tasks[0].depends_on == ()
    assert repairs


def test_two_tasks_of_one_name_get_names_of_their_own() -> None:
    tasks, repairs = mend({"id": "a"}, {"id": "a"}, {"id": "a"})
    assert [task.id for task in tasks] == ["a", "a-2", "a-3"]
    assert len(repairs) == 2


def test_unknown_tasks_are_left_out_and_what_waited_for_them_runs() -> None:
    tasks, repairs = mend({"id": "a", "type": "hack the server"}, {"id": "b", "depends_on": ["a"]})
    assert [(task.id, task.depends_on) for task in tasks] == [("b", ())]
    assert "hack the server" in repairs[0]


@pytest.mark.parametrize(("web", "types"), [(True, ["web_search", "retrieve"]), (False, ["retrieve"])])
def test_the_web_is_only_searched_where_it_may_be(web: bool, types: list[str]) -> None:
    tasks, _ = mend({"id": "a", "type": "search"}, {"id": "b"}, web=web)
    assert [task.type for task in tasks] == types


def test_no_more_tasks_than_allowed_and_none_without_what_it_waits_for() -> None:
    chain = [{"id": f"t{number}", "depends_on": [f"t{number - 1}"] if number else []} for number in range(12)]
    tasks, repairs = mend(*reversed(chain), most=5)
    assert [task.id for task in tasks] == ["t0", "t1", "t2", "t3", "t4"]
    assert repairs == ["12 tasks were planned, 5 are allowed"]


def test_a_plan_without_a_search_is_none() -> None:
    assert mend({"id": "a", "type": "rerank"})[0] == []


def test_odd_values_of_a_small_model_are_understood() -> None:
    one = DraftedTask.model_validate({"id": 1, "type": " Retrieve ", "input": None, "depends_on": "2", "priority": "3"})
    tasks, _ = mended([one], question="How many books?", web=False, most=8)
    assert (tasks[0].id, tasks[0].type, tasks[0].input, tasks[0].priority) == ("1", "retrieve", "", 3)


# ------------------------------------------------------------------------------------------------ by rules
@pytest.mark.parametrize(
    ("question", "kind", "complexity"),
    [
        ("What is the deposit for a room in Lakeside hall?", "factual", "simple"),
        (COMPARISON, "comparison", "complex"),
        ("比较湖滨宿舍和竹园宿舍的押金", "comparison", "complex"),
        ("How long is the loan period and what does a late book cost?", "multi_part", "complex"),
        ("Why does the Wi-Fi report error NLU-E107?", "troubleshooting", "medium"),
        ("Who is the head of the department that runs the library?", "multi_hop", "medium"),
        ("奖学金是多少？", "factual", "simple"),
    ],
)
def test_a_question_is_understood_by_rules(question: str, kind: str, complexity: str) -> None:
    profile = understand(question)
    assert (profile.type, profile.complexity) == (kind, complexity)


def test_names_codes_and_numbers_are_read_from_a_question() -> None:
    assert understand('What does "late resit" cost for NLU-E107 in Lakeside hall in 2025?').entities == (
        "late resit", "NLU-E107", "Lakeside", "2025",
    )  # fmt: skip


def test_a_simple_question_gets_one_search_and_a_comparison_one_for_each_side() -> None:
    simple, compared = "How many books may I borrow?", COMPARISON
    assert [task.type for task in tasks_without_model(understand(simple), simple, web=False)] == ["retrieve"]
    tasks = tasks_without_model(understand(compared), compared, web=False)
    assert [task.depends_on for task in tasks] == [(), (), (), ("t1", "t2", "t3")]


def test_what_happens_now_is_looked_up_on_the_web_where_that_is_allowed() -> None:
    question = "What is the latest exchange rate?"
    types = [task.type for task in tasks_without_model(understand(question), question, web=True)]
    assert "web_search" in types
    assert "web_search" not in [one.type for one in tasks_without_model(understand(question), question, web=False)]


def test_of_a_plan_without_end_only_the_beginning_is_read() -> None:
    names = [f"t{number}" for number in range(200)]
    everything = ({"id": name, "type": "retrieve", "input": name, "depends_on": names} for name in names)
    tasks, repairs = mend(*everything)
    assert len(tasks) == 8
    assert "the plan had 200 tasks, the first 24 were read" in repairs
