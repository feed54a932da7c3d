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
from chat.runs import Assignment
from chat.services.ask import Ask, ask_again
from ragsite.errors import InvalidInputError
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
    asked = await sync_to_async(_asked)(message)
    return await ask_again(user=user, question=replace(asked, **changes), regenerated=message)


def _asked(message: Message) -> Ask:
    """The question as it was put when this answer was made."""
    assert message.reply_to is not None
    request = message.request
    filters = dict(request.get("filters", {}))
    return Ask(
        text=message.reply_to.text,
        session_id=message.session_id,
        workflow=message.workflow,
        collections=tuple(request.get("collections", ())),
        filters=SearchFilters(**{**filters, "tags": tuple(filters.get("tags", ()))}),
        options=AnswerOptions(**request.get("options", {})),
    )
