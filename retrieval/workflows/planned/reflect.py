"""Reflect: is what was found good enough to answer from, and if not, what is to be done about it?

Source: seed 002 §8.3.3: relevance, completeness and factuality; from 0.8 on it passes, from 0.5 on the search is tuned,
below that another way is tried; its table of signs and remedies is `diagnose` and `REMEDIES`. At least MIN_DOCS good
documents (§2.6.2, minDocNeed). Shinn et al., Reflexion, 2023, arXiv:2303.11366.

By a model's numbers; without one, relevance is the estimate, completeness and factuality are read from the words. After
a retry what it newly found is judged beside the best of what was there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from datetime import date
from statistics import fmean
from typing import Literal

from ragsite.core.wording import Sentence, worded
from retrieval.answerability import Estimate
from retrieval.errors import ModelOutputError
from retrieval.steps.judge.assessment import Assessment, Evidence
from retrieval.steps.judge.evaluator import YES_SCORE, Evaluator, check_score, estimate_of, rank, scores_by_chunk
from retrieval.steps.query.route import years_in
from retrieval.steps.schemas import TOP_SCORE, EvidenceReflection, Verdict, reflection_of
from retrieval.text.quoting import one_line
from retrieval.text.term_coverage import coverage, full_text, strong_terms, term_weights, terms_of
from retrieval.trace import StepRecord
from retrieval.values import ScoredChunk
from retrieval.workflows.planned.question_profile import asks_about_today

Outcome = Literal["pass", "tune", "retry"]
Problem = Literal["absent", "outdated", "unclear", "low_relevance", "incomplete", "badly_ordered"]
Remedy = Literal["web", "switch", "reword", "widen", "more_queries", "rerank"]
OUTCOMES: dict[Outcome, Sentence] = {"pass": worded("pass"), "tune": worded("tune"), "retry": worded("retry")}
REMEDY_WORDS: dict[Remedy, Sentence] = {
    "web": worded("web"), "switch": worded("switch"), "reword": worded("reword"), "widen": worded("widen"),
    "more_queries": worded("more queries"), "rerank": worded("rerank"),
}  # fmt: skip
PASS_SCORE = 0.8  # a reflection at or above it: answer
RETRY_SCORE = 0.5  # below it another way is tried; between the two the search is tuned
RELEVANCE_WEIGHT, COMPLETENESS_WEIGHT, FACTUALITY_WEIGHT = 0.5, 0.3, 0.2  # of the reflection's score
LOW_AVERAGE = 0.5  # average score of the passages below it: reword, more candidates
LOW_COVERAGE = 0.6  # completeness below it: search wider, more queries
ABSENT_SCORE = 0.3  # all passages below it: the documents do not hold it, so the web is searched
MAX_AGE_YEARS = 3  # a question about today's state whose newest passage is older is outdated
MIN_DOCS = 1  # documents with a passage at GOOD_DOCUMENT or above that a result needs to pass
GOOD_DOCUMENT = 0.5  # P(the passage answers)
MOST_SHOWN = 10  # passages that a model is shown in one call
BESIDE = 3  # of the best passages of the last reflection that are judged again beside what is new
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

    relevance: float
    completeness: float
    factuality: float
    outcome: Outcome
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings(Evidence):
    """`parts`: what the plan searched for, where that is several things. `judged`: a judgement of the plan's own; where
    it saw all passages, no model is asked anew. `before`: the last reflection: its best passages stand beside."""

    parts: Sequence[str] = ()
    judged: Assessment | None = None
    before: Reflection | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """All 0..1; `grades`: of the passages, in their order. verdict: a model's word, REFINE where it gave none."""

    grades: Sequence[float]
    relevance: float
    completeness: float
    factuality: float
    verdict: Verdict = "REFINE"


