"""Judge: do the passages answer the question, differently for different readings, or not? One short model call.

The fast model is shown the passages in the form and order in which the writing model is given them, and replies with
the numbers of those that answer, and a verdict, about 20 tokens. Only a model's word refuses or asks back; without one
the verdict is REFINE, and the score is the estimate's. `evaluate` is the evaluator of `react`.
Sources: seed 003 §2.5 and §2.6; Yan et al., Corrective RAG, 2024, arXiv:2401.15884; seed 004, tool 3 and node 4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from retrieval.errors import ModelOutputError
from retrieval.path_texts import path_text
from retrieval.providers import rerank_http
from retrieval.providers.reply_schema import exactly, limited, shaped
from retrieval.steps.estimate import estimate_answerability
from retrieval.steps.passages import fit
from retrieval.steps.step import Deps, step
from retrieval.text.quoting import label, one_line, quote_source
from retrieval.trace import note
from retrieval.values import Question, ScoredChunk

BOOST_SHARE = 0.5  # exponent of what ratings gave a candidate: how far it counts on after reranking; 0: not at all
YES_SCORE = 6  # of TOP_SCORE, from which a model's score means yes
FRAME_TOKENS = 1000  # of a judge's prompt, for all that is no passage
SNIPPET_CHARS = 2000  # of each passage that a cross-encoder is sent; it reads some 500 tokens
YES, NO = 0.9, 0.1  # P(the passages answer) that stands for a model's word
MISSING_CHARS = 300
TOP_SCORE = 10  # of the whole numbers, from 0, that a model scores with
CRITERIA = (
    "topical_alignment", "intent_alignment", "key_entity_match", "direct_answerability", "coverage_depth",
    "specificity_to_query", "temporal_fit", "language_terminology_alignment",
)  # fmt: skip
Verdict = Literal["ANSWER", "CLARIFY", "NO_ANSWER", "REFINE"]
JudgedAs = Literal["answer", "no_answer", "ask_back"]
Score = Annotated[int, limited(minimum=0, maximum=TOP_SCORE)]
SearchWords = Annotated[str, limited(maxLength=60)]  # for what is missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What was found, and what is said of it. `candidates`: the passages, in the order in which they were judged.

    verdict: ANSWER, NO_ANSWER and CLARIFY are a model's word; REFINE: no model has said anything. `named`: the passages
    that it says to answer; of CLARIFY, one for each thing that the question may be about. `missing`: search words.
    """

    verdict: Verdict
    candidates: tuple[ScoredChunk, ...] = ()
    reason: str = ""
    missing: str = ""
    named: tuple[ScoredChunk, ...] = ()

    @property
    def refused(self) -> bool:
        """A model has looked and said that the passages do not answer."""
        return self.verdict == "NO_ANSWER"


# ------------------------------------------------------------------------------------------------ what judges share
def reranking_is_on(deps: Deps, question: Question) -> bool:
    """Whether a model may be asked about passages: as the request says, else the settings."""
    asked = question.options.rerank
    return deps.settings.rerank.enabled if asked is None else asked


