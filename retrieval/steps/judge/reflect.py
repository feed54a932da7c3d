"""Reflect: is what was found good enough to answer from, and if not, what is to be done about it?

Source: seed 002 §8.3.3: relevance, completeness and factuality, weighed as one score; from 0.8 on it passes, from 0.5
on the search is tuned, below that another way is tried. Shinn et al., Reflexion, 2023, arXiv:2303.11366.
By a model's numbers. Without one there is no word to search again by: what was found passes, by the estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from retrieval.errors import ModelOutputError
from retrieval.steps.deps import Deps
from retrieval.steps.judge.scores import (
    YES_SCORE,
    check_score,
    estimated,
    quoted,
    rank,
    reranking_is_on,
    scores_by_chunk,
)
from retrieval.steps.schemas import TOP_SCORE, EvidenceReflection, reflection_of
from retrieval.steps.step import step
from retrieval.text.quoting import one_line
from retrieval.trace import note
from retrieval.values import Question, ScoredChunk

Outcome = Literal["pass", "tune", "retry"]
PASS_SCORE = 0.8  # a reflection at or above it: answer
RETRY_SCORE = 0.5  # below it another way is tried; between the two the search is tuned
WEIGHTS = (0.5, 0.3, 0.2)  # of relevance, completeness and factuality
MOST_SHOWN = 10  # passages that a model is shown in one call


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """candidates: best first. score: 0..1, the three weighed. refused: a model says that nothing of it answers."""

    candidates: tuple[ScoredChunk, ...]
    score: float
    outcome: Outcome
    refused: bool = False
    reason: str = ""


async def by_estimate(deps: Deps, question: Question, passages: Sequence[ScoredChunk], **_: Any) -> Reflection:
    probability = await estimated(deps, question, passages)
    note("reflected_by_estimate", score=round(probability, 3), outcome="pass", by_model=False)
    return Reflection(candidates=tuple(passages), score=probability, outcome="pass")


@step("reflect", fallback=by_estimate)
async def reflect(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk], *, parts: Sequence[str] = ()
) -> Reflection:
    """parts: what was searched for, where that is several things."""
    if not passages:
        note("nothing_found", outcome="retry")
        return Reflection(candidates=(), score=0.0, outcome="retry")
    if not reranking_is_on(deps, question):
        return await by_estimate(deps, question, passages)
    shown = await quoted(deps, passages[:MOST_SHOWN])
    reply = await deps.complete(
        "reflect",
        reflection_of(len(shown)),
        passages="\n\n".join(shown),
        question=one_line(question.standalone),
        parts="\n".join(f"- {one_line(part)}" for part in parts) or "-",
        count=len(shown),
    )
    return _weighed(reply, passages[: len(shown)], passages)


def _weighed(reply: EvidenceReflection, shown: Sequence[ScoredChunk], passages: Sequence[ScoredChunk]) -> Reflection:
    """Raises ModelOutputError for scores of other passages, or outside their range."""
    if len(reply.scores) != len(shown):
        raise ModelOutputError("wrong_number_of_scores")
    check_score(*reply.scores, reply.completeness, reply.factuality)
    three = (max(reply.scores) / TOP_SCORE, reply.completeness / TOP_SCORE, reply.factuality / TOP_SCORE)
    score = sum(weight * value for weight, value in zip(WEIGHTS, three, strict=True))
    refused = max(reply.scores) < YES_SCORE
    if refused:  # being complete and true about another subject does not help
        score = min(score, three[0])
    outcome: Outcome = "pass" if score >= PASS_SCORE else "tune" if score >= RETRY_SCORE else "retry"
    ranked = rank(shown, [score / TOP_SCORE for score in reply.scores])
    note(
        "reflected",
        of="retrieval",
        relevance=three[0],
        completeness=three[1],
        factuality=three[2],
        score=round(score, 3),
        outcome=outcome,
        by_model=True,
        scores=scores_by_chunk(ranked),
    )
    known = {passage.chunk_id for passage in shown}
    beyond = [passage for passage in passages if passage.chunk_id not in known]
    return Reflection(candidates=(*ranked, *beyond), score=score, outcome=outcome, refused=refused)
