"""Verify: each sentence of an answer is held against the passages that it cites; weak ones are marked.

The answer has been read by then, so nothing is taken back: weak sentences stand in the step's detail, and the page
underlines them. Only an answer of which no sentence comes near to what its passages say becomes NO_ANSWER. Words and
numbers are compared (`support`); where the setting says so, the fast model is asked as well, in one call for all
sentences: it can find a sentence unsupported, never supported. See docs/decisions/0005-grounding.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from ragsite.core.wording import worded
from retrieval.steps.cite.claims import Claim, claims_of
from retrieval.steps.cite.support import Support, support
from retrieval.steps.deps import Deps
from retrieval.steps.schemas import CheckedStatements, exactly
from retrieval.steps.step import step, try_call
from retrieval.text.quoting import one_line, quote_source
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import degrade, note, skip
from retrieval.values import Answer, GroundedSentence, SentenceEvidence

NOTHING_SUPPORTED = worded("no passage bears out any sentence of the answer")
BASELESS = 0.3  # score below which a sentence is not only weak: another number, or nearly no words in common
STATEMENT_CHARS = 600
MAX_SENTENCES = 40  # of one answer that are checked


@step("verify")
async def verify(deps: Deps, answer: Answer, *, question: str) -> Answer:
    """The answer with its `grounding`; its text stays. Never raises a ModelError."""
    settings = deps.settings.verify
    if reason := _not_to_be_checked(answer, enabled=settings.enabled):
        skip(reason)
        return answer
    claims = claims_of(answer.text)[:MAX_SENTENCES]
    grounding = await asyncio.to_thread(
        check_by_words, answer, claims, question, supported_score=settings.supported_score
    )
    if settings.by_model and claims:
        verdicts = await _model_verdicts(deps, answer, claims, question)
        grounding = [_lowered(*pair) for pair in zip(grounding, verdicts, strict=True)]
    if answer.partial and grounding and not answer.text[grounding[-1].end :].strip():
        # The sentence that a model broke off in lacks words, and the citation at its end.
        grounding[-1] = replace(grounding[-1], score=None, supported=None, reason=worded("the answer broke off in it"))
    weak = sum(sentence.supported is False for sentence in grounding)
    unchecked = sum(sentence.supported is None for sentence in grounding)
    note(
        "sentences_checked" if grounding else "nothing_stated",
        grounding=[sentence.as_dict() for sentence in grounding],
        good=len(grounding) - weak - unchecked,
        weak=weak,
        unchecked=unchecked,
    )
    answer = replace(answer, grounding=tuple(grounding))
    if grounding and weak == len(grounding) and _is_baseless(answer):
        return replace(answer, decision="NO_ANSWER", reason=NOTHING_SUPPORTED)
    return answer


async def _model_verdicts(deps: Deps, answer: Answer, claims: Sequence[Claim], question: str) -> list[bool]:
    """Of each claim whether the passages that it cites support it, as the fast model says; where it fails, yes."""
    reply = await try_call(deps, _ask(deps, answer, claims, question), optional=True)
    if reply is None:
        return [True] * len(claims)
    if len(reply.supported) == len(claims) and (len(claims) == 1 or any(reply.supported)):
        return list(reply.supported)
    degrade("verdicts_missing" if len(reply.supported) != len(claims) else "verdicts_all_no")
    return [True] * len(claims)


async def _ask(deps: Deps, answer: Answer, claims: Sequence[Claim], question: str) -> CheckedStatements:
    passages = _cited_passages(answer, claims, tokens=(await deps.models.chat("fast")).prompt_budget // 2)
    return await deps.complete(
        "verify",
        exactly(CheckedStatements, "supported", len(claims)),
        passages="\n\n".join(passages),
        statements="\n".join(f"{number}. {_quoted(claim)}" for number, claim in enumerate(claims, start=1)),
        count=len(claims),
        question=one_line(question),
    )


def _cited_passages(answer: Answer, claims: Sequence[Claim], *, tokens: int) -> list[str]:
    """Quoted, as many as fit; all where nothing is cited."""
    cited = {marker for claim in claims for marker in claim.markers}
    passages: list[str] = []
    for source in answer.sources:
        quoted = quote_source(source.marker, source.chunk)
        tokens -= estimate_tokens(quoted) + 2
        if (not cited or source.marker in cited) and (tokens >= 0 or not passages):
            passages.append(quoted)
    return passages


def _quoted(claim: Claim) -> str:
    return one_line(claim.text)[:STATEMENT_CHARS] + "".join(f" [{marker}]" for marker in claim.markers)


def check_by_words(
    answer: Answer, claims: Sequence[Claim], question: str, *, supported_score: float
) -> list[GroundedSentence]:
    """Each claim against the passages that it cites; against all of them where it cites none."""
    by_marker = {source.marker: source.chunk for source in answer.sources}
    checked = []
    for claim in claims:
        cited = {marker: by_marker[marker] for marker in claim.markers if marker in by_marker}
        found = support(claim.text, list((cited or by_marker).values()), question=question)
        supported = None if found.score is None else found.score >= supported_score
        checked.append(
            GroundedSentence(
                sentence=answer.text[claim.start : claim.end],
                start=claim.start,
                end=claim.end,
                markers=tuple(cited),
                score=None if found.score is None else round(found.score, 3),
                supported=supported,
                reason="" if supported else found.reason or worded("the passages hold too few of its words"),
                evidence=_evidence(list(cited), found),
            )
        )
    return checked


def _evidence(cited: Sequence[int], found: Support) -> tuple[SentenceEvidence, ...]:
    """Of a sentence that cites nothing there is none to show."""
    return tuple(SentenceEvidence(cited[at], place.start, place.end) for at, place in found.places if cited)


def _lowered(sentence: GroundedSentence, verdict: bool) -> GroundedSentence:
    """A model that is easily pleased proves nothing: it can only lower what the words say."""
    if verdict or sentence.supported is False:
        return sentence
    return replace(sentence, supported=False, reason=sentence.reason or worded("the model finds it unsupported"))


def _is_baseless(answer: Answer) -> bool:
    if not any(source.cited for source in answer.sources):
        return True
    return all((sentence.score or 0.0) < BASELESS for sentence in answer.grounding)


def _not_to_be_checked(answer: Answer, *, enabled: bool) -> str:
    """The code that says why; empty where it is to be checked."""
    if not enabled:
        return "switched_off"
    if answer.decision != "ANSWER":
        return "no_answer_to_check"
    return "" if answer.model and answer.sources else "quoted_word_by_word"