async def estimated(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> float:
    """P(the passages answer), 0..1, without a language model: a cross-encoder's best score, else the estimate's."""
    crossed = [passage.scores.rerank for passage in passages if passage.scores.rerank is not None]
    if crossed and deps.reranker:  # else the scores are of single documents, by their grades
        return max(crossed)
    return await asyncio.to_thread(
        estimate_answerability, question.standalone, passages, semantic=question.scope.semantic
    )


async def quoted(deps: Deps, passages: Sequence[ScoredChunk]) -> list[str]:
    """As many as fit, best first, in the form that the writing model reads: a server that has read them once need not
    read them again. Raises ModelError."""
    model = await deps.models.chat("fast")
    fitting = fit(passages, tokens=model.prompt_budget - FRAME_TOKENS)
    return [quote_source(number, passage.chunk) for number, passage in enumerate(fitting, start=1)]


def rank(passages: Sequence[ScoredChunk], scores: Sequence[float]) -> tuple[ScoredChunk, ...]:
    """By score × boost^BOOST_SHARE; equal ones stay in the order that retrieval and ratings gave them.

    A judge reads the text anew and knows nothing of what users rated, so a part of their boost counts on. It moves
    passages, not verdicts: `rerank` stays the judge's own score.
    """
    ranked = []
    for passage, score in zip(passages, scores, strict=True):
        final = score * (passage.scores.boost or 1.0) ** BOOST_SHARE
        ranked.append(replace(passage, scores=replace(passage.scores, rerank=score, final=final)))
    return tuple(sorted(ranked, key=lambda passage: -round(passage.scores.final or 0.0, 2)))


def scores_by_chunk(passages: Sequence[ScoredChunk]) -> dict[str, float]:
    """Chunk id → score, for the decision path."""
    return {passage.chunk_id: round(passage.scores.rerank or 0.0, 3) for passage in passages}


def check_score(*numbers: float) -> None:
    """Raises ModelOutputError for a number outside 0 to TOP_SCORE."""
    if not all(0 <= number <= TOP_SCORE for number in numbers):
        raise ModelOutputError("score_out_of_range")


# ------------------------------------------------------------------------------------------------ rerank
def _as_found(deps: Deps, text: str, passages: Sequence[ScoredChunk]) -> tuple[ScoredChunk, ...]:
    return tuple(passages)


async def rerank(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> tuple[ScoredChunk, ...]:
    """In the order of a cross-encoder, where one is configured and reranking is wanted; else as they came."""
    if deps.reranker is None or not passages or not reranking_is_on(deps, question):
        return tuple(passages)
    return await _rerank(deps, question.standalone, passages[: deps.settings.rerank.max_candidates])


@step("rerank", fallback=_as_found, timeout_s=rerank_http.TIMEOUT_S)
async def _rerank(deps: Deps, text: str, passages: Sequence[ScoredChunk]) -> tuple[ScoredChunk, ...]:
    if deps.reranker is None:
        return tuple(passages)
    snippets = [f"{label(passage.chunk)}\n{passage.chunk.text[:SNIPPET_CHARS]}" for passage in passages]
    ranked = rank(passages, await deps.reranker.rerank(text, snippets))
    note(
        "reranked",
        reranker=deps.reranker.name,
        scores=scores_by_chunk(ranked),
        best=ranked[0].scores.rerank or 0.0,
        title=ranked[0].chunk.title,
    )
    return ranked


# ------------------------------------------------------------------------------------------------ judge
async def by_estimate(deps: Deps, question: Question, passages: Sequence[ScoredChunk], **_: Any) -> Assessment:
    """No model's word: nothing is refused."""
    if not passages:
        return assessed("nothing_found", "REFINE", ())
    score = await estimated(deps, question, passages)
    return assessed("judged_by_estimate", "REFINE", passages, score=score)


@step("assess", fallback=by_estimate)
async def judge(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> Assessment:
    if not passages or not reranking_is_on(deps, question):
        return await by_estimate(deps, question, passages)
    verdict, numbers = await _verdict(deps, question, passages)
    named = tuple(passages[number - 1] for number in dict.fromkeys(numbers))
    if verdict == "no_answer":
        return assessed("judged_no", "NO_ANSWER", passages, score=NO)
    first_of_each = {passage.document_id: passage for passage in reversed(named)}
    readings = tuple(passage for passage in named if passage in first_of_each.values())
    if verdict == "ask_back" and len(readings) > 1:  # one document alone leaves nothing to choose
        return assessed("judged_unclear", "CLARIFY", passages, named=readings, score=YES)
    return assessed("judged_yes", "ANSWER", passages, named=named, score=YES)


class SufficiencyVerdict(BaseModel):
    verdict: Literal["SUFFICIENT", "INSUFFICIENT"]
    missing: SearchWords = ""


@step("assess", fallback=by_estimate)
async def evaluate(deps: Deps, question: Question, passages: Sequence[ScoredChunk], *, most: int) -> Assessment:
    """ANSWER stands for sufficient, NO_ANSWER for insufficient. most: passages that the model is shown."""
    if not passages or not reranking_is_on(deps, question):
        return await by_estimate(deps, question, passages)
    shown = "\n\n".join(await quoted(deps, passages[:most]))
    question_line = one_line(question.standalone)
    reply = await deps.complete("sufficiency", SufficiencyVerdict, passages=shown, question=question_line)
    if reply.verdict == "SUFFICIENT":
        assessment = assessed("judged_yes", "ANSWER", passages, score=YES)
    else:
        missing = one_line(reply.missing)[:MISSING_CHARS]
        assessment = assessed("judged_no", "NO_ANSWER", passages, score=NO, missing=missing)
    await deps.trace.announce("relevance_evaluator", assessment.reason)
    return assessment


def assessed(
    code: Literal["nothing_found", "judged_by_estimate", "judged_no", "judged_unclear", "judged_yes"],
    verdict: Verdict,
    passages: Sequence[ScoredChunk],
    *,
    named: tuple[ScoredChunk, ...] = (),
    score: float = 0.0,
    missing: str = "",
) -> Assessment:
    """An assessment, and its entry in the decision path. score: P(the passages answer), 0..1."""
    note(
        code,
        verdict=verdict,
        score=round(score, 3),
        by_model=verdict != "REFINE",
        named=[passage.chunk_id for passage in named],
        missing=missing,
    )
    reason = path_text(code, {"score": score})
    return Assessment(verdict=verdict, candidates=tuple(passages), reason=reason, missing=missing, named=named)


class RetrievalJudgement(BaseModel):
    """The passages are named before the verdict, so that a small model looks for one before it says whether there is
    one."""

    relevant_passages: list[int]
    verdict: JudgedAs


class PassageCriteria(BaseModel):
    """The scores of the eight criteria in their order."""

    passage: int
    criteria: list[Score] = Field(
        min_length=1, json_schema_extra={"minItems": len(CRITERIA), "maxItems": len(CRITERIA)}
    )


class CriteriaJudgement(BaseModel):
    passages: list[PassageCriteria]
    verdict: JudgedAs


async def _verdict(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> tuple[JudgedAs, Sequence[int]]:
    """The verdict, and the numbers of the passages that answer. Raises ModelError, also for what is no judgement."""
    shown = await quoted(deps, passages)
    count, joined = len(shown), "\n\n".join(shown)
    asked, numbers = one_line(question.standalone), list[int]()
    if deps.settings.rerank.evaluator == "eight_criteria":
        by_criteria = await deps.complete(
            "judge_criteria",
            exactly(CriteriaJudgement, "passages", count),
            passages=joined,
            question=asked,
            count=count,
        )
        check_score(*(number for entry in by_criteria.passages for number in entry.criteria))
        verdict = by_criteria.verdict
        numbers = [entry.passage for entry in by_criteria.passages if fmean(entry.criteria) >= YES_SCORE]
    else:
        number = {"type": "integer", "minimum": 1, "maximum": count}
        schema = shaped(RetrievalJudgement, relevant_passages={"maxItems": count, "items": number})
        reply = await deps.complete("judge", schema, passages=joined, question=asked, count=count)
        verdict, numbers = reply.verdict, reply.relevant_passages
    if any(not 1 <= number <= count for number in numbers):
        raise ModelOutputError("passage_out_of_range")
    return verdict, numbers
