"""Reflect: is what was found good enough to answer from, and if not, what is to be done about it?

Source: seed 002 §8.3.3: relevance, completeness and factuality; from 0.8 on it passes, from 0.5 on the search is tuned,
below that another way is tried; its table of signs and remedies is `diagnose` and `REMEDIES`. Shinn et al., Reflexion,
2023, arXiv:2303.11366.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from datetime import date
from statistics import fmean
from typing import Any, Literal

from pydantic import BaseModel, Field

from ragsite.core.rag_settings import PlannedSettings, RagSettings
from retrieval.answerability.grading import grade_passages
from retrieval.answerability.term_coverage import coverage, full_text, strong_terms, term_weights, terms_of
from retrieval.errors import ModelOutputError
from retrieval.steps.judge import judge
from retrieval.steps.judge.judge import Assessment, quote_pool, rerank, scale
from retrieval.steps.query.route import years_in
from retrieval.steps.schemas import PassageScore, RetrievalJudgement
from retrieval.steps.step import attempt
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.text.quoting import one_line
from retrieval.values import ScoredChunk
from retrieval.workflows.planned.question_profile import asks_about_today

PASS_SCORE = 0.8  # a reflection at or above it: answer
RETRY_SCORE = 0.5  # below it another way is tried; between the two the search is tuned
RELEVANCE_WEIGHT = 0.5  # of the reflection's score
COMPLETENESS_WEIGHT = 0.3  # of the reflection's score
FACTUALITY_WEIGHT = 0.2  # of the reflection's score
LOW_AVERAGE = 0.5  # average score of the passages below it: reword, more candidates
LOW_COVERAGE = 0.6  # completeness below it: search wider, more queries
ABSENT_SCORE = 0.3  # all passages below it: the documents do not hold it, so the web is searched
MAX_AGE_YEARS = 3  # a question about today's state whose newest passage is older is outdated


Outcome = Literal["pass", "tune", "retry"]
Problem = Literal["absent", "outdated", "unclear", "low_relevance", "incomplete", "badly_ordered"]
Remedy = Literal["web", "switch", "reword", "widen", "more_queries", "rerank"]
SHOWN_FIRST = 5  # passages that the table's "Top1" and "Top5" and the average look at
REASON_CHARS = 300

# What each problem calls for; the first remedy that has not been tried serves. A middling result is tuned: other
# numbers and more of the same cost no model round. A poor one is looked for in another way.
REMEDIES: dict[Problem, tuple[Remedy, ...]] = {
    "absent": ("web", "switch", "reword", "widen"),
    "outdated": ("web", "widen"),
    "unclear": ("reword", "more_queries"),
    "low_relevance": ("reword", "widen", "switch"),
    "incomplete": ("widen", "more_queries", "web"),
    "badly_ordered": ("rerank",),
}
TUNING: dict[Problem, tuple[Remedy, ...]] = {**REMEDIES, "low_relevance": ("widen", "switch", "reword")}


class EvidenceReflection(BaseModel):
    """Scores of the passages and of the whole, in one call."""

    scores: list[PassageScore] = Field(description="One entry for every passage")
    completeness: float = Field(description="How much of the question the passages answer together, from 0 to 1")
    factuality: float = Field(description="How far the passages agree with each other and with the question's facts")
    missing: str = Field(default="", description="What is still missing, in a few words")
    problem: str = Field(
        default="none", json_schema_extra={"enum": ["none", "unclear", "absent", "incomplete", "outdated"]}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """All scores 0..1. `passages`: graded, best first. `problems`: the gravest first."""

    relevance: float
    completeness: float
    factuality: float
    score: float
    outcome: Outcome
    passages: tuple[ScoredChunk, ...] = ()
    problems: tuple[Problem, ...] = ()
    missing: str = ""
    holds_answer: float = 0.0  # the trained grader's P(the documents hold the answer), whoever gave the scores
    by_model: bool = False

    def assessment(self) -> Assessment:
        """For the steps that ask back or say that there is no answer."""
        reason = (
            f"relevance {self.relevance:.2f}, completeness {self.completeness:.2f}, factuality {self.factuality:.2f}"
        )
        return Assessment(
            verdict="ANSWER" if self.outcome == "pass" else "REFINE",
            candidates=self.passages,
            reason=reason,
            missing=self.missing,
            by_model=self.by_model,
            scored_by_model=self.by_model,
            holds_answer=self.holds_answer,
            worth=self.relevance,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scores:
    grades: tuple[float, ...]
    relevance: float
    completeness: float
    factuality: float
    missing: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Reflect:
    tools: Toolbox

    async def reflect(
        self,
        question: str,
        parts: Sequence[str],
        passages: Sequence[ScoredChunk],
        *,
        run: Run,
        language: Language,
        judged: Assessment | None = None,
        before: Reflection | None = None,
        use_model: bool = True,
        listed: Sequence[ScoredChunk] = (),
        semantic: bool = True,
    ) -> Reflection:
        """`parts`: what the plan searched for. `judged`: a judgement of the plan's own; where it covers all passages,
        no other model call is made; nor where a reflection `before` this one saw them all: a retry that brought nothing
        new is not judged anew. `listed`, `semantic`: see `grade_passages`. Never raises a ModelError."""
        settings = self.tools.settings
        shown = tuple(passages[: settings.rerank.max_candidates])
        lexical = await asyncio.to_thread(_without_model, question, parts, shown, listed=listed, semantic=semantic)
        async with run.trace.step("reflect") as step:
            scores = _from_judgement(judged, shown, lexical) if judged and judged.scored_by_model else None
            scores = scores or _from_before(before, shown)
            by_model = scores is not None
            if scores is None and shown and use_model:
                scores = await attempt(
                    step,
                    self._ask_model(question, parts, shown, lexical, language),
                    fallback=lambda: None,
                    timeout_s=run.deadline.limit(settings.ollama.structured_timeout_s),
                )
                by_model = scores is not None
            result = weigh(question, shown, scores or lexical, settings)
            result = replace(result, by_model=by_model, holds_answer=lexical.relevance)
            step.detail |= _as_detail(result)
            step.summary = (
                f"{result.outcome}: {result.score:.2f} (relevance {result.relevance:.2f}, "
                f"completeness {result.completeness:.2f}, factuality {result.factuality:.2f})"
            )
            return result

    async def _ask_model(
        self,
        question: str,
        parts: Sequence[str],
        shown: tuple[ScoredChunk, ...],
        lexical: _Scores,
        language: Language,
    ) -> _Scores | None:
        quoted = await asyncio.to_thread(quote_pool, question, shown, length=judge.SNIPPET_LENGTH, language=language)
        told = await self.tools.complete(
            "fast",
            "reflect",
            EvidenceReflection,
            language=language,
            passages=quoted,
            parts="\n".join(f"- {one_line(part)}" for part in parts) or "-",
            question=one_line(question),
        )
        if not any(1 <= entry.passage <= len(shown) for entry in told.scores):
            raise ModelOutputError("the model scored none of the passages")
        grades = scale(RetrievalJudgement(scores=told.scores, verdict="ANSWER"), lexical.grades)
        return _Scores(
            grades=tuple(grades),
            relevance=max(grades),
            completeness=_unit(told.completeness),
            factuality=_unit(told.factuality),
            missing=one_line(told.missing)[:REASON_CHARS],
            problem=told.problem,
        )


def weigh(question: str, shown: Sequence[ScoredChunk], scores: _Scores, settings: RagSettings) -> Reflection:
    """The three scores as one, the outcome, and what is wrong. Passages that are beside the point weigh everything
    down: being complete and true about something else is worth nothing."""
    relevance, planned = scores.relevance, settings.planned
    score = (
        RELEVANCE_WEIGHT * relevance + COMPLETENESS_WEIGHT * scores.completeness + FACTUALITY_WEIGHT * scores.factuality
    )
    if relevance < ABSENT_SCORE:
        score = min(score, relevance)
    outcome: Outcome = "pass" if score >= PASS_SCORE else "tune" if score >= RETRY_SCORE else "retry"
    problems = () if outcome == "pass" else diagnose(question, shown, scores, planned)
    return Reflection(
        relevance=relevance,
        completeness=scores.completeness,
        factuality=scores.factuality,
        score=score,
        outcome=outcome,
        passages=rerank(shown, scores.grades),
        problems=problems,
        missing=scores.missing,
    )


def diagnose(
    question: str, shown: Sequence[ScoredChunk], scores: _Scores, planned: PlannedSettings
) -> tuple[Problem, ...]:
    """The seed's table of signs, and what the model named, in the order of `REMEDIES`; where none of them shows, what
    the lowest of the three scores stands for."""
    grades = scores.grades
    first = grades[:SHOWN_FIRST]
    found: dict[Problem, bool] = {
        "absent": scores.problem == "absent" or all(one < ABSENT_SCORE for one in grades),
        "outdated": scores.problem == "outdated" or is_outdated(question, shown, MAX_AGE_YEARS),
        "unclear": scores.problem == "unclear",
        "low_relevance": bool(first) and fmean(first) < LOW_AVERAGE,
        "incomplete": scores.problem == "incomplete" or scores.completeness < LOW_COVERAGE,
        "badly_ordered": bool(first) and first[0] < LOW_AVERAGE <= max(first),
    }
    shown_signs = tuple(problem for problem in REMEDIES if found[problem])
    if shown_signs:
        return shown_signs
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
        left = (one for one in table[problem] if one not in tried and (web or one != "web"))
        remedy = next(left, None)
        if remedy and remedy not in chosen:
            chosen.append(remedy)
    return tuple(chosen)


def is_outdated(question: str, shown: Sequence[ScoredChunk], max_age_years: int) -> bool:
    """A year is asked for and no passage is of it or names it; or today's state, and the newest passage is old."""
    wanted = years_in(question)
    dated = [candidate.chunk.policy_year for candidate in shown if candidate.chunk.policy_year]
    if wanted and dated:
        return not any(
            year in dated or any(str(year) in full_text(candidate.chunk) for candidate in shown) for year in wanted
        )
    return asks_about_today(question) and bool(dated) and max(dated) < date.today().year - max_age_years


