"""What all evaluators share: they say how good the evidence, or an answer, is for a question.

An evaluator of evidence works in four moves. Only the third differs from one to the other:

1. `estimate`: the trained model's answerability of each passage and of all of them together;
2. `blend`: a language model's reply, where its word could change the outcome; `ask_about` quotes the passages to it;
3. its own part: the prompt, the schema of the reply, and what the reply means;
4. `rank`: the order by the scores, with what ratings say.

Evaluators: `judge` (rerank and assess), `grade` (each document by itself), `sufficiency` (react), and of the workflows
`planned.reflect`, `planned.answer_check` and `dual_loop.answer_grade`.
Source: Yan et al., Corrective RAG, 2024, arXiv:2401.15884 (the retrieval evaluator).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

from ragsite.core.wording import worded
from retrieval.answerability import LIST_LENGTH, Estimate, estimate_answerability
from retrieval.ports import Schema
from retrieval.steps.judge import excerpts
from retrieval.steps.judge.blending import MOST_SURE, Judge, blend, why_not_to_ask
from retrieval.steps.query.question_parts import is_comparison, split_question
from retrieval.steps.schemas import Verdict
from retrieval.steps.step import Given, Result, Step
from retrieval.text.answer_language import Language
from retrieval.text.language import HAN_CHARACTER
from retrieval.text.quoting import one_line, quote_passage
from retrieval.text.snippet import best_window
from retrieval.trace import StepRecord
from retrieval.values import Answer, Clarification, JudgeRecord, ScoredChunk, StoredChunk

Reply = TypeVar("Reply")
REASON_CHARS = 300
SNIPPET_LENGTH = 500  # characters of each passage that the model reads
BOOST_SHARE = 0.5  # exponent of what ratings gave a candidate: how far it counts on after reranking; 0: not at all
EAGER = Judge(model="", record=JudgeRecord(yes_held=1e9, no_absent=1e9))  # whose word could change anything


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Passages to be judged, best first, for a self-contained `question`.

    listed, semantic: see `estimate_answerability`. use_model: whether a language model may be asked; not where that is
    switched off, or where no model round is left before the first token. insist: it is asked where the estimate is
    sure, too, because the request says so.
    """

    question: str
    passages: Sequence[ScoredChunk]
    listed: Sequence[ScoredChunk] = ()
    semantic: bool = True
    use_model: bool = True
    insist: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion(Generic[Reply]):
    """What came of asking a model. probability: the estimate, with the model's word where it gave one, 0..1.

    reply: None where none was given; then why_not says why, for people, unless the entry says it as degraded.
    """

    probability: float
    reply: Reply | None = None
    judge: Judge | None = None
    said: bool = False
    why_not: str = ""

    @property
    def shift(self) -> float:
        """What the word added to the log-odds; 0 where there is none."""
        if self.reply is None or self.judge is None:
            return 0.0
        return self.judge.weight_yes if self.said else -self.judge.weight_no

    @property
    def proven(self) -> bool:
        """Whether the word is that of a judge whom labels have shown to be right; see `Judge.proven`."""
        return self.reply is not None and self.judge is not None and self.judge.proven


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """How good the evidence is. `candidates`: reranked, best first.

    `scored_by_model`: the scores are a cross-encoder's. `by_model`: a model's word is in the verdict.
    """

    verdict: Verdict
    candidates: tuple[ScoredChunk, ...] = ()
    reason: str = ""
    missing: str = ""
    clarification: Clarification | None = None
    by_model: bool = False
    scored_by_model: bool = False
    refused: bool = False  # the model said no, the estimate bears it out, and nothing that answers was found after it
    contradictory: bool = False  # the model said so, and passages that are about as likely give different figures
    answerability: float = 0.0  # the trained model's P(the documents hold the answer), always
    likeliest: float = 0.0  # the trained model's for the likeliest passage
    shift: float = 0.0  # what a model's word added to the log-odds of `answerability`
    proven: bool = False  # labels have shown that this model's word can be relied on
    retrieval_score: float = 0.0  # what the verdict rests on, 0..1: both together, or a cross-encoder's best score

    @property
    def best(self) -> float:
        """The highest score, 0..1; ratings order the candidates too, so the first need not have it."""
        return best_score(self.candidates)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenAnswer:
    """An answer to be judged. `released`: the reader has it already. likely: P(its passages hold the answer), 0..1."""

    answer: Answer
    question: str
    released: bool = False
    likely: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAssessment:
    """How good an answer is. score: 0..1; None: not known. missing: search words for what it lacks.
    baseless: the passages do not support it, so it is better to say that there is no answer."""

    accepted: bool
    score: float | None = None
    missing: str = ""
    reason: str = ""
    baseless: bool = False


