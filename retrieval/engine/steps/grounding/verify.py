"""Verify: each sentence of a whole answer is held against the passages that it cites; weak ones are marked.

When an answer is verified it has been read, so nothing is taken back: weak sentences stand in the step's detail, and
the page underlines them. Only an answer of which no sentence comes near to what its passages say becomes NO_ANSWER.
A model looks at it later (`second_look`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from ragsite.core.messages import worded
from retrieval.engine.deps import Deps
from retrieval.engine.path_details import VerifyDetails
from retrieval.engine.reasons import Reason
from retrieval.engine.steps.grounding.claims import Claim, brackets_of, claims_of
from retrieval.engine.steps.grounding.support import support
from retrieval.engine.steps.step import step
from retrieval.engine.trace import note, skip
from retrieval.engine.values import Answer, GroundedSentence, SentenceEvidence

NOTHING_SUPPORTED = Reason("nothing_supported")
UNSUPPORTED_SCORE = 0.3  # score below which a sentence is not only weak: another number, or nearly no words in common
MAX_CLAIMS = 40  # of one answer that are checked


@step("verify")
async def verify(deps: Deps, answer: Answer, *, question: str) -> Answer:
    """The answer with its `grounding`; its text stays. Never raises a ModelError."""
    settings = deps.settings.verify
    if reason := _not_to_be_checked(answer, enabled=settings.enabled):
        skip(reason)
        return answer
    claims = claims_of(answer.text, brackets_of(answer.sources))[:MAX_CLAIMS]
    grounding = await asyncio.to_thread(
        check_by_words,
        answer,
        claims,
        question,
        supported_score=settings.supported_score,
    )
    if answer.partial and grounding and not answer.text[grounding[-1].end :].strip():
        # The sentence that a model broke off in lacks words, and the citation at its end.
        reason = worded("the answer was interrupted in it")
        grounding[-1] = replace(grounding[-1], score=None, supported=None, reason=reason)
    weak = sum(sentence.supported is False for sentence in grounding)
    unchecked = sum(sentence.supported is None for sentence in grounding)
    details = VerifyDetails(
        grounding=tuple(sentence.as_dict() for sentence in grounding),
        good=len(grounding) - weak - unchecked,
        weak=weak,
        unchecked=unchecked,
    )
    note("sentences_checked" if grounding else "nothing_stated", details)
    answer = replace(answer, grounding=tuple(grounding))
    if grounding and weak == len(grounding) and _is_baseless(answer):
        return replace(answer, decision="NO_ANSWER", reason=NOTHING_SUPPORTED)
    return answer


def check_by_words(
    answer: Answer,
    claims: Sequence[Claim],
    question: str,
    *,
    supported_score: float,
) -> list[GroundedSentence]:
    """Each claim against the passages that it cites; against all of them where it cites none: then no passage comes
    near it, and what words they share are strewn over them."""
    by_marker = {source.marker: source.chunk for source in answer.sources}
    checked = []
    for claim in claims:
        cited = {marker: by_marker[marker] for marker in claim.markers if marker in by_marker}
        passages = list((cited or by_marker).values())
        found = support(claim.text, passages, question=question)
        supported = None
        if found.score is not None:
            supported = bool(cited) and found.score >= supported_score
        checked.append(
            GroundedSentence(
                sentence=answer.text[claim.start : claim.end],
                start=claim.start,
                end=claim.end,
                markers=tuple(cited),
                score=None if found.score is None else round(found.score, 3),
                supported=supported,
                reason=""
                if supported
                else found.reason or worded("the passages hold too few of its words"),
                # Of a sentence that cites nothing there is none to show.
                evidence=tuple(
                    SentenceEvidence(list(cited)[at], place.start, place.end)
                    for at, place in found.places
                    if cited
                ),
            )
        )
    return checked


def _is_baseless(answer: Answer) -> bool:
    if not any(source.cited for source in answer.sources):
        return True
    return all((sentence.score or 0.0) < UNSUPPORTED_SCORE for sentence in answer.grounding)


def _not_to_be_checked(answer: Answer, *, enabled: bool) -> str:
    """The code that says why; empty where it is to be checked."""
    if not enabled:
        return "switched_off"
    if answer.decision != "ANSWER":
        return "no_answer_to_check"
    return "" if answer.model and answer.sources else "quoted_word_by_word"
