"""How far ratings count on after reranking is one setting, whichever step reranks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from django.conf import settings

from retrieval.steps.judge.grade import Documents, Grade
from retrieval.steps.toolbox import Toolbox
from retrieval.values import ScoredChunk
from retrieval.workflows.planned.reflect import Findings, Reflect
from tests.retrieval.steps.fakes import context, make_tools, scored

QUESTION = "What is the resit fee?"
Pool = tuple[ScoredChunk, ...]
Reranking = Callable[[Toolbox, Pool], Awaitable[Pool]]


async def graded(tools: Toolbox, pool: Pool) -> Pool:
    return (await Grade(context(tools))(Documents(question=QUESTION, passages=pool))).documents


async def reflected(tools: Toolbox, pool: Pool) -> Pool:
    return (await Reflect(context(tools))(Findings(question=QUESTION, passages=pool))).candidates


@pytest.mark.parametrize("step", [graded, reflected])
@pytest.mark.parametrize(("share", "first"), [(0.0, "k1"), (1.0, "k2")])
async def test_a_lifted_passage_is_put_first_as_far_as_the_setting_says(
    offline, step: Reranking, share: float, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both pass the grader, which puts those that fail last whatever ratings say.
    monkeypatch.setattr("retrieval.steps.judge.evaluator.BOOST_SHARE", share)
    monkeypatch.setattr("retrieval.steps.judge.grade.RELEVANT_SCORE", 0.01)
    better, worse = scored(1, "The resit fee is EUR 55."), scored(2, "A resit has a fee, which is in the list.")
    lifted = replace(worse, scores=replace(worse.scores, boost=50.0))
    ranked = await step(make_tools(settings.RAG), (better, lifted))
    assert ranked[0].chunk_id == first