class Evaluator(Step[Given, Result]):
    """A step that judges. See the module's text for its parts.

    labelled: models' records are of this kind of judgement, as they are tried with it.
    """

    labelled: ClassVar[bool] = False

    async def estimate(
        self, evidence: Evidence, passages: Sequence[ScoredChunk], *, beside: Sequence[ScoredChunk] = ()
    ) -> Estimate:
        """The trained model's, for these passages of the evidence; `beside`: see `estimate_answerability`."""
        return await asyncio.to_thread(_estimate_by_kind, evidence, passages, beside)

    async def judge(self) -> Judge:
        """The fast model with its record, and the trust that its last words leave it. Raises ModelError."""
        model = (await self.tools.models.chat("fast")).name
        records = self.tools.judge_records
        record = await records.record(model) if records else JudgeRecord()
        trust = self.tools.judge_tally.trust(model, self.name, record, labelled=self.labelled)
        return Judge(model=model, record=record, trust=trust)

    async def ask_judge(
        self,
        entry: StepRecord,
        evidence: Evidence,
        probability: float,
        ask: Callable[[], Coroutine[Any, Any, Reply]],
        *,
        said: Callable[[Reply], bool],
        line: float | None = None,
        weigh: Callable[[], Coroutine[Any, Any, tuple[Reply, float]]] | None = None,
    ) -> Opinion[Reply]:
        """The model's reply where it is worth asking for, and the estimate blended with its word.

        probability: the estimate. `ask` makes the call; it raises ModelError, a ModelOutputError for a reply that is no
        judgement. `said` tells whether a reply means yes. line: the probability from which another thing is done, by
        default `good_score`. weigh: makes another call in its place where the server tells how probable words are; it
        gives P(yes), too, by which the word weighs. The entry's detail gets `judge` and `blended`, or `not_asked`; a
        call that fails degrades the entry, and the estimate stands. Never raises a ModelError.
        """
        unasked: Opinion[Reply] = Opinion(probability=probability)
        band = self.settings.corrective
        line = band.good_score if line is None else line

        async def work() -> Opinion[Reply]:
            # Without a model, an estimate that is sure misses none.
            if not evidence.insist and (why := why_not_to_ask(probability, EAGER, line=line, band=band)):
                return replace(unasked, why_not=why)
            judge = await self.judge()
            weighs = weigh is not None and await self._tells_probabilities()
            if weigh is not None:
                entry.detail["weighed"] = weighs  # false: the server does not tell, so another call is made
            surest = replace(judge, sureness=MOST_SURE) if weighs else judge
            if not evidence.insist and (why := self.why_not_to_ask(probability, surest, line=line)):
                return replace(unasked, judge=judge, why_not=why)
            if weigh is not None and weighs:
                reply, yes_probability = await weigh()
                judge = judge.as_sure_as(yes_probability)
                entry.detail["yes"] = round(yes_probability, 3)
            else:
                reply = await ask()
            yes = said(reply)
            blended = blend(probability, said=yes, judge=judge)
            return Opinion(probability=blended, reply=reply, judge=judge, said=yes)

        if not evidence.passages:
            return replace(unasked, why_not=worded("nothing was found"))
        if not evidence.use_model:
            why_not = worded("no model is asked: that is switched off, or the answer would begin too late")
            opinion = replace(unasked, why_not=why_not)
        else:
            opinion = await self.attempt(entry, work(), fallback=lambda: unasked)
        if opinion.reply is not None and opinion.judge is not None:
            judge, yes = opinion.judge, opinion.said
            self.tools.judge_tally.note(judge.model, self.name, probability=probability, said=yes)
            entry.detail |= {"judge": judge.word(yes), "blended": round(opinion.probability, 3)}
        elif opinion.why_not:
            entry.detail["not_asked"] = opinion.why_not
        return opinion

    async def _tells_probabilities(self) -> bool:
        """Whether the fast model's server says how probable a yes was. Raises ModelError where there is none."""
        return await (await self.tools.models.chat("fast")).tells_probabilities()

    def why_not_to_ask(self, probability: float, judge: Judge, *, line: float) -> str:
        """Why a model's word is not worth its time; empty where it is. See `blending.why_not_to_ask`."""
        return why_not_to_ask(probability, judge, line=line, band=self.settings.corrective)

    async def ask_about(
        self,
        passages: Sequence[ScoredChunk],
        question: str,
        prompt: str,
        schema: type[Schema],
        *,
        probabilities: Sequence[float] | None = None,
        tokens: int | None = None,
        **variables: object,
    ) -> Schema:
        """One structured call about the quoted passages.

        probabilities: P(it answers) of each, of the trained estimate; then likely ones are quoted at greater length.
        tokens: of all that is quoted, by default `excerpts.TOKENS` or CHINESE_TOKENS. Raises ModelError.
        """
        quoted = await self._quoted(passages, question, probabilities, tokens)
        return await self.complete(prompt, schema, passages=quoted, question=one_line(question), **variables)

    async def yes_about(
        self, passages: Sequence[ScoredChunk], question: str, prompt: str, *, probabilities: Sequence[float]
    ) -> float:
        """P(Yes), 0..1, of the fast model about the quoted passages; see `ask_about`. Raises ModelError."""
        quoted = await self._quoted(passages, question, probabilities, None)
        language = self.context.language
        return await self.tools.yes_probability(prompt, language=language, passages=quoted, question=one_line(question))

    async def _quoted(
        self,
        passages: Sequence[ScoredChunk],
        question: str,
        probabilities: Sequence[float] | None,
        tokens: int | None,
    ) -> str:
        chunks, language = [passage.chunk for passage in passages], self.context.language
        return await asyncio.to_thread(
            quote_excerpts,
            question,
            chunks,
            probabilities=probabilities or [1.0] * len(chunks),
            tokens=tokens or (excerpts.CHINESE_TOKENS if language.startswith("zh") else excerpts.TOKENS),
            language=language,
        )

    def rank(self, passages: Sequence[ScoredChunk], scores: Sequence[float]) -> tuple[ScoredChunk, ...]:
        """By score × boost^BOOST_SHARE; equal ones stay in the order that retrieval and ratings gave them.

        A judge reads the text anew and knows nothing of what users rated, so a part of their boost counts on. It moves
        passages, not verdicts: `rerank` stays the judge's own score.
        """
        ranked = []
        for passage, score in zip(passages, scores, strict=True):
            final = score * (passage.scores.boost or 1.0) ** BOOST_SHARE
            ranked.append(replace(passage, scores=replace(passage.scores, rerank=score, final=final)))
        return tuple(sorted(ranked, key=lambda passage: -round(passage.scores.final or 0.0, 2)))


