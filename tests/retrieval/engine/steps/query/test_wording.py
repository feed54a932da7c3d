"""Steps that find words for a search: each alone, with the simulated model or none."""

from __future__ import annotations

import pytest
from django.conf import settings

from retrieval.engine.deps import Deps
from retrieval.engine.steps.query.condense import condense
from retrieval.engine.steps.query.decompose import decompose
from retrieval.engine.steps.query.hyde import hyde
from retrieval.engine.steps.query.queries import initial_queries
from retrieval.engine.steps.query.rewrite import rewrite, rewrite_to_concepts
from retrieval.engine.steps.query.step_back import step_back
from retrieval.engine.values import HistoryMessage, Query
from tests.retrieval.engine.steps.fakes import HANDBOOK, ask, make_tools

QUESTION = "What does a late resit cost?"
TALK = (
    HistoryMessage("user", "How much is the deposit?"),
    HistoryMessage("assistant", "EUR 300 [1]."),
)


@pytest.fixture
def deps() -> Deps:
    return make_tools(settings.RAG, HANDBOOK)


async def test_without_a_model_a_follow_up_is_searched_for_with_the_question_before(
    offline, deps: Deps
) -> None:
    question = await condense(deps, ask("And in 2022?", history=TALK))
    assert question.standalone == "And in 2022?"
    assert [query.text for query in initial_queries(question)] == [
        "And in 2022?",
        "How much is the deposit? And in 2022?",
    ]
    assert initial_queries(ask(QUESTION)) == (Query(QUESTION),)


async def test_variants_are_cleaned_and_never_the_question_itself(online, deps: Deps) -> None:
    online.reply(
        match='"queries"', json={"queries": ["resit  fee", QUESTION.lower(), "late resit charge"]}
    )
    queries = await rewrite(deps, ask(QUESTION))
    assert [query.text for query in queries] == ["resit fee", "late resit charge"]
    assert deps.trace.steps[0].summary == "resit fee; late resit charge"


async def test_hyde_is_a_vector_only_query(online, deps: Deps) -> None:
    online.reply(json={"hypothetical_passage": "A resit costs\nEUR 55."})
    assert await hyde(deps, ask(QUESTION)) == (
        Query("A resit costs EUR 55.", kind="hyde", vector_only=True),
    )


@pytest.mark.parametrize("step", [rewrite, hyde, decompose, step_back, rewrite_to_concepts])
async def test_without_a_model_there_are_no_other_words(offline, deps: Deps, step) -> None:
    assert await step(deps, ask(QUESTION)) == ()
    assert deps.trace.steps[0].status == "degraded"
