"""What becomes of a question that was sent to a person: an answer, a refusal with its reason, a document.

    reply ─► a version of the answer in the asker's conversation, with those passages that the asker may read
          ─► by a curator, with a passage: a checked answer, as the desk would make it
          ─► by anybody else: stands in the gap, for a curator to make one of it

The asker's right to read is looked at when the reply is given. A reply is given once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import Signal
from django.utils import timezone

from chat.services.person_answers import person_answer_add
from feedback.curation.curated import CuratedPassage, curated_save
from feedback.curation.gap_selectors import replies_to_check
from feedback.models import CuratedAnswer, GapRequest, GapRequestSource, KnowledgeGap
from feedback.requests.addressees import is_curator, requests_to
from feedback.requests.asking import RequestNotFoundError
from feedback.rounds.questions import signature
from ragsite.core.errors import AppError, ConflictError, InvalidInputError
from ragsite.core.messages import worded
from ragsite.core.text import clean_text
from retrieval.engine.text.markers import CITATION, cited_markers
from retrieval.engine.values import AnswerSource, Scores
from retrieval.knowledge.chunk_store import stored_chunk
from retrieval.knowledge.selectors import visible_collections
from retrieval.models import Chunk

MAX_REPLY_CHARS = 20_000
MAX_REASON_CHARS = 1_000
MOST_PASSAGES = 20
CURATED_CHARS = (3, 600)  # of the question of a checked answer
State = GapRequest.State
# Sent inside the transaction with `request`, once for each that ends other than by its asker; `ended_by` may be None.
request_ended = Signal()

ONLY_TO_ASKER = worded("Sent. It cites no passage, so it is given to this person alone.")
PROPOSED = worded("Sent. A curator decides whether it is given to others who ask the same.")
CHECKED = worded("Sent. From now on, whoever asks this question gets this answer.")
NOT_ALONE = worded(
    "Sent. It is no checked answer, since the question needs its conversation to be understood."
)


class AlreadyEndedError(ConflictError):
    code = "request_ended"
    message = worded("This question is no longer waiting: it was answered, declined or withdrawn.")


@dataclass(frozen=True, slots=True)
class ReplyResult:
    """said: what the reply is good for, beside the asker's conversation."""

    request: GapRequest
    said: str


@transaction.atomic
def request_answer(
    *, user: User, request_id: UUID, text: str, passages: Sequence[UUID] = ()
) -> ReplyResult:
    """text: Markdown; [1] cites the first of `passages`, ids of chunks that `user` may read. Those that it does not
    cite are left out.

    Raises RequestNotFoundError, AlreadyEndedError, InvalidInputError.
    """
    request = open_request(user, request_id)
    text = clean_text(text).strip()
    _check_length("text", text, MAX_REPLY_CHARS)
    text, chunks = _cited(text, _chunks(user, passages))
    now = timezone.now()
    _reply(request, by=user, at=now, text=text, chunks=chunks)
    said = _checked(request, by=user, chunks=chunks)
    gap_close_if_done(request, by=user, at=now)
    request_ended.send(GapRequest, request=request)
    return ReplyResult(request, said)


def request_answer_checked(
    *, user: User, request_id: UUID, curated: CuratedAnswer, chunks: Sequence[Chunk]
) -> None:
    """By a checked answer that was written for the gap; chunks: what it cites, under its markers. In a transaction of
    the caller's. Raises RequestNotFoundError, AlreadyEndedError."""
    request = open_request(user, request_id)
    _reply(request, by=user, at=timezone.now(), text=curated.text, chunks=chunks)
    request_publish(request, curated)
    request_ended.send(GapRequest, request=request)


def _reply(
    request: GapRequest, *, by: User, at: datetime, text: str, chunks: Sequence[Chunk]
) -> None:
    """Stored, and given to the asker."""
    request.state = State.ANSWERED
    request.reply = text
    request.ended_at = at
    request.ended_by = by
    request.save(update_fields=["state", "reply", "ended_at", "ended_by"])
    GapRequestSource.objects.bulk_create(
        GapRequestSource(
            request=request,
            marker=marker,
            document_id=chunk.document_id,
            title=chunk.document.title[:300],
            text=chunk.text,
        )
        for marker, chunk in enumerate(chunks, 1)
    )
    if request.message is not None and request.asker is not None:
        person_answer_add(
            asked=request.message,
            by=by.get_full_name() or by.get_username(),
            on=timezone.localdate(at),
            text=text,
            sources=_readable_sources(request.asker, chunks),
        )


@transaction.atomic
def request_decline(*, user: User, request_id: UUID, reason: str) -> GapRequest:
    """Raises RequestNotFoundError, AlreadyEndedError, InvalidInputError without a reason."""
    request = open_request(user, request_id)
    reason = clean_text(reason).strip()
    _check_length("reason", reason, MAX_REASON_CHARS)
    request.state = State.DECLINED
    request.reply = reason
    request.ended_at = timezone.now()
    request.ended_by = user
    request.save(update_fields=["state", "reply", "ended_at", "ended_by"])
    request_ended.send(GapRequest, request=request)
    return request


