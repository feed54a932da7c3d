"""Answer a question anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chat import selectors
from chat.errors import AnswerInProgressError
from chat.models import Message
from chat.runs.run import Assignment
from chat.services.ask import Ask, ask_again
from ragsite.core.errors import InvalidInputError
from retrieval.selectors import scope_as_asked
from retrieval.values import AnswerOptions, SearchFilters


async def message_regenerate(*, user: User, message_id: UUID, changes: Mapping[str, Any]) -> Assignment:
    """Answer its question again, as it was asked but for `changes` (fields of `Ask`); the old answer is superseded.

    Raises MessageNotFoundError, AnswerInProgressError, and what `ask` raises.
    """
    message = await sync_to_async(selectors.message_get)(user=user, message_id=message_id)
    if message.role != Message.Role.ASSISTANT:
        raise InvalidInputError("Only an answer can be written anew; give the answer's id, not the question's.")
    if message.status == Message.Status.STREAMING:
        raise AnswerInProgressError
    asked = await sync_to_async(_asked)(user, message, changes)
    return await ask_again(user=user, question=asked, regenerated=message)


def _asked(user: User, message: Message, changes: Mapping[str, Any]) -> Ask:
    """The question as it was put when this answer was made, with the changes. Raises CollectionNotFoundError."""
    assert message.reply_to is not None
    request = message.request
    filters = dict(request.get("filters", {}))
    asked = Ask(
        text=message.reply_to.text,
        session_id=message.session_id,
        workflow=message.workflow,
        filters=SearchFilters(**{**filters, "tags": tuple(filters.get("tags", ()))}),
        options=AnswerOptions(**request.get("options", {})),
    )
    if "collections" not in changes:
        asked = replace(asked, collections=_collections(user, message))
    return replace(asked, **changes)


def _collections(user: User, message: Message) -> tuple[str, ...]:
    """The ids of those that it was asked of. Raises CollectionNotFoundError."""
    request = message.request
    if not (names := request.get("collections")):
        return ()
    ids = request.get("collection_ids", [])
    return scope_as_asked(user=user, names=names, ids=ids, asked_at=message.created_at).ids