# ------------------------------------------------------------------------------------------------ without a model
def _without_model(
    question: str,
    parts: Sequence[str],
    shown: tuple[ScoredChunk, ...],
    *,
    listed: Sequence[ScoredChunk],
    semantic: bool,
) -> _Scores:
    """The trained grader's scores; relevance is its estimate for the whole list."""
    grading = grade_passages(question, shown, listed=listed, semantic=semantic)
    return _Scores(
        grades=tuple(grading.passages),
        relevance=grading.holds_answer,
        completeness=_completeness(question, parts, shown),
        factuality=_agrees(question, shown),
    )


def _completeness(question: str, parts: Sequence[str], shown: tuple[ScoredChunk, ...]) -> float:
    """For each part the share of its terms that the passages hold, rare ones weighing more; the mean over the parts."""
    if not shown:
        return 0.0
    texts = [terms_of(full_text(candidate.chunk)) for candidate in shown]
    shares = []
    for part in parts or [question]:
        weights = term_weights(part, texts)
        held = [coverage(text, weights) for text in texts] if weights else [1.0]
        shares.append(max(held))
    return fmean(shares)


def _agrees(question: str, shown: tuple[ScoredChunk, ...]) -> float:
    """The share of the question's codes and numbers that the passages bear out; 1 where it names none."""
    named = [term for term in strong_terms(question) if any(character.isdigit() for character in term)]
    if not shown or not named:
        return 1.0 if shown else 0.0
    held = [terms_of(full_text(candidate.chunk)) | {str(candidate.chunk.policy_year or "")} for candidate in shown]
    return sum(any(term in terms for terms in held) for term in named) / len(named)


