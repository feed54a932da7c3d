"""Reflection on what a plan found: how good it is, what is wrong with it, and what is done about that.

Source: seed 002 §8.3.3, its thresholds and its table of remedies; Shinn et al., Reflexion, NeurIPS 2023.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelOutputError
from retrieval.engine.path_details import ReflectDetails
from retrieval.engine.providers.reply_form import exactly
from retrieval.engine.steps.judge.scores import (
    TOP_SCORE,
    YES_SCORE,
    Score,
    check_score,
    judging_is_on,
    quoted,
    rank,
    scores_by_chunk,
)
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import one_line
from retrieval.engine.trace import note
from retrieval.engine.values import Question, ScoredChunk

PASS_SCORE = 0.8  # a reflection at or above it: answer
RETRY_SCORE = 0.5  # below it another way is tried; between the two the search is tuned
WEIGHTS = (0.5, 0.3, 0.2)  # of relevance, completeness and factuality
MOST_SHOWN = 10  # passages that a model reflects on in one call
FIRST = 5  # passages whose scores tell low relevance and a bad order
LOW_RELEVANCE = 0.5  # of their mean
INCOMPLETE = 0.6  # of the question that is covered
ABSENT = 0.3  # that no passage reaches

Outcome = Literal["pass", "tune", "retry"]
Problem = Literal["outdated", "absent", "badly_ordered", "incomplete", "low_relevance"]
Remedy = Literal["wide_search", "decompose", "web_search", "rewrite", "text_search", "rerank"]
REMEDIES: Mapping[Problem, tuple[Remedy, ...]] = {
    "outdated": ("web_search",),
    "absent": ("web_search",),
    "badly_ordered": ("rerank",),
    "incomplete": ("wide_search", "decompose"),
    "low_relevance": ("rewrite", "wide_search"),
}
# Where no problem is left whose remedy can be tried.
OTHER_WAYS: Mapping[Outcome, tuple[Remedy, ...]] = {
    "pass": (
        "rewrite",
        "wide_search",
        "web_search",
    ),  # the passages looked better than they are
    "tune": ("wide_search", "decompose", "web_search"),
    "retry": ("rewrite", "text_search", "wide_search", "web_search"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """candidates: best first. score: 0..1, relevance, completeness and factuality weighed. problems: the most urgent
    first. refused: a model says that nothing of it answers."""

    candidates: tuple[ScoredChunk, ...]
    score: float
    outcome: Outcome
    problems: tuple[Problem, ...] = ()
    refused: bool = False

    @property
    def ways(self) -> list[tuple[Problem | None, Remedy]]:
        """What may be tried next, in this order, and against what; against nothing in particular: None."""
        against = [(problem, remedy) for problem in self.problems for remedy in REMEDIES[problem]]
        return [*against, *((None, remedy) for remedy in OTHER_WAYS[self.outcome])]


def problems_of(
    scores: Sequence[float], *, completeness: float, outdated: bool
) -> tuple[Problem, ...]:
    """scores: of the passages, as they were found, 0..1. What answers in part is completed before it is reworded."""
    best = max(scores)
    answers = best >= YES_SCORE / TOP_SCORE
    found: dict[Problem, bool] = {
        "outdated": outdated,
        "absent": best < ABSENT,
        "badly_ordered": scores[0] < RETRY_SCORE and max(scores[:FIRST]) >= PASS_SCORE,
    }
    incomplete = completeness < INCOMPLETE
    irrelevant = fmean(scores[:FIRST]) < LOW_RELEVANCE
    found |= (
        {"incomplete": incomplete, "low_relevance": irrelevant}
        if answers
        else {"low_relevance": irrelevant, "incomplete": incomplete}
    )
    return tuple(problem for problem, is_there in found.items() if is_there)


def not_reflected(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk], **_: Any
) -> Reflection:
    """There is no model's word to search again by: what was found passes."""
    note("not_judged", ReflectDetails(outcome="pass", by_model=False))
    return Reflection(candidates=tuple(passages), score=0.0, outcome="pass")


class EvidenceReflection(BaseModel):
    """Scores of the passages in their order, and of the whole."""

    scores: list[Score]
    completeness: Score
    factuality: Score
    outdated: bool = False


@step("reflect", fallback=not_reflected)
async def reflect(
    deps: Deps,
    question: Question,
    passages: Sequence[ScoredChunk],
    *,
    parts: Sequence[str] = (),
) -> Reflection:
    """Is what was found good enough to answer from? From PASS_SCORE on it passes, from RETRY_SCORE on the search is
    tuned, below that another way is tried. parts: what was searched for, where that is several things."""
    if not passages:
        note("nothing_found", ReflectDetails(outcome="retry", problems=("absent",)))
        return Reflection(candidates=(), score=0.0, outcome="retry", problems=("absent",))
    if not judging_is_on(question):
        return not_reflected(deps, question, passages)
    shown = await quoted(deps, passages[:MOST_SHOWN])
    reply = await deps.judge(
        "reflect",
        exactly(EvidenceReflection, "scores", len(shown)),
        passages="\n\n".join(shown),
        question=one_line(question.standalone),
        parts="\n".join(f"- {one_line(part)}" for part in parts) or "-",
        count=len(shown),
    )
    if len(reply.scores) != len(shown):
        raise ModelOutputError("wrong_number_of_scores")
    check_score(*reply.scores, reply.completeness, reply.factuality)
    scores = [score / TOP_SCORE for score in reply.scores]
    relevance = max(scores)
    completeness = reply.completeness / TOP_SCORE
    factuality = reply.factuality / TOP_SCORE
    weighed = zip(WEIGHTS, (relevance, completeness, factuality), strict=True)
    score = sum(weight * value for weight, value in weighed)
    refused = max(reply.scores) < YES_SCORE
    if refused:  # being complete and true about another subject does not help
        score = min(score, relevance)
    outcome: Outcome = (
        "pass" if score >= PASS_SCORE else "tune" if score >= RETRY_SCORE else "retry"
    )
    problems = problems_of(scores, completeness=completeness, outdated=reply.outdated)
    if outcome == "pass":  # time alone then speaks against it
        problems = tuple(problem for problem in problems if problem == "outdated")
    ranked = rank(passages[: len(shown)], scores)
    details = ReflectDetails(
        of="retrieval",
        relevance=relevance,
        completeness=completeness,
        factuality=factuality,
        score=round(score, 3),
        outcome=outcome,
        problems=problems,
        by_model=True,
        scores=scores_by_chunk(ranked),
    )
    note("reflected", details)
    return Reflection(
        candidates=(*ranked, *passages[len(shown) :]),
        score=score,
        outcome=outcome,
        problems=problems,
        refused=refused,
    )