class Reflect(Evaluator[Findings, Reflection]):
    """Never raises a ModelError."""

    name = "reflect"

    async def act(self, given: Findings, entry: StepRecord) -> Reflection:
        before = given.before
        known = {candidate.chunk_id for candidate in before.candidates} if before else set()
        new = [passage for passage in given.passages if passage.chunk_id not in known]
        if before and not new:
            reflection = before
            entry.detail["not_asked"] = worded("nothing new was found")
        else:
            reflection = await self._judged(given, new, entry)
        entry.detail |= {
            "of": "retrieval",
            "relevance": round(reflection.relevance, 3),
            "completeness": round(reflection.completeness, 3),
            "factuality": round(reflection.factuality, 3),
            "score": round(reflection.score, 3),
            "outcome": reflection.outcome,
            "problems": list(reflection.problems),
            "by_model": reflection.by_model,
            "new": len(new),
            "scores": scores_by_chunk(reflection.candidates),
        }
        entry.summary = worded(
            "{outcome}: {score:.2f} ({reason})",
            outcome=OUTCOMES[reflection.outcome],
            score=reflection.score,
            reason=reflection.reason,
        )
        return reflection

    async def _judged(self, given: Findings, new: Sequence[ScoredChunk], entry: StepRecord) -> Reflection:
        """All candidates, each once, in the order of their grades; those that no model was shown stay behind."""
        before = given.before.candidates if given.before else ()
        shown = (*new[: MOST_SHOWN - len(before[:BESIDE])], *before[:BESIDE])
        beyond = [passage for passage in (*new, *before) if passage not in shown]
        estimate = await estimate_of(given.question, shown, semantic=given.semantic)
        scores = await asyncio.to_thread(_without_model, given, (*shown, *beyond), estimate)
        if (
            given.judged
            and given.judged.by_model
            and {one.chunk_id for one in given.judged.candidates} >= {one.chunk_id for one in shown}
        ):
            scores = replace(scores, relevance=given.judged.score, verdict=given.judged.verdict)
        elif shown and (reply := await self.ask(entry, self._ask(given, shown), use_model=given.use_model)):
            grades = [score / TOP_SCORE for score in reply.scores]
            scores = Scores(
                grades=grades,
                relevance=max(grades),
                completeness=reply.completeness / TOP_SCORE,
                factuality=reply.factuality / TOP_SCORE,
                verdict="ANSWER" if max(reply.scores) >= YES_SCORE else "NO_ANSWER",
            )
        ranked = rank(shown[: len(scores.grades)], scores.grades)  # the others did not fit
        return _weighed(given, (*ranked, *shown[len(scores.grades) :], *beyond), scores)

    async def _ask(self, given: Findings, passages: Sequence[ScoredChunk]) -> EvidenceReflection:
        shown = await self.shown(passages)
        reply = await self.complete(
            "reflect",
            reflection_of(shown.count),
            passages=shown.text,
            question=one_line(given.question),
            parts="\n".join(f"- {one_line(part)}" for part in given.parts) or "-",
            count=shown.count,
        )
        if len(reply.scores) != shown.count:
            raise ModelOutputError(
                worded("the model scored {given} of {scores} passages", given=len(reply.scores), scores=shown.count)
            )
        check_score(*reply.scores, reply.completeness, reply.factuality)
        return reply


def _weighed(given: Findings, candidates: tuple[ScoredChunk, ...], scores: Scores) -> Reflection:
    """The three scores as one, the outcome, and what is wrong. A yes of an earlier reflection stands."""
    good = {one.document_id for one in candidates if (one.scores.rerank or 0.0) >= GOOD_DOCUMENT}
    score, outcome = outcome_of(scores, good_documents=len(good))
    reason = worded(
        "relevance {relevance:.2f}, completeness {completeness:.2f}, factuality {factuality:.2f}",
        relevance=scores.relevance,
        completeness=scores.completeness,
        factuality=scores.factuality,
    )
    if len(good) < MIN_DOCS:
        reason += worded(", {good} of {wanted} good documents", good=len(good), wanted=MIN_DOCS)
    stands = given.before is not None and given.before.verdict == "ANSWER"
    return Reflection(
        verdict="ANSWER" if stands else scores.verdict,
        candidates=candidates,
        reason=reason,
        relevance=scores.relevance,
        completeness=scores.completeness,
        factuality=scores.factuality,
        score=score,
        outcome=outcome,
        problems=() if outcome == "pass" else diagnose(given.question, candidates, scores),
    )


def weighted(relevance: float, completeness: float, factuality: float) -> float:
    """One score of the three, 0..1, by their weights."""
    return RELEVANCE_WEIGHT * relevance + COMPLETENESS_WEIGHT * completeness + FACTUALITY_WEIGHT * factuality


def outcome_of(scores: Scores, *, good_documents: int) -> tuple[float, Outcome]:
    """The three scores as one, 0..1, and what follows. Irrelevant passages lower the whole score: being complete and
    true about another subject does not help."""
    score = weighted(scores.relevance, scores.completeness, scores.factuality)
    if scores.relevance < ABSENT_SCORE:
        score = min(score, scores.relevance)
    outcome: Outcome = "pass" if score >= PASS_SCORE else "tune" if score >= RETRY_SCORE else "retry"
    return score, "tune" if outcome == "pass" and good_documents < MIN_DOCS else outcome


def diagnose(question: str, passages: Sequence[ScoredChunk], scores: Scores) -> tuple[Problem, ...]:
    """The seed's table of signs, in the order of `REMEDIES`; where none of them shows, what the lowest of the three
    scores stands for. `passages`: all, best first; `scores.grades` are of the newly found, as they were found."""
    best, found = [passage.scores.rerank or 0.0 for passage in passages[:FIRST]], scores.grades[:FIRST]
    signs: dict[Problem, bool] = {
        "absent": all(score < ABSENT_SCORE for score in best),
        "outdated": is_outdated(question, passages, MAX_AGE_YEARS),
        "unclear": False,  # only an answer shows that
        "low_relevance": bool(best) and fmean(best) < LOW_AVERAGE,
        "incomplete": scores.completeness < LOW_COVERAGE,
        "badly_ordered": bool(found) and found[0] < LOW_AVERAGE <= max(found),
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
    that the passages hold; 1 where it names none. `passages`: all of them, those judged before included."""
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
