"""Verify: each sentence of an answer is checked against the passages that it cites; weak ones are marked.

The answer has been read by then, so nothing is taken back: weak sentences stand in the step's detail, and the page
underlines them. Only an answer of which no sentence comes near to what its passages say becomes NO_ANSWER. Words,
figures and names are compared (`ground`); where the setting says so, the fast model is asked as well, in one call for
all sentences: it can find a sentence unsupported, never supported. See docs/decisions/0005-grounding.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from ragsite.core.wording import joined, worded
from retrieval.errors import ModelOutputError
from retrieval.steps.grounding.claims import Claim, claims_of
from retrieval.steps.grounding.score import Grounding, ground
from retrieval.steps.judge.assessment import WrittenAnswer
from retrieval.steps.schemas import CheckedStatements, exactly
from retrieval.steps.step import Step
from retrieval.text.language import detect_language
from retrieval.text.quoting import one_line, quote_source
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import StepRecord
from retrieval.values import Answer, GroundedSentence, SentenceEvidence

NOTHING_SUPPORTED = worded("no passage bears out any sentence of the answer")
BASELESS = 0.3  # score below which a sentence is not only weak: another figure, another name, nearly no words in common
STATEMENT_CHARS = 600
MAX_SENTENCES = 40  # of one answer that are checked
PROMPT = "verify"  # its file in retrieval/prompts


class Verify(Step[WrittenAnswer, Answer]):
    """The answer with its `grounding`; its text stays. Never raises a ModelError."""

    name = "verify"
    optional = True  # the model's part; the words are compared in any case

    async def act(self, given: WrittenAnswer, entry: StepRecord) -> Answer:
        settings, answer = self.settings.verify, given.answer
        if reason := _not_to_be_checked(answer, enabled=settings.enabled):
            entry.skip(reason)
            return answer
        claims = claims_of(answer.text)[:MAX_SENTENCES]
        grounding = await asyncio.to_thread(
            check_by_words, answer, claims, given.question, supported_score=settings.supported_score
        )
        if settings.by_model and claims:
            verdicts = await self.attempt(entry, self._ask(answer, claims, given.question), fallback=tuple)
            grounding = with_verdicts(grounding, verdicts)
        grounding = without_the_broken(answer, grounding)
        weak = sum(sentence.supported is False for sentence in grounding)
        unchecked = sum(sentence.supported is None for sentence in grounding)
        good, total = len(grounding) - weak - unchecked, len(grounding)
        parts = [worded("{good} of {total} sentences supported", good=good, total=total)]
        parts += [worded("{weak} weakly supported", weak=weak)] if weak else []
        parts += [worded("{unchecked} can't be checked", unchecked=unchecked)] if unchecked else []
        entry.summary = joined(", ", parts) if grounding else worded("nothing in the answer states a fact")
        entry.detail["grounding"] = [sentence.as_dict() for sentence in grounding]
        if grounding and weak == len(grounding) and _is_baseless(answer, grounding):
            return replace(answer, decision="NO_ANSWER", reason=NOTHING_SUPPORTED, grounding=grounding)
        return replace(answer, grounding=grounding)

    async def _ask(self, answer: Answer, claims: Sequence[Claim], question: str) -> Sequence[bool]:
        """Of each claim whether the passages that it cites support it."""
        sources, _language = answer.sources, self.context.language
        cited = {marker for claim in claims for marker in claim.markers} or {source.marker for source in sources}
        model = await self.tools.models.chat("fast")
        passages = [quote_source(source.marker, source.chunk) for source in sources if source.marker in cited]
        statements = "\n".join(
            f"{number}. {one_line(claim.text)[:STATEMENT_CHARS]}" + "".join(f" [{marker}]" for marker in claim.markers)
            for number, claim in enumerate(claims, start=1)
        )
        reply = await self.complete(
            PROMPT,
            exactly(CheckedStatements, "supported", len(claims)),
            passages=_that_fit(passages, model.prompt_budget // 2),
            statements=statements,
            count=len(claims),
            question=one_line(question),
        )
        if len(reply.supported) != len(claims):
            raise ModelOutputError(
                worded(
                    "the model checked {checked} sentences, not {claims}",
                    checked=len(reply.supported),
                    claims=len(claims),
                )
            )
        if len(claims) > 1 and not any(reply.supported):
            raise ModelOutputError(
                worded("the model said of every sentence that it is unsupported, which tells none apart")
            )
        return reply.supported


def _is_baseless(answer: Answer, grounding: Sequence[GroundedSentence]) -> bool:
    cites = any(source.cited for source in answer.sources)
    return not cites or all((sentence.score or 0.0) < BASELESS for sentence in grounding)


def check_by_words(
    answer: Answer, claims: Sequence[Claim], question: str, *, supported_score: float
) -> tuple[GroundedSentence, ...]:
    """Each claim against the passages that it cites; against all of them where it cites none."""
    by_marker = {source.marker: source.chunk for source in answer.sources}
    language = detect_language(answer.text)
    checked = []
    for claim in claims:
        cited = {marker: by_marker[marker] for marker in claim.markers if marker in by_marker}
        passages = list((cited or by_marker).values())
        grounding = ground(claim.text, passages, question=question, language=language)
        supported = None if grounding.score is None else grounding.score >= supported_score
        checked.append(
            GroundedSentence(
                sentence=answer.text[claim.start : claim.end],
                start=claim.start,
                end=claim.end,
                markers=tuple(cited),
                score=None if grounding.score is None else round(grounding.score, 3),
                supported=supported,
                reason=("" if supported else (grounding.reason or worded("the passages hold too few of its words"))),
                evidence=_evidence(list(cited), grounding),
            )
        )
    return tuple(checked)


def _evidence(cited: Sequence[int], grounding: Grounding) -> tuple[SentenceEvidence, ...]:
    """Of a sentence that cites nothing there is none to show."""
    return tuple(SentenceEvidence(cited[at.passage], at.start, at.end) for at in grounding.places if cited)


def with_verdicts(grounding: Sequence[GroundedSentence], verdicts: Sequence[bool]) -> tuple[GroundedSentence, ...]:
    """A model that is easily pleased proves nothing: it can only lower what the words say. No verdicts: they stand."""
    return tuple(
        replace(sentence, supported=False, reason=(sentence.reason or worded("the model finds it unsupported")))
        if not supported and sentence.supported is not False
        else sentence
        for sentence, supported in zip(grounding, verdicts or [True] * len(grounding), strict=True)
    )


def without_the_broken(answer: Answer, grounding: tuple[GroundedSentence, ...]) -> tuple[GroundedSentence, ...]:
    """The sentence that a model broke off in lacks words, and the citation at its end: it can't be judged."""
    if not answer.partial or not grounding or answer.text[grounding[-1].end :].strip():
        return grounding
    broken = replace(grounding[-1], score=None, supported=None, reason=worded("the answer broke off in it"))
    return (*grounding[:-1], broken)


def _not_to_be_checked(answer: Answer, *, enabled: bool) -> str:
    if not enabled:
        return worded("switched off")
    if answer.decision != "ANSWER":
        return worded("there is no answer to check")
    if not answer.model:
        return worded("the sentences are quoted word by word")
    return "" if answer.sources else worded("there are no passages to check against")


def _that_fit(passages: Sequence[str], tokens: int) -> str:
    kept: list[str] = []
    for passage in passages:
        tokens -= estimate_tokens(passage) + 2
        if kept and tokens < 0:
            break
        kept.append(passage)
    return "\n\n".join(kept)
