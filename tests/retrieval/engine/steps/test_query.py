"""Steps that find words for a search: each alone, with the simulated model or none."""

from __future__ import annotations

import pytest
from django.conf import settings

from retrieval.engine.steps.query import (
    Route,
    condense,
    decompose,
    hyde,
    own_words,
    read_question,
    rewrite,
    rewrite_to_concepts,
    step_back,
)
from retrieval.engine.steps.step import Deps
from retrieval.engine.values import HistoryMessage, Query, SearchFilters, Vocabulary
from retrieval.engine.workflows.planned.plan import make_plan
from tests.retrieval.engine.steps.document_reader import MemoryReader
from tests.retrieval.engine.steps.fakes import HANDBOOK, ask, make_tools

QUESTION = "What does a late resit cost?"
TALK = (HistoryMessage("user", "How much is the deposit?"), HistoryMessage("assistant", "EUR 300 [1]."))


@pytest.fixture
def deps() -> Deps:
    return make_tools(settings.RAG, HANDBOOK)


# ------------------------------------------------------------------------------------------------ condense


async def test_without_a_model_a_follow_up_is_searched_for_with_the_question_before(offline, deps: Deps) -> None:
    question = await condense(deps, ask("And in 2022?", history=TALK))
    assert question.standalone == "And in 2022?"
    assert [query.text for query in own_words(question)] == ["And in 2022?", "How much is the deposit? And in 2022?"]
    assert own_words(ask(QUESTION)) == (Query(QUESTION),)


# ------------------------------------------------------------------------------------------------ other words
async def test_variants_are_cleaned_and_never_the_question_itself(online, deps: Deps) -> None:
    online.reply(match='"queries"', json={"queries": ["resit  fee", QUESTION.lower(), "late resit charge"]})
    queries = await rewrite(deps, ask(QUESTION))
    assert [query.text for query in queries] == ["resit fee", "late resit charge"]
    assert deps.trace.steps[0].summary == "resit fee; late resit charge"


async def test_hyde_is_a_vector_only_query(online, deps: Deps) -> None:
    online.reply(json={"hypothetical_passage": "A resit costs\nEUR 55."})
    assert await hyde(deps, ask(QUESTION)) == (Query("A resit costs EUR 55.", kind="hyde", vector_only=True),)


@pytest.mark.parametrize("step", [rewrite, hyde, decompose, step_back, rewrite_to_concepts])
async def test_without_a_model_there_are_no_other_words(offline, deps: Deps, step) -> None:
    assert await step(deps, ask(QUESTION)) == ()
    assert deps.trace.steps[0].status == "degraded"


# ------------------------------------------------------------------------------------------------ filters
async def test_the_model_reads_filters_with_evidence_in_the_question(online, deps: Deps) -> None:
    asked = ask("What does HR say about leave in 2025?")
    deps = make_tools(
        settings.RAG, vocabulary=Vocabulary(departments=("Human Resources", "Library"), policy_years=(2022, 2025))
    )
    online.reply(json={"evidence": "HR", "department": "Human Resources", "doc_type": "", "policy_year": 2025})
    filters = (await read_question(deps, asked, SearchFilters())).filters
    assert filters == SearchFilters(preferred=Vocabulary(departments=("Human Resources",), policy_years=(2025,)))


@pytest.mark.parametrize("evidence", ["the library", "", "What does HR say about leave in 2025?"])
async def test_without_evidence_no_filter_is_read(online, evidence: str) -> None:
    deps = make_tools(settings.RAG, vocabulary=Vocabulary(departments=("Human Resources", "Library")))
    online.reply(json={"evidence": evidence, "department": "Library", "doc_type": "", "policy_year": None})
    known = SearchFilters(doc_type="policy")
    assert await read_question(deps, ask("What does HR say about leave in 2025?"), known) == Route(filters=known)


@pytest.mark.parametrize(
    ("task", "numbers", "documents"),
    [
        ("compare", [1, 2], ("d2", "d1")), ("summarise", [3], ("d3",)), ("compare", [1], None), ("", [1], None),
        ("list", [], None), ("summarise", [99], None), ("compare", [1, 1], None),
    ],
)  # fmt: skip
async def test_a_model_may_choose_a_task_among_the_documents_offered(
    online, task: str, numbers: list[int], documents: tuple[str, ...] | None
) -> None:
    deps = make_tools(settings.RAG, HANDBOOK, documents=MemoryReader(HANDBOOK))
    online.reply(json={"evidence": "", "task": task, "documents": numbers})
    chosen = (await read_question(deps, ask("What do the loan rules say?"), SearchFilters(), found=["d2"])).task
    assert (chosen.documents if chosen else None) == documents
    assert "1. Library Loan Regulations (2022) (2022)\n2. Library Loan Regulations (2025)" in online.chats[0].prompt


# ------------------------------------------------------------------------------------------------ ways


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
    online.reply(match="You plan how", json=drafted({"id": "t1", "type": "hyde", "input": "deposit"}))
    plan = await make_plan(deps, ask(QUESTION), web=True, memories="-")
    assert [(task.type, task.input) for task in plan.tasks] == [("retrieve", QUESTION)]
    assert deps.trace.steps[0].status == "degraded"