def _from_judgement(judged: Assessment, shown: Sequence[ScoredChunk], lexical: _Scores) -> _Scores | None:
    """The scores that the plan's own judgement gave, if it saw every passage; else None."""
    given = {candidate.chunk_id: candidate.scores.rerank for candidate in judged.candidates}
    grades = [given.get(candidate.chunk_id) for candidate in shown]
    if not grades or any(one is None for one in grades):
        return None
    incomplete = bool(judged.missing) and judged.verdict != "ANSWER"
    completeness = min(lexical.completeness, 0.5) if incomplete else max(lexical.completeness, judged.best)
    scores = tuple(one or 0.0 for one in grades)
    return _Scores(
        grades=scores,
        relevance=max(scores),
        completeness=completeness,
        factuality=lexical.factuality,
        missing=judged.missing,
    )


def _from_before(before: Reflection | None, shown: Sequence[ScoredChunk]) -> _Scores | None:
    """A model's scores of the same passages, and not one of them new; else None."""
    if before is None or not before.by_model or not shown:
        return None
    given = {candidate.chunk_id: candidate.scores.rerank or 0.0 for candidate in before.passages}
    if any(candidate.chunk_id not in given for candidate in shown):
        return None
    return _Scores(
        grades=tuple(given[candidate.chunk_id] for candidate in shown),
        relevance=max(given.values()),
        completeness=before.completeness,
        factuality=before.factuality,
        missing=before.missing,
    )


def _unit(value: float) -> float:
    """0..1; a model that counted to 10 or to 100 is understood, anything else is 0."""
    if not 0 <= value <= 100:  # NaN included
        return 0.0
    return value if value <= 1 else value / 10 if value <= 10 else value / 100


def _as_detail(result: Reflection) -> dict[str, Any]:
    return {
        "of": "retrieval",
        "relevance": round(result.relevance, 3),
        "completeness": round(result.completeness, 3),
        "factuality": round(result.factuality, 3),
        "score": round(result.score, 3),
        "outcome": result.outcome,
        "problems": list(result.problems),
        "missing": result.missing,
        "by_model": result.by_model,
        "scores": {candidate.chunk_id: round(candidate.scores.rerank or 0.0, 3) for candidate in result.passages},
    }
