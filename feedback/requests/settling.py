"""Questions that were sent to a person and are answered without a reply: a document was added, or their gap closed."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Set
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.files.base import File
from django.db import transaction
from django.utils import timezone

from chat.review.replay.replays import replays_order
from feedback.curation.gap_selectors import may_read_answer
from feedback.curation.gaps import not_asked
from feedback.models import GapDocument, GapQuestion, GapRequest
from feedback.requests.addressees import is_curator, requests_to
from feedback.requests.replying import open_request, request_ended
from ragsite.core.database import after_commit
from ragsite.core.errors import AppError, InvalidInputError, NotFoundError
from ragsite.core.messages import worded
from ragsite.core.text import clean_file_name
from retrieval.knowledge.selectors import writable_collections
from retrieval.knowledge.services.documents import document_create
from retrieval.models import Document

NOT_THEIRS = worded("Whoever added the document may not have them asked again any more.")
State = GapRequest.State


def requests_settle(
    sender: Any,
    gap_id: int,
    keys: Names[str],
    by: int | None,
    cited: Set[UUID] = frozenset(),
    **_: Any,
) -> None:
    """Those of these questions whose asker may read what answers them are answered; the others go on waiting.

    A receiver of `questions_answered`.
    """
    waiting = GapRequest.objects.filter(gap=gap_id, key__in=keys, state=State.OPEN)
    for request in waiting.select_related("asker"):
        asker = request.asker
        if asker and not may_read_answer(asker, gap_id=gap_id, cited=cited):
            continue
        request.state = State.ANSWERED
        request.ended_at = timezone.now()
        request.ended_by_id = by
        with transaction.atomic():
            open_row = GapRequest.objects.filter(pk=request.pk, state=State.OPEN)
            ended = open_row.update(
                state=request.state, ended_at=request.ended_at, ended_by=request.ended_by_id
            )
            if ended:
                request_ended.send(GapRequest, request=request)


# ------------------------------------------------------------------------------------------------ by a document
@transaction.atomic
def request_document_add(
    *, user: User, request_id: UUID, collection_id: UUID | None, upload: File[bytes] | None
) -> Document:
    """A document that should answer the question, in a collection whose documents `user` may change. As soon as it is
    ready the question is asked again, as its asker may search; where that answers it, so is the request.

    Raises RequestNotFoundError, AlreadyEndedError, InvalidInputError, and what `document_create` raises.
    """
    request = open_request(user, request_id)
    if upload is None:
        raise InvalidInputError(fields={"file": [worded("Choose a file.")]})
    targets = writable_collections(user).filter(conversation_id=None)
    collection = targets.filter(pk=collection_id).first() if collection_id else None
    if collection is None:
        raise InvalidInputError(
            fields={"collection": [worded("There is no such collection; choose another one.")]}
        )
    name = clean_file_name(upload.name or "")
    document = document_create(
        collection=collection, upload=upload, file_name=name, uploaded_by=user
    ).document
    GapDocument.objects.update_or_create(
        gap=request.gap,
        document=document,
        defaults={"added_by": user, "asked": False, "problem": None},
    )
    if document.status == Document.Status.READY:
        after_commit(request_document_ready, document.pk)
    return document


def request_document_ready(document_id: UUID) -> None:
    """Ask the requests' questions again for which somebody without the desk added it (who has the desk, for all of the
    gap: `feedback.curation.gaps.gap_document_ready`)."""
    new = GapDocument.objects.filter(document=document_id, asked=False, added_by__isnull=False)
    for added in new.select_related("added_by", "gap"):
        person = added.added_by
        if person is None or is_curator(person):
            continue
        received = requests_to(person).filter(gap=added.gap_id)
        waiting = received.filter(state=State.OPEN).exclude(message=None)
        messages = list(waiting.values_list("message", flat=True))
        if not GapDocument.objects.filter(pk=added.pk, asked=False).update(asked=True):
            continue
        if messages:
            _ask_again(added, person, messages)
        elif not received.exists():
            not_asked(added, NOT_THEIRS)


def _ask_again(added: GapDocument, person: User, messages: list[UUID]) -> None:
    try:
        replays = replays_order(by=person, message_ids=messages, change={})
    except NotFoundError:  # no question is left
        return
    except AppError as error:
        not_asked(added, error.message)
        return
    for replay in replays:
        questions = GapQuestion.objects.filter(gap=added.gap_id, message=replay.message_id)
        questions.update(replay=replay, answered=None)