def quote_excerpts(
    question: str, chunks: Sequence[StoredChunk], *, probabilities: Sequence[float], tokens: int, language: Language
) -> str:
    """Of each passage, under its number, what says most about the question. See `excerpts.choose_excerpts`.

    Some ms of CPU: keep it off the event loop.
    """
    chosen = excerpts.choose_excerpts(question, chunks, probabilities, tokens=tokens)
    return "\n\n".join(
        quote_passage(number, chunk, text, language)
        for number, (chunk, text) in enumerate(zip(chunks, chosen, strict=True), start=1)
    )


def is_of_the_web(passage: ScoredChunk) -> bool:
    return passage.chunk.kind == "web"


def _estimate_by_kind(
    evidence: Evidence, passages: Sequence[ScoredChunk], beside: Sequence[ScoredChunk] = ()
) -> Estimate:
    """Web pages are a list of their own: no leg of the search has scored them, so among documents that have such scores
    each of them would look far from the question. The list that looks better counts."""
    web = [passage for passage in passages if is_of_the_web(passage)]
    documents, listed, near = (
        [passage for passage in some if not is_of_the_web(passage)] for some in (passages, evidence.listed, beside)
    )
    lists = [(documents, listed, near), (web, [], [])] if web else [(documents, listed, near)]
    scores: dict[str, float] = {}
    answerability = 0.0
    for these, found, others in lists:
        for question in _questions(evidence.question, found or these):
            estimate = estimate_answerability(question, these, listed=found, beside=others, semantic=evidence.semantic)
            for passage, score in zip(these, estimate.passages, strict=True):
                scores[passage.chunk_id] = max(score, scores.get(passage.chunk_id, 0.0))
            answerability = max(answerability, estimate.answerability)
    return Estimate(passages=[scores[passage.chunk_id] for passage in passages], answerability=answerability)


def _questions(question: str, listed: Sequence[ScoredChunk]) -> list[str]:
    """The question, and where it is several in one, in Chinese and of a few chunks (an attached file), each of them.

    No passage of so short a list is beside the others the one that has all the words. Of 40 pairs of questions that a
    passage answers (cmrc2018) 21 were refused and now 10, of 40 with another passage 1, as before. Of English pairs
    (squad2) 22 and 9, but of those with another passage one is let through in seven, where it was one in forty.
    """
    whole = len(listed) >= LIST_LENGTH or not HAN_CHARACTER.search(question) or is_comparison(question)
    return [question] if whole else [question, *split_question(question)]


def quote_windows(
    question: str, passages: Iterable[tuple[int, StoredChunk]], *, length: int, language: Language
) -> str:
    """Of each passage, under its number, the window that says most about the question.

    Some ms of CPU: keep it off the event loop.
    """
    return "\n\n".join(
        quote_passage(number, chunk, best_window(chunk.text, question, length), language) for number, chunk in passages
    )


def best_score(passages: Sequence[ScoredChunk]) -> float:
    return max((passage.scores.rerank or 0.0 for passage in passages), default=0.0)


def scores_by_chunk(passages: Sequence[ScoredChunk]) -> dict[str, float]:
    """Chunk id → score, for the decision path."""
    return {passage.chunk_id: round(passage.scores.rerank or 0.0, 3) for passage in passages}


def clipped(text: str) -> str:
    """A model's words on one line, at most REASON_CHARS characters."""
    return one_line(text)[:REASON_CHARS]
