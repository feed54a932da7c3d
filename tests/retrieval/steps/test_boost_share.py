"""How far ratings count on after reranking is one setting, whichever step reranks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from django.conf import settings

from retrieval.steps.judge.grade import Grade
from retrieval.steps.judge.judge import Judge
from retrieval.steps.judge.sufficiency import RelevanceEvaluator
from retrieval.steps.toolbox import Toolbox
from retrieval.values import ScoredChunk
from retrieval.workflows.planned.reflect import Reflect
from tests.retrieval.steps.fakes import make_tools, scored, start_run

QUESTION = "What is the resit fee?"
Pool = tuple[ScoredChunk, ...]
Reranking = Callable[[Toolbox, Pool], Awaitable[Pool]]


async def judged(tools: Toolbox, pool: Pool) -> Pool:
    run = start_run(settings.RAG)
    return (await Judge(tools).judge(QUESTION, pool, run=run, language="en")).candidates


async def graded(tools: Toolbox, pool: Pool) -> Pool:
    run = start_run(settings.RAG)
    return (await Grade(tools).grade(QUESTION, pool, run=run, language="en")).documents


async def reflected(tools: Toolbox, pool: Pool) -> Pool:
    run = start_run(settings.RAG)
    return (await Reflect(tools).reflect(QUESTION, (), pool, run=run, language="en")).passages


async def evaluated(tools: Toolbox, pool: Pool) -> Pool:
    run = start_run(settings.RAG)
    evaluator = RelevanceEvaluator(tools)
    return (await evaluator.evaluate(QUESTION, pool, semantic=False, most=2, run=run, language="en")).candidates


@pytest.mark.parametrize("step", [judged, graded, reflected, evaluated])
@pytest.mark.parametrize(("share", "first"), [(0.0, "k1"), (1.0, "k2")])
async def test_a_lifted_passage_is_put_first_as_far_as_the_setting_says(
    offline, step: Reranking, share: float, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both pass the grader, which puts those that fail last whatever ratings say.
    monkeypatch.setattr("retrieval.steps.judge.judge.BOOST_SHARE", share)
    monkeypatch.setattr("retrieval.steps.judge.grade.RELEVANT_SCORE", 0.01)
    better, worse = scored(1, "The resit fee is EUR 55."), scored(2, "A resit has a fee, which is in the list.")
    lifted = replace(worse, scores=replace(worse.scores, boost=50.0))
    ranked = await step(make_tools(settings.RAG), (better, lifted))
    assert ranked[0].chunk_id == first
