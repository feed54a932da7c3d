"""Change and delete conversations; what goes with them, whoever deleted them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.db.models.signals import post_delete
from django.utils import timezone

from chat import selectors
from chat.models import Message, Session
from chat.runs.pauses import give_up
from chat.services.stop import run_stop
from chat.services.temporary import TemporaryChatError, temporary_set
from ragsite.core.errors import InvalidInputError
from ragsite.core.messages import worded
from ragsite.core.text import clean_line
from retrieval.knowledge.services.collections import collection_of_conversation_delete
from retrieval.memory.services import conversation_memories_forget


def session_update(*, user: User, session_id: UUID, changes: Mapping[str, Any]) -> Session:
    """Set `title`, `pinned`, `archived` or `folder` ("" or None: none); what is archived is no longer pinned. `temporary`
    False keeps a temporary one, which can have none of the others before.

    Raises SessionNotFoundError, InvalidInputError, TemporaryChatError, TemporaryEnforcedError.
    """
    session = selectors.session_get(user=user, session_id=session_id)
    stays_temporary = session.is_temporary and changes.get("temporary") is not False
    if stays_temporary and changes.keys() - {"temporary"}:
        raise TemporaryChatError
    now = timezone.now()
    columns: dict[str, Any] = {}
    if "title" in changes:
        columns["title"] = clean_line(changes["title"])
        if not columns["title"]:
            raise InvalidInputError(
                fields={"title": [worded("From {least} to {most} characters.", least=1, most=200)]}
            )
    if "folder" in changes:
        columns["folder"] = clean_line(changes["folder"] or "")
    if "pinned" in changes:
        columns["pinned_at"] = (session.pinned_at or now) if changes["pinned"] else None
    if "archived" in changes:
        columns["archived_at"] = (session.archived_at or now) if changes["archived"] else None
        if changes["archived"]:
            columns["pinned_at"] = None
    if "temporary" in changes:
        temporary_set(user=user, session=session, temporary=changes["temporary"])
    # That does not count as use: the order of the list stays. What another tab changes meanwhile stays, too.
    if columns:
        Session.objects.filter(pk=session.pk).update(**columns)
    return selectors.session_get(user=user, session_id=session_id)


async def session_delete(*, user: User, session_id: UUID) -> None:
    """Stop the answer that is being written in it, then delete all of it. Raises SessionNotFoundError."""
    session = await sync_to_async(selectors.session_get)(user=user, session_id=session_id)
    running = session.messages.filter(status=Message.Status.STREAMING)
    async for message_id in running.values_list("pk", flat=True):
        await run_stop(message_id)
    give_up(str(session_id))
    await session.adelete()


def connect() -> None:
    """Once, when the site starts."""
    post_delete.connect(_session_deleted, sender=Session, dispatch_uid="chat.session_deleted")


def _session_deleted(
    sender: type[Model], instance: Session, origin: Model | QuerySet[Any] | None = None, **_: Any
) -> None:
    """What is remembered from it and attached to it goes along. With an account both go by themselves."""
    origin_model = origin.model if isinstance(origin, QuerySet) else type(origin)
    if origin_model is Session:
        conversation_memories_forget(conversation_id=instance.pk)
        collection_of_conversation_delete(conversation_id=instance.pk)