def _check_length(field: str, text: str, most: int) -> None:
    if not 1 <= len(text) <= most:
        problem = worded("From {least} to {most} characters.", least=1, most=most)
        raise InvalidInputError(fields={field: [problem]})


def open_request(user: User, request_id: UUID) -> GapRequest:
    """Locked. Raises RequestNotFoundError, AlreadyEndedError."""
    if not requests_to(user).filter(pk=request_id).exists():
        raise RequestNotFoundError
    rows = GapRequest.objects.select_for_update(of=("self",)).filter(pk=request_id)
    request = rows.select_related("message", "asker", "gap").order_by().first()
    if request is None or request.state != State.OPEN:
        raise AlreadyEndedError
    return request


# ------------------------------------------------------------------------------------------------ passages
def _chunks(user: User, passages: Sequence[UUID]) -> list[Chunk]:
    """In the order of the ids. Raises InvalidInputError where one is not there or may not be read by `user`."""
    if len(passages) > MOST_PASSAGES:
        most = worded("At most {most} passages.", most=MOST_PASSAGES)
        raise InvalidInputError(fields={"passages": [most]})
    found = readable_chunks(user).in_bulk(list(passages))
    if any(key not in found for key in passages):
        gone = worded("A passage is not there any more, or you may not read it.")
        raise InvalidInputError(fields={"passages": [gone]})
    return [found[key] for key in passages]


def readable_chunks(user: User) -> QuerySet[Chunk]:
    """Of documents that `user` may read, without files of conversations."""
    readable = visible_collections(user).values("pk")
    return Chunk.objects.filter(
        document__collection__in=readable, document__status="ready"
    ).select_related("document")


def _cited(text: str, chunks: list[Chunk]) -> tuple[str, list[Chunk]]:
    """The text with its citations numbered from 1, and what they mean. Raises InvalidInputError."""
    markers = sorted(cited_markers(text))
    if markers and (markers[0] < 1 or markers[-1] > len(chunks)):
        wrong = worded("Cite only passages from the list, such as [1].")
        raise InvalidInputError(fields={"text": [wrong]})
    places = {marker: place for place, marker in enumerate(markers, 1)}
    numbered = CITATION.sub(lambda found: f"[{places[int(found[1])]}]", text)
    return numbered, [chunks[marker - 1] for marker in markers]


def _readable_sources(asker: User, chunks: Iterable[Chunk]) -> list[AnswerSource]:
    """Under the markers of the text; what the asker may not read is left out, and its marker leads nowhere."""
    listed = list(chunks)
    keys = [chunk.pk for chunk in listed]
    readable = set(readable_chunks(asker).filter(pk__in=keys).values_list("pk", flat=True))
    return [
        AnswerSource(marker=marker, chunk=stored_chunk(chunk), scores=Scores(), cited=True)
        for marker, chunk in enumerate(listed, 1)
        if chunk.pk in readable
    ]


# ------------------------------------------------------------------------------------------------ for others who ask
def _checked(request: GapRequest, *, by: User, chunks: Sequence[Chunk]) -> str:
    """Make a checked answer of a curator's reply where the desk would; what came of it, in a sentence."""
    if not chunks:
        return ONLY_TO_ASKER
    if not is_curator(by):
        return PROPOSED
    least, most = CURATED_CHARS
    stands_alone = signature(request.question) == request.key
    if not stands_alone or not least <= len(request.question) <= most:
        return NOT_ALONE
    passages = [
        CuratedPassage(one.document_id, one.document.title[:300], one.text) for one in chunks
    ]
    try:
        curated = curated_save(
            by=by,
            question=" ".join(request.question.split()),
            text=request.reply,
            passages=passages,
            message=request.message,
            asked=request.question,
        )
    except AppError as error:
        return worded("Sent. {problem}", problem=error.message)
    request_publish(request, curated)
    return CHECKED


def request_publish(request: GapRequest, curated: CuratedAnswer) -> None:
    request.curated = curated
    GapRequest.objects.filter(pk=request.pk).update(curated=curated)


def gap_close_if_done(request: GapRequest, *, by: User, at: datetime) -> None:
    """Where nothing else of it waits: no other question, no other person's request, no reply for a curator to check."""
    gap = request.gap
    others = gap.questions.exclude(message=request.message_id).exclude(answered=True)
    waiting = gap.requests.filter(state=State.OPEN)
    to_check = replies_to_check().filter(gap=gap)
    if others.exists() or waiting.exists() or to_check.exists():
        return
    gap_close(gap, by=by, at=at)


def gap_close(gap: KnowledgeGap, *, by: User, at: datetime) -> None:
    KnowledgeGap.objects.filter(pk=gap.pk).update(
        state=KnowledgeGap.State.CLOSED, state_by=by, state_at=at, reopened=False
    )
