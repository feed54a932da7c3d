"""Reflect: is what was found good enough to answer from, and if not, what is to be done about it?

Source: seed 002 §8.3.3: relevance, completeness and factuality; from 0.8 on it passes, from 0.5 on the search is tuned,
below that another way is tried; its table of signs and remedies is `diagnose` and `REMEDIES`. Shinn et al., Reflexion,
2023, arXiv:2303.11366.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import date
from statistics import fmean
from typing import Literal

from retrieval.answerability import Estimate
from retrieval.steps.judge.evaluator import (
    Assessment,
    Evaluator,
    Evidence,
    clipped,
    passage_scores,
    scores_by_chunk,
    unit_score,
)
from retrieval.steps.query.route import years_in
from retrieval.steps.schemas import EvidenceReflection
from retrieval.text.quoting import one_line
from retrieval.text.term_coverage import coverage, full_text, strong_terms, term_weights, terms_of
from retrieval.trace import StepRecord
from retrieval.values import ScoredChunk
from retrieval.workflows.planned.question_profile import asks_about_today

Outcome = Literal["pass", "tune", "retry"]
Problem = Literal["absent", "outdated", "unclear", "low_relevance", "incomplete", "badly_ordered"]
Remedy = Literal["web", "switch", "reword", "widen", "more_queries", "rerank"]
PASS_SCORE = 0.8  # a reflection at or above it: answer
RETRY_SCORE = 0.5  # below it another way is tried; between the two the search is tuned
RELEVANCE_WEIGHT, COMPLETENESS_WEIGHT, FACTUALITY_WEIGHT = 0.5, 0.3, 0.2  # of the reflection's score
LOW_AVERAGE = 0.5  # average score of the passages below it: reword, more candidates
LOW_COVERAGE = 0.6  # completeness below it: search wider, more queries
ABSENT_SCORE = 0.3  # all passages below it: the documents do not hold it, so the web is searched
MAX_AGE_YEARS = 3  # a question about today's state whose newest passage is older is outdated
FIRST = 5  # passages that the table's "Top1" and "Top5" and the average look at

# The remedies of each problem; the first that has not been tried is used. A medium result is tuned: other numbers,
# and more of the same, cost no model round. For a poor result another way of searching is tried.
REMEDIES: dict[Problem, tuple[Remedy, ...]] = {
    "absent": ("web", "switch", "reword", "widen"),
    "outdated": ("web", "widen"),
    "unclear": ("reword", "more_queries"),
    "low_relevance": ("reword", "widen", "switch"),
    "incomplete": ("widen", "more_queries", "web"),
    "badly_ordered": ("rerank",),
}
TUNING: dict[Problem, tuple[Remedy, ...]] = {**REMEDIES, "low_relevance": ("widen", "switch", "reword")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection(Assessment):
    """An assessment by three scores, 0..1, and `score`, which weighs them. `problems`: the gravest first."""

    completeness: float
    factuality: float
    score: float
    outcome: Outcome
    problems: tuple[Problem, ...] = ()

    @property
    def relevance(self) -> float:
        return self.retrieval_score


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings(Evidence):
    """`parts`: what the plan searched for, where that is several things. `judged`: a judgement of the plan's own, and
    `before` the last reflection: where one of them saw all passages, no model is asked anew."""

    parts: Sequence[str] = ()
    judged: Assessment | None = None
    before: Reflection | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """All 0..1; `grades`: of the passages, in their order. `problem`: what the model named."""

    grades: Sequence[float]
    relevance: float
    completeness: float
    factuality: float
    missing: str = ""
    problem: str = ""


class Reflect(Evaluator[Findings, Reflection]):
    """Never raises a ModelError."""

    name = "reflect"

    async def act(self, given: Findings, entry: StepRecord) -> Reflection:
        passages = tuple(given.passages[: self.settings.rerank.max_candidates])
        estimate = await self.estimate(given, passages)
        unaided = await asyncio.to_thread(_without_model, given, passages, estimate)
        scores = _from_judgement(given.judged, passages, unaided) or _from_before(given.before, passages)
        scores = scores or await self.consult(entry, given, estimate, lambda: self._ask(given, passages, estimate))
        reflection = self._weigh(given.question, passages, scores or unaided, estimate, by_model=scores is not None)
        entry.detail |= {
            "of": "retrieval",
            "relevance": round(reflection.relevance, 3),
            "completeness": round(reflection.completeness, 3),
            "factuality": round(reflection.factuality, 3),
            "score": round(reflection.score, 3),
            "outcome": reflection.outcome,
            "problems": list(reflection.problems),
            "missing": reflection.missing,
            "by_model": reflection.by_model,
            "scores": scores_by_chunk(reflection.candidates),
        }
        entry.summary = f"{reflection.outcome}: {reflection.score:.2f} ({reflection.reason})"
        return reflection

    async def _ask(self, given: Findings, passages: Sequence[ScoredChunk], estimate: Estimate) -> Scores:
        parts = "\n".join(f"- {one_line(part)}" for part in given.parts) or "-"
        reply = await self.ask_about(passages, given.question, "reflect", EvidenceReflection, parts=parts)
        grades = passage_scores(reply.scores, estimate.passages)
        return Scores(
            grades=grades,
            relevance=max(grades),
            completeness=_share(reply.completeness),
            factuality=_share(reply.factuality),
            missing=clipped(reply.missing),
            problem=reply.problem,
        )

    def _weigh(
        self, question: str, passages: Sequence[ScoredChunk], scores: Scores, estimate: Estimate, *, by_model: bool
    ) -> Reflection:
        """The three scores as one, the outcome, and what is wrong. Irrelevant passages lower the whole score: being
        complete and true about another subject does not help."""
        relevance, completeness, factuality = scores.relevance, scores.completeness, scores.factuality
        score = weighted(relevance, completeness, factuality)
        if relevance < ABSENT_SCORE:
            score = min(score, relevance)
        outcome: Outcome = "pass" if score >= PASS_SCORE else "tune" if score >= RETRY_SCORE else "retry"
        return Reflection(
            verdict="ANSWER" if outcome == "pass" else "REFINE",
            candidates=self.rank(passages, scores.grades),
            reason=f"relevance {relevance:.2f}, completeness {completeness:.2f}, factuality {factuality:.2f}",
            missing=scores.missing,
            by_model=by_model,
            scored_by_model=by_model,
            answerability=estimate.answerability,
            retrieval_score=relevance,
            completeness=completeness,
            factuality=factuality,
            score=score,
            outcome=outcome,
            problems=() if outcome == "pass" else diagnose(question, passages, scores),
        )


def _share(value: float) -> float:
    """0..1; what is on no scale at all speaks for nothing, so it is 0."""
    return unit_score(value) if 0.0 <= value <= 100.0 else 0.0


def weighted(relevance: float, completeness: float, factuality: float) -> float:
    """One score of the three, 0..1, by their weights."""
    return RELEVANCE_WEIGHT * relevance + COMPLETENESS_WEIGHT * completeness + FACTUALITY_WEIGHT * factuality


def diagnose(question: str, passages: Sequence[ScoredChunk], scores: Scores) -> tuple[Problem, ...]:
    """The seed's table of signs, and what the model named, in the order of `REMEDIES`; where none of them shows, what
    the lowest of the three scores stands for."""
    grades, first = scores.grades, scores.grades[:FIRST]
    signs: dict[Problem, bool] = {
        "absent": scores.problem == "absent" or all(grade < ABSENT_SCORE for grade in grades),
        "outdated": scores.problem == "outdated" or is_outdated(question, passages, MAX_AGE_YEARS),
        "unclear": scores.problem == "unclear",
        "low_relevance": bool(first) and fmean(first) < LOW_AVERAGE,
        "incomplete": scores.problem == "incomplete" or scores.completeness < LOW_COVERAGE,
        "badly_ordered": bool(first) and first[0] < LOW_AVERAGE <= max(first),
    }
    if problems := tuple(problem for problem in REMEDIES if signs[problem]):
        return problems
    values: dict[Problem, float] = {
        "low_relevance": scores.relevance, "incomplete": scores.completeness, "outdated": scores.factuality,
    }  # fmt: skip
    return (min(values, key=lambda problem: values[problem]),)


def choose_remedies(
    problems: Sequence[Problem], *, tried: Set[Remedy], web: bool, tune: bool = False
) -> tuple[Remedy, ...]:
    """For each problem the first remedy that is left; none twice."""
    chosen: list[Remedy] = []
    table = TUNING if tune else REMEDIES
    for problem in problems:
        left = (remedy for remedy in table[problem] if remedy not in tried and (web or remedy != "web"))
        remedy = next(left, None)
        if remedy and remedy not in chosen:
            chosen.append(remedy)
    return tuple(chosen)


def is_outdated(question: str, passages: Sequence[ScoredChunk], max_age_years: int) -> bool:
    """A year is asked for and no passage is of it or names it; or today's state, and the newest passage is old."""
    wanted = years_in(question)
    dated = [candidate.chunk.policy_year for candidate in passages if candidate.chunk.policy_year]
    if wanted and dated:
        return not any(
            year in dated or any(str(year) in full_text(candidate.chunk) for candidate in passages) for year in wanted
        )
    return asks_about_today(question) and bool(dated) and max(dated) < date.today().year - max_age_years


