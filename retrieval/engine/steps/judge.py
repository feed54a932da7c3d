"""Judge: do the passages answer the question, differently for different readings, or not? One short model call.

The fast model is shown the passages in the form and order in which the writing model is given them, and replies with
the numbers of those that answer, and a verdict, about 20 tokens. Only a model's word refuses or asks back; without one
the verdict is REFINE: nobody has judged. `evaluate` is the evaluator of `react`; `grade` gives one independent verdict
for every document, all of them side by side. `rerank` orders the passages by the scores of a cross-encoder, where one
is configured, else of a model; nothing else scores them.
Sources: seed 003 §2.5 and §2.6; seed 002 (TopN and MinScore); Yan et al., Corrective RAG, 2024, arXiv:2401.15884; seed
004, tool 3 and node 4; seed 000, node 2 (is_relevant, confidence, reasoning).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from ragsite.core.messages import counted
from retrieval.engine.errors import ModelOutputError
from retrieval.engine.providers import rerank_http
from retrieval.engine.providers.chat import exactly, limited, shaped
from retrieval.engine.providers.rerank_http import HttpReranker
from retrieval.engine.steps.retrieve import fit
from retrieval.engine.steps.step import Deadline, Deps, step, try_call
from retrieval.engine.text.quoting import label, one_line, quote_source
from retrieval.engine.trace import note, path_text, queue_model_call, reason_text, skip
from retrieval.engine.values import Question, ScoredChunk

# ------------------------------------------------------------------------------------------------ judge
BOOST_SHARE = 0.5  # exponent of what ratings gave a candidate: how far it counts on after reranking; 0: not at all
YES_SCORE = 6  # of TOP_SCORE, from which a model's score means yes
FRAME_TOKENS = 1000  # of a judge's prompt, for all that is no passage
CROSS_ENCODER_CHARS = 2000  # of each passage that it is sent; it reads some 500 tokens
MISSING_CHARS = 300
ASKS_CHARS = 200
TOP_SCORE = 10  # of the whole numbers, from 0, that a model scores with
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
Verdict = Literal["ANSWER", "CLARIFY", "NO_ANSWER", "REFINE"]
JudgedAs = Literal["answer", "no_answer", "ask_back"]
AssessmentCode = Literal[
    "nothing_found", "not_judged", "judged_no", "judged_unclear", "judged_yes", "enough_good", "too_few_good"
]
Score = Annotated[int, limited(minimum=0, maximum=TOP_SCORE)]
ClarifyingQuestion = Annotated[str, limited(maxLength=ASKS_CHARS)]  # in the question's language
SearchWords = Annotated[str, limited(maxLength=60)]  # for what is missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What was found, and what is said of it. `candidates`: the passages, in the order in which they were judged.

    verdict: ANSWER, NO_ANSWER and CLARIFY are a model's word; REFINE: no model has said anything. `named`: the passages
    that it says to answer; of CLARIFY, one for each thing that the question may be about. `missing`: search words.
    asks: of CLARIFY, the model's own question back; empty where it gave none.
    """

    verdict: Verdict
    candidates: tuple[ScoredChunk, ...] = ()
    reason: str = ""
    missing: str = ""
    named: tuple[ScoredChunk, ...] = ()
    asks: str = ""

    @property
    def refused(self) -> bool:
        """A model has looked and said that the passages do not answer."""
        return self.verdict == "NO_ANSWER"


# ------------------------------------------------------------------------------------------------ what judges share
def judging_is_on(question: Question) -> bool:
    """Whether a model may be asked about passages and answers, unless the request says no."""
    return question.options.judge is not False


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
class RerankScores(BaseModel):
    """How well each passage answers, in the passages' order."""

    scores: list[Score]


def reranking_is_on(deps: Deps, question: Question, *, by_default: bool = False) -> bool:
    """As the request says, else the setting; where neither does, with a cross-encoder, or `by_default`."""
    for choice in (question.options.rerank, deps.settings.rerank.enabled):
        if choice is not None:
            return choice
    return by_default or deps.reranker is not None


