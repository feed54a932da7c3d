"""Verify: each sentence of an answer is held against the passages that it cites; weak ones are marked.

The answer has been read by then, so nothing is taken back: weak sentences stand in the step's detail, and the page
underlines them. Only an answer of which no sentence comes near to what its passages say becomes NO_ANSWER. Words and
numbers are compared: a number that no passage has makes a statement unsupported whatever words they share; where the
question has it, the statement is weak. Where the setting says so, the fast model is asked as well, in one call for all
sentences: it can find a sentence unsupported, never supported. See docs/decisions/0005-grounding.md.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel

from ragsite.core.wording import joined, worded
from retrieval.providers.reply_schema import exactly
from retrieval.steps.cite import (
    MARKER,
    Place,
    number_term,
    numbers_of,
    overlap,
    passage_terms,
    same_language,
    statement_weights,
    without_markers,
)
from retrieval.steps.step import Deps, step, try_call
from retrieval.text.analysis import held_share
from retrieval.text.numbers import known_numbers, stated_numbers
from retrieval.text.quoting import one_line, quote_source
from retrieval.text.statements import Statement, headed_statements_of, leading_signs
from retrieval.trace import degrade, note, skip
from retrieval.values import Answer, GroundedSentence, SentenceEvidence, StoredChunk

_LEADING_MARKERS = re.compile(rf"(?:\s*+{MARKER})++[\s.,;:，。；]*+")
_MARKER = re.compile(MARKER)
_EMPHASIS = re.compile(r"\*\*|__|[*`~|]")
_WORD = re.compile(r"[^\W_]")
_STATES_NOTHING = (":", "：", "?", "？")
NUMBERS = 0.2  # share of the score that its numbers make up: to have them says little, to lack one is decisive
MIN_TERMS = 2  # fewer say nothing that could be looked up: "Yes.", "So it is."
REFUTED_CAP = 0.2  # the most that a statement gets with a number that no passage has
WEAK_CAP = 0.4  # and with one that only the question has, or one wrong number beside a right one
NOTHING_SUPPORTED = worded("no passage bears out any sentence of the answer")
BASELESS = 0.3  # score below which a sentence is not only weak: another number, or nearly no words in common
MAX_SENTENCES = 40  # of one answer that are checked


@dataclass(frozen=True, slots=True)
class Claim:
    """`answer[start:end]`, without list signs, with its markers. `text`: without markers and markup."""

    text: str
    start: int
    end: int
    markers: tuple[int, ...]


def claims_of(answer: str) -> list[Claim]:
    """In order. Headings, code, questions and lines that introduce a list state nothing."""
    claims = []
    for piece in _pieces(answer):
        text = answer[piece.start : piece.end]
        words = " ".join(_EMPHASIS.sub(" ", without_markers(text)).split())
        states = len(_WORD.findall(words)) > 1 and not words.rstrip("_ ").endswith(_STATES_NOTHING)
        if states and piece.kind != "code":
            markers = tuple(dict.fromkeys(numbers_of("".join(_MARKER.findall(text)))))
            claims.append(Claim(words, piece.start, piece.end, markers))
    return claims


def _pieces(answer: str) -> list[Statement]:
    """Markers after a full stop belong to the sentence before it."""
    pieces: list[Statement] = []
    for piece in headed_statements_of(answer):
        start = piece.start
        leading = _LEADING_MARKERS.match(answer[start : piece.end])
        if leading and pieces and "\n" not in answer[pieces[-1].end : start]:
            pieces[-1] = pieces[-1]._replace(end=start + len(leading[0].rstrip()))
            start += leading.end()
        start += leading_signs(answer[start : piece.end])
        if answer[start : piece.end].strip():
            pieces.append(piece._replace(start=start))
    return pieces


# ------------------------------------------------------------------------------------------------ support


@dataclass(frozen=True, slots=True)
class Support:
    """score: 0..1; None: it can't be checked. reason: for None and for a capped score. places: (index of a passage,
    its sentence or two that are nearest)."""

    score: float | None
    reason: str = ""
    places: tuple[tuple[int, Place], ...] = ()


def support(statement: str, passages: Sequence[StoredChunk], *, question: str) -> Support:
    """How far the passages together support the statement: half by the best place, half by all that they say."""
    readable = {at: passage for at, passage in enumerate(passages) if same_language(statement, passage.text)}
    if not readable:
        return Support(None, worded("the passage is in another language"))
    weights = statement_weights(statement, question, list(readable.values()), number_share=NUMBERS)
    numbers = stated_numbers(statement)
    if len(weights) < MIN_TERMS and not numbers:
        return Support(None, worded("it is too short to be looked up"))
    found = {at: overlap(weights, passage) for at, passage in readable.items()}
    places = tuple((at, one.place) for at, one in found.items() if one.near)
    held = frozenset[str]().union(*map(passage_terms, readable.values()))
    score = 0.5 * max(one.near for one in found.values()) + 0.5 * held_share(weights, held)
    missing = {value: written for value, written in numbers.items() if number_term(value) not in held}
    if not missing:
        return Support(score, places=places)
    told, asked = joined(", ", missing.values()), known_numbers(question)
    if asked.issuperset(missing):
        return Support(min(score, WEAK_CAP), worded("only the question says it: {told}", told=told), places)
    cap = WEAK_CAP if numbers.keys() - missing.keys() - asked else REFUTED_CAP
    return Support(min(score, cap), worded("not in the passage: {told}", told=told), places)


# ------------------------------------------------------------------------------------------------ verify


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
        grounding = [
            # A model that is easily pleased proves nothing: it can only lower what the words say.
            sentence
            if supported or sentence.supported is False
            else replace(sentence, supported=False, reason=sentence.reason or worded("the model finds it unsupported"))
            for sentence, supported in zip(grounding, verdicts, strict=True)
        ]
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


class CheckedStatements(BaseModel):
    """Whether the passages say so, for each statement in their order; about two tokens a sentence."""

    supported: list[bool]


async def _model_verdicts(deps: Deps, answer: Answer, claims: Sequence[Claim], question: str) -> list[bool]:
    """Of each claim whether the passages that it cites support it, as the fast model says; where it fails, yes."""
    cited = [source for source in answer.sources if source.cited] or answer.sources
    statements = (one_line(claim.text) + "".join(f" [{marker}]" for marker in claim.markers) for claim in claims)
    call = deps.complete(
        "verify",
        exactly(CheckedStatements, "supported", len(claims)),
        passages="\n\n".join(quote_source(source.marker, source.chunk) for source in cited),
        statements="\n".join(f"{number}. {statement}" for number, statement in enumerate(statements, start=1)),
        count=len(claims),
        question=one_line(question),
    )
    reply = await try_call(deps, call, optional=True)
    if reply is not None and len(reply.supported) == len(claims) and (len(claims) == 1 or any(reply.supported)):
        return reply.supported
    if reply is not None:
        degrade("verdicts_missing" if len(reply.supported) != len(claims) else "verdicts_all_no")
    return [True] * len(claims)


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
                # Of a sentence that cites nothing there is none to show.
                evidence=tuple(
                    SentenceEvidence(list(cited)[at], place.start, place.end) for at, place in found.places if cited
                ),
            )
        )
    return checked


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