# ------------------------------------------------------------------------------------------------ without a new call
def _without_model(given: Findings, passages: Sequence[ScoredChunk], estimate: Estimate) -> Scores:
    """Relevance: the estimate for the whole list. Completeness: for each part the share of its terms that the passages
    hold, rare ones weighing more; the mean over the parts. Factuality: the share of the question's codes and numbers
    that the passages hold; 1 where it names none."""
    if not passages:
        return Scores(grades=(), relevance=0.0, completeness=0.0, factuality=0.0)
    texts = [terms_of(full_text(candidate.chunk)) for candidate in passages]
    shares = []
    for part in given.parts or [given.question]:
        weights = term_weights(part, texts)
        shares.append(max(coverage(text, weights) for text in texts) if weights else 1.0)
    named = [term for term in strong_terms(given.question) if any(character.isdigit() for character in term)]
    years = {str(candidate.chunk.policy_year or "") for candidate in passages}
    held = sum(term in years or any(term in text for text in texts) for term in named)
    return Scores(
        grades=estimate.passages,
        relevance=estimate.answerability,
        completeness=fmean(shares),
        factuality=held / len(named) if named else 1.0,
    )


def _from_judgement(judged: Assessment | None, passages: Sequence[ScoredChunk], unaided: Scores) -> Scores | None:
    """The scores that the plan's own judgement gave, if a model did and saw every passage; else None."""
    if judged is None or not judged.scored_by_model:
        return None
    known = {candidate.chunk_id: candidate.scores.rerank for candidate in judged.candidates}
    grades = [score for candidate in passages if (score := known.get(candidate.chunk_id)) is not None]
    if not grades or len(grades) < len(passages):
        return None
    incomplete = bool(judged.missing) and judged.verdict != "ANSWER"
    return Scores(
        grades=grades,
        relevance=max(grades),
        completeness=min(unaided.completeness, 0.5) if incomplete else max(unaided.completeness, judged.best),
        factuality=unaided.factuality,
        missing=judged.missing,
    )


def _from_before(before: Reflection | None, passages: Sequence[ScoredChunk]) -> Scores | None:
    """A model's scores of the last reflection, if it saw every passage; else None."""
    if before is None or not before.by_model or not passages:
        return None
    known = {candidate.chunk_id: candidate.scores.rerank or 0.0 for candidate in before.candidates}
    if any(candidate.chunk_id not in known for candidate in passages):
        return None
    return Scores(
        grades=[known[candidate.chunk_id] for candidate in passages],
        relevance=max(known.values()),
        completeness=before.completeness,
        factuality=before.factuality,
        missing=before.missing,
    )
