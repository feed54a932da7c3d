"""Files that belong to a conversation: attached, searched by its answers, and gone with it.

They lie in a private collection of the conversation (`retrieval.models.Collection.conversation_id`). A conversation
that has not begun has an id with its first file; its first question makes the session of that id.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from django.utils import timezone

from chat import selectors
from chat.models import Session
from ragsite.core.errors import TooLargeError
from ragsite.core.messages import worded
from retrieval.knowledge.services.collections import collection_of_conversation
from retrieval.models import Collection

MAX_FILES = 50  # of one conversation
UNASKED_KEPT = timedelta(days=2)  # files of a conversation that was never begun
SWEEP_BATCH = 200


def attachments_open(*, user: User, session_id: UUID | None, files: int) -> Collection:
    """Where `files` files of a conversation go; `session_id` None: of one that has yet to begin.

    Raises SessionNotFoundError, TooLargeError.
    """
    if session_id is None:
        return collection_of_conversation(owner=user, conversation_id=uuid4())
    there = selectors.attachment_list(user=user, session_id=session_id).count()
    if there + files > MAX_FILES:
        raise TooLargeError(
            worded(
                "A conversation can hold {limit} files. Remove some, or add them to a collection.",
                limit=MAX_FILES,
            ),
            code="too_many_attachments",
        )
    return collection_of_conversation(owner=user, conversation_id=session_id)


def attachments_sweep() -> int:
    """Delete files of conversations that were never begun, or that went while a file came in. Of how many."""
    unasked = Collection.objects.filter(
        conversation_id__isnull=False, created_at__lt=timezone.now() - UNASKED_KEPT
    ).exclude(conversation_id__in=Session.objects.values("pk"))
    rows = list(unasked.order_by("created_at")[:SWEEP_BATCH])
    for collection in rows:
        collection.delete()
    return len(rows)
