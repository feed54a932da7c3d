"""The eight criteria: a model scores each passage by all of them; their mean is its score.

Sources: seed 002, LLMEvaluatorPrompt and CRAG light.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from pydantic import BaseModel, Field

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import AssessDetails, RerankDetails
from retrieval.engine.providers.reply_form import exactly
from retrieval.engine.steps.judge.assessment import (
    Assessment,
    ClarifyingQuestion,
    JudgedAs,
    assessed,
    first_of_each_document,
)
from retrieval.engine.steps.judge.scores import (
    TOP_SCORE,
    YES_SCORE,
    Score,
    check_numbers,
    check_score,
    judging_is_on,
    quoted,
    rank,
    scores_by_chunk,
)
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import one_line
from retrieval.engine.trace import note, skip
from retrieval.engine.values import Question, ScoredChunk

CRITERIA = (
    "topical_alignment",
    "intent_alignment",
    "key_entity_match",
    "direct_answerability",
    "coverage_depth",
    "specificity_to_query",
    "temporal_fit",
    "language_terminology_alignment",
)


class PassageCriteria(BaseModel):
    """The scores of the eight criteria in their order."""

    passage: int
    criteria: list[Score] = Field(
        min_length=1,
        json_schema_extra={"minItems": len(CRITERIA), "maxItems": len(CRITERIA)},
    )


class CriteriaJudgement(BaseModel):
    passages: list[PassageCriteria]
    verdict: JudgedAs
    clarifying_question: ClarifyingQuestion = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CriteriaScores:
    """`passages`: those that were scored, best first, the mean of their criteria, 0..1, in `scores.rerank`; then the
    others as they came. verdict: the model's."""

    passages: tuple[ScoredChunk, ...]
    verdict: JudgedAs = "answer"
    asks: str = ""

    @property
    def good(self) -> tuple[ScoredChunk, ...]:
        """Those whose mean reaches YES_SCORE."""
        return tuple(
            one for one in self.passages if (one.scores.rerank or 0.0) >= YES_SCORE / TOP_SCORE
        )


def _as_they_came(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk]
) -> CriteriaScores:
    return CriteriaScores(passages=tuple(passages))


@step("rerank", fallback=_as_they_came)
async def score_by_criteria(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk]
) -> CriteriaScores:
    """The passages in the order of a model's judgement by the eight criteria (seed 002, LLMEvaluatorPrompt)."""
    if not passages or not judging_is_on(question):
        skip("switched_off" if passages else "nothing_found")
        return _as_they_came(deps, question, passages)
    scored = await scores_by_criteria(deps, question, passages)
    best = scored.passages[0]
    details = RerankDetails(
        reranker="eight_criteria",
        scores=scores_by_chunk(scored.passages),
        best=best.scores.rerank or 0.0,
        title=best.chunk.title,
    )
    note("reranked", details)
    return scored


async def scores_by_criteria(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk]
) -> CriteriaScores:
    """Raises ModelError, also for what is no judgement."""
    shown = await quoted(deps, passages)
    reply = await deps.judge(
        "judge_criteria",
        exactly(CriteriaJudgement, "passages", len(shown)),
        passages="\n\n".join(shown),
        question=one_line(question.standalone),
        count=len(shown),
    )
    check_numbers([entry.passage for entry in reply.passages], len(shown))
    means: dict[int, float] = {}
    for entry in reply.passages:
        check_score(*entry.criteria)
        means[entry.passage] = fmean(entry.criteria) / TOP_SCORE
    scored = [passages[number - 1] for number in means]
    others: list[ScoredChunk] = []
    for number, passage in enumerate(passages, start=1):
        if number not in means:
            others.append(passage)
    ranked = rank(scored, list(means.values()))
    return CriteriaScores(
        passages=(*ranked, *others),
        verdict=reply.verdict,
        asks=reply.clarifying_question,
    )


async def judge_by_criteria(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk]
) -> Assessment:
    """Yes where `min_docs` passages are good, and these are then all that is answered from (seed 002, CRAG light).
    Raises ModelError."""
    scored = await scores_by_criteria(deps, question, passages)
    good = scored.good
    least = deps.settings.rerank.min_docs
    with_score = [passage for passage in scored.passages if passage.scores.rerank is not None]
    scores = scores_by_chunk(with_score)
    readings = first_of_each_document(good)
    if scored.verdict == "ask_back" and len(readings) > 1:
        return assessed(
            "judged_unclear",
            "CLARIFY",
            scored.passages,
            named=readings,
            asks=scored.asks,
            details=AssessDetails(scores=scores),
        )
    details = AssessDetails(scores=scores, good=len(good), min_docs=least)
    if len(good) >= least:
        return assessed("enough_good", "ANSWER", good, named=good, details=details)
    return assessed("too_few_good", "NO_ANSWER", scored.passages, named=good, details=details)