async def rerank(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk], *, by_default: bool = False
) -> tuple[ScoredChunk, ...]:
    """The first `max_candidates` in the order of a cross-encoder, where one is configured, else of a model's scores,
    then the others; without those that `min_score` and `top_n` leave out.

    As they came where reranking is not wanted or failed. by_default: the workflow wants it where nobody has said.
    """
    if not passages or not reranking_is_on(deps, question, by_default=by_default):
        return tuple(passages)
    if deps.reranker is None:
        return await _rerank_by_model(deps, question, passages)
    return await _rerank_by_cross_encoder(deps, question, passages, reranker=deps.reranker)


def _as_found(deps: Deps, question: Question, passages: Sequence[ScoredChunk], **_: Any) -> tuple[ScoredChunk, ...]:
    return tuple(passages)


@step("rerank", fallback=_as_found, timeout_s=rerank_http.TIMEOUT_S)
async def _rerank_by_cross_encoder(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk], *, reranker: HttpReranker
) -> tuple[ScoredChunk, ...]:
    first = passages[: deps.settings.rerank.max_candidates]
    texts = [f"{label(passage.chunk)}\n{passage.chunk.text[:CROSS_ENCODER_CHARS]}" for passage in first]
    scores = await reranker.rerank(question.standalone, texts)
    return _reranked(deps, question, passages, scores, by=reranker.name)


@step("rerank", fallback=_as_found, optional=True)
async def _rerank_by_model(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> tuple[ScoredChunk, ...]:
    """In one call, of as many snippets as fit its prompt."""
    settings = deps.settings.rerank
    snippets = [
        replace(passage, chunk=replace(passage.chunk, text=passage.chunk.text[: settings.snippet_length]))
        for passage in passages[: settings.max_candidates]
    ]
    shown = await quoted(deps, snippets)
    reply = await deps.complete(
        "rerank",
        exactly(RerankScores, "scores", len(shown)),
        passages="\n\n".join(shown),
        question=one_line(question.standalone),
        count=len(shown),
    )
    if len(reply.scores) != len(shown):
        raise ModelOutputError("wrong_number_of_scores")
    check_score(*reply.scores)
    model = await deps.models.chat("fast")
    return _reranked(deps, question, passages, [score / TOP_SCORE for score in reply.scores], by=model.name)


def _reranked(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk], scores: Sequence[float], *, by: str
) -> tuple[ScoredChunk, ...]:
    """scores: of the first so many passages."""
    options = question.options
    settings = deps.settings.rerank
    least = settings.min_score if options.min_score is None else options.min_score
    most = options.top_n or settings.top_n or len(passages)
    ranked = rank(passages[: len(scores)], scores)
    reaching = [passage for passage in ranked if (passage.scores.rerank or 0.0) >= least]
    chosen = (*(reaching or ranked[:1]), *(passages[len(scores) :] if not least else ()))[:most]
    left_out = len(passages) - len(chosen)
    note(
        "reranked_below" if not reaching else "reranked_fewer" if left_out else "reranked",
        reranker=by,
        scores=scores_by_chunk(ranked),
        best=ranked[0].scores.rerank or 0.0,
        title=ranked[0].chunk.title,
        min_score=least,
        left_out=left_out,
    )
    return chosen


# ------------------------------------------------------------------------------------------------ judge
def not_judged(deps: Deps, question: Question, passages: Sequence[ScoredChunk], **_: Any) -> Assessment:
    """No model's word: nothing is refused."""
    return assessed("not_judged" if passages else "nothing_found", "REFINE", passages)


@step("assess", fallback=not_judged)
async def judge(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> Assessment:
    if not passages or not judging_is_on(question):
        return not_judged(deps, question, passages)
    if deps.settings.rerank.evaluator == "eight_criteria":
        return await _judge_by_criteria(deps, question, passages)
    reply = await _judgement(deps, question, passages)
    named = tuple(passages[number - 1] for number in dict.fromkeys(reply.relevant_passages))
    if reply.verdict == "no_answer":
        return assessed("judged_no", "NO_ANSWER", passages)
    first_of_each = {passage.document_id: passage for passage in reversed(named)}
    readings = tuple(passage for passage in named if passage in first_of_each.values())
    if reply.verdict == "ask_back" and len(readings) > 1:  # one document alone leaves nothing to choose
        return assessed("judged_unclear", "CLARIFY", passages, named=readings, asks=reply.clarifying_question)
    return assessed("judged_yes", "ANSWER", passages, named=named)


class SufficiencyVerdict(BaseModel):
    verdict: Literal["SUFFICIENT", "INSUFFICIENT"]
    missing: SearchWords = ""


@step("assess", fallback=not_judged)
async def evaluate(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> Assessment:
    """ANSWER stands for sufficient, NO_ANSWER for insufficient."""
    if not passages or not judging_is_on(question):
        return not_judged(deps, question, passages)
    shown = "\n\n".join(await quoted(deps, passages))
    question_line = one_line(question.standalone)
    reply = await deps.judge("sufficiency", SufficiencyVerdict, passages=shown, question=question_line)
    if reply.verdict == "SUFFICIENT":
        assessment = assessed("judged_yes", "ANSWER", passages)
    else:
        missing = one_line(reply.missing)[:MISSING_CHARS]
        assessment = assessed("judged_no", "NO_ANSWER", passages, missing=missing)
    await deps.trace.announce("relevance_evaluator", assessment.reason)
    return assessment


def assessed(
    code: AssessmentCode,
    verdict: Verdict,
    passages: Sequence[ScoredChunk],
    *,
    named: tuple[ScoredChunk, ...] = (),
    missing: str = "",
    asks: str = "",
    **detail: Any,
) -> Assessment:
    """An assessment, and its entry in the decision path."""
    note(
        code,
        verdict=verdict,
        by_model=verdict != "REFINE",
        named=[passage.chunk_id for passage in named],
        missing=missing,
        **detail,
    )
    reason = path_text(code, detail)
    return Assessment(
        verdict=verdict,
        candidates=tuple(passages),
        reason=reason,
        missing=missing,
        named=named,
        asks=one_line(asks)[:ASKS_CHARS],
    )


class RetrievalJudgement(BaseModel):
    """The passages are named before the verdict, so that a small model looks for one before it says whether there is
    one."""

    relevant_passages: list[int]
    verdict: JudgedAs
    clarifying_question: ClarifyingQuestion = ""


class PassageCriteria(BaseModel):
    """The scores of the eight criteria in their order."""

    passage: int
    criteria: list[Score] = Field(
        min_length=1, json_schema_extra={"minItems": len(CRITERIA), "maxItems": len(CRITERIA)}
    )


class CriteriaJudgement(BaseModel):
    passages: list[PassageCriteria]
    verdict: JudgedAs
    clarifying_question: ClarifyingQuestion = ""


async def _judgement(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> RetrievalJudgement:
    """Raises ModelError, also for what is no judgement."""
    shown = await quoted(deps, passages)
    count = len(shown)
    number = {"type": "integer", "minimum": 1, "maximum": count}
    schema = shaped(RetrievalJudgement, relevant_passages={"maxItems": count, "items": number})
    question_line = one_line(question.standalone)
    reply = await deps.judge("judge", schema, passages="\n\n".join(shown), question=question_line, count=count)
    check_numbers(reply.relevant_passages, count)
    return reply


def check_numbers(numbers: Sequence[int], count: int) -> None:
    """Raises ModelOutputError for a passage that the model was not shown."""
    if not all(1 <= number <= count for number in numbers):
        raise ModelOutputError("passage_out_of_range")


# ------------------------------------------------------------------------------------------------ eight criteria
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
        return tuple(one for one in self.passages if (one.scores.rerank or 0.0) >= YES_SCORE / TOP_SCORE)


def _as_they_came(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> CriteriaScores:
    return CriteriaScores(passages=tuple(passages))


@step("rerank", fallback=_as_they_came)
async def score_by_criteria(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> CriteriaScores:
    """The passages in the order of a model's judgement by the eight criteria (seed 002, LLMEvaluatorPrompt)."""
    if not passages or not judging_is_on(question):
        skip("switched_off" if passages else "nothing_found")
        return _as_they_came(deps, question, passages)
    scored = await _by_criteria(deps, question, passages)
    best = scored.passages[0]
    note(
        "reranked",
        reranker="eight_criteria",
        scores=scores_by_chunk(scored.passages),
        best=best.scores.rerank or 0.0,
        title=best.chunk.title,
    )
    return scored


async def _by_criteria(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> CriteriaScores:
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
    check_score(*(number for entry in reply.passages for number in entry.criteria))
    means = {entry.passage: fmean(entry.criteria) / TOP_SCORE for entry in reply.passages}
    scored = [passages[number - 1] for number in means]
    others = [passage for number, passage in enumerate(passages, start=1) if number not in means]
    ranked = rank(scored, list(means.values()))
    return CriteriaScores(passages=(*ranked, *others), verdict=reply.verdict, asks=reply.clarifying_question)


async def _judge_by_criteria(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> Assessment:
    """Yes where `min_docs` passages are good, and these are then all that is answered from (seed 002, CRAG light).
    Raises ModelError."""
    scored = await _by_criteria(deps, question, passages)
    good = scored.good
    least = deps.settings.rerank.min_docs
    scores = scores_by_chunk([passage for passage in scored.passages if passage.scores.rerank is not None])
    readings = tuple({passage.document_id: passage for passage in reversed(good)}.values())[::-1]
    if scored.verdict == "ask_back" and len(readings) > 1:
        return assessed("judged_unclear", "CLARIFY", scored.passages, named=readings, asks=scored.asks, scores=scores)
    code: AssessmentCode = "enough_good" if len(good) >= least else "too_few_good"
    verdict: Verdict = "ANSWER" if len(good) >= least else "NO_ANSWER"
    candidates = good if verdict == "ANSWER" else scored.passages
    return assessed(code, verdict, candidates, named=good, scores=scores, good=len(good), min_docs=least)


# ------------------------------------------------------------------------------------------------ grade
GRADING_TIMEOUT_S = 60.0  # all documents of one search together
MAX_REASON_CHARS = 200  # of a grade
EXCERPT_CHARS = 2000  # of a graded document, kept in the decision path


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentGrade:
    """`confidence`: in this verdict, 0..1. reason: the model's, in the question's language. by_model: a model gave it;
    else nobody did, and the document stays."""

    relevant: bool
    confidence: float
    reason: str = ""
    by_model: bool = False

    @property
    def score(self) -> float:
        """P(relevant), 0..1: at least 0.5 for every relevant document, less for every other."""
        return 0.5 + self.confidence / 2 if self.relevant else min(0.5 - self.confidence / 2, 0.499)


NOT_GRADED = DocumentGrade(relevant=True, confidence=0.0, reason=reason_text("not_graded"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """`documents`: those that passed by a model's word, best first, with their score in `scores.rerank`; then those
    that nobody graded and those that failed, as found. `grades`: by `grade_key`, earlier rounds' included."""

    documents: tuple[ScoredChunk, ...] = ()
    grades: Mapping[str, DocumentGrade] = field(default_factory=dict)

    @property
    def passed(self) -> tuple[ScoredChunk, ...]:
        return tuple(document for document in self.documents if self.grade_of(document).relevant)

    @property
    def by_model(self) -> bool:
        """Whether a model gave any of the grades, those of earlier searches included."""
        return any(grade.by_model for grade in self.grades.values())

    @property
    def pass_rate(self) -> float:
        """Share of the documents that are relevant, 0..1; 0 where nothing was found."""
        return len(self.passed) / len(self.documents) if self.documents else 0.0

    def grade_of(self, document: ScoredChunk) -> DocumentGrade:
        return self.grades[grade_key(document)]


def grade_key(document: ScoredChunk) -> str:
    """A passage that was merged of other neighbours than before is another text, so it gets a grade of its own."""
    chunk = document.chunk
    return f"{chunk.chunk_id}:{chunk.char_start}-{chunk.char_end}"


@step("grade")
async def grade(
    deps: Deps, question: Question, documents: Sequence[ScoredChunk], *, known: Mapping[str, DocumentGrade]
) -> Graded:
    """A grade for every document. known: grades of earlier rounds for the same question; they stand."""
    if not documents:
        skip("nothing_found")
        return Graded(grades=known)
    fresh = [document for document in documents if grade_key(document) not in known]
    grades = dict(known)
    if fresh and judging_is_on(question):
        grades |= await _by_model(deps, question.standalone, fresh)
    grades = {grade_key(document): NOT_GRADED for document in fresh} | grades
    graded = Graded(documents=_in_order(documents, grades), grades=grades)
    note(
        "graded",
        pass_rate=round(graded.pass_rate, 3),
        pass_count=len(graded.passed),
        total_count=len(documents),
        graded_before=len(documents) - len(fresh),
        documents=[_row(document, graded, known) for document in graded.documents],
    )
    return graded


class DocumentVerdict(BaseModel):
    """Whether one document holds information that the answer needs, how sure this judgement is, and why."""

    is_relevant: bool
    confidence: Score
    reasoning: Annotated[str, limited(maxLength=MAX_REASON_CHARS)] = ""


async def _by_model(deps: Deps, text: str, documents: Sequence[ScoredChunk]) -> dict[str, DocumentGrade]:
    """Grade key → grade, of those documents of which the model says something; the entry tells why not of the others.

    At most `ollama.max_concurrency` calls at once, each with its time limit, all together within `TIMEOUT_S`.
    """
    count = len(documents)
    line = counted("grading {count} documents, each by itself", "grading {count} documents, each by itself", count)
    await deps.trace.announce("grade", line)
    slots = asyncio.Semaphore(deps.settings.ollama.max_concurrency)
    deadline = Deadline(deps.deadline.limit(GRADING_TIMEOUT_S))

    async def verdict_of(document: ScoredChunk) -> DocumentVerdict:
        (passage,) = await quoted(deps, [document])
        verdict = await deps.judge("grade", DocumentVerdict, passages=passage, question=one_line(text))
        check_score(verdict.confidence)
        return verdict

    async def ask(document: ScoredChunk) -> DocumentVerdict | None:
        queue_model_call()  # to wait for a slot is not to wait for another call's answer
        async with slots:
            limit_s = deadline.limit(deps.settings.ollama.structured_timeout_s)
            return await try_call(deps, verdict_of(document), timeout_s=limit_s)

    verdicts = await asyncio.gather(*map(ask, documents))
    return {
        grade_key(document): DocumentGrade(
            relevant=verdict.is_relevant,
            confidence=verdict.confidence / TOP_SCORE,
            reason=_reason(verdict),
            by_model=True,
        )
        for document, verdict in zip(documents, verdicts, strict=True)
        if verdict is not None
    }


def _reason(verdict: DocumentVerdict) -> str:
    """The model's own, in one line; the verdict's sentence where it gave none."""
    own = one_line(verdict.reasoning)[:MAX_REASON_CHARS].strip()
    return own or reason_text("model_says_relevant" if verdict.is_relevant else "model_says_not_relevant")


def _in_order(documents: Sequence[ScoredChunk], grades: Mapping[str, DocumentGrade]) -> tuple[ScoredChunk, ...]:
    """The confidence of a rejection does not tell how near a document comes, so those that failed stay as found."""
    graded = [(document, grades[grade_key(document)]) for document in documents]
    chosen = [(document, grade.score) for document, grade in graded if grade.relevant and grade.by_model]
    others = [document for document, grade in graded if grade.relevant and not grade.by_model]
    failed = [document for document, grade in graded if not grade.relevant]
    return (*rank([document for document, _ in chosen], [score for _, score in chosen]), *others, *failed)


def _row(document: ScoredChunk, graded: Graded, known: Mapping[str, DocumentGrade]) -> dict[str, Any]:
    chunk = document.chunk
    grade = graded.grade_of(document)
    return {
        "chunk_id": chunk.chunk_id,
        "document_id": chunk.document_id,
        "title": chunk.title,
        "file_name": chunk.file_name,
        "page": chunk.page,
        "heading": chunk.heading,
        "text": chunk.text[:EXCERPT_CHARS],
        "relevant": grade.relevant,
        "confidence": round(grade.confidence, 3),
        "reason": grade.reason,
        "by_model": grade.by_model,
        "graded_before": grade_key(document) in known,
        "scores": document.scores.as_dict(),
    }
