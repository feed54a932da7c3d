"""Change and delete conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.utils import timezone

from chat import selectors
from chat.models import Message, Session
from chat.services.stop import run_stop
from ragsite.core.errors import InvalidInputError
from ragsite.core.text import clean_line
from ragsite.core.wording import worded

TITLE_MAX_CHARS = 200
FOLDER_MAX_CHARS = 100


def session_update(*, user: User, session_id: UUID, changes: Mapping[str, Any]) -> Session:
    """Set `title`, `pinned`, `archived` or `folder` ("" or None: none); what is archived is no longer pinned.

    Raises SessionNotFoundError, InvalidInputError.
    """
    session = selectors.session_get(user=user, session_id=session_id)
    now = timezone.now()
    columns: dict[str, Any] = {}
    if "title" in changes:
        columns["title"] = _named(changes["title"], field="title", least=1, most=TITLE_MAX_CHARS)
    if "folder" in changes:
        columns["folder"] = _named(changes["folder"] or "", field="folder", least=0, most=FOLDER_MAX_CHARS)
    if "pinned" in changes:
        columns["pinned_at"] = (session.pinned_at or now) if changes["pinned"] else None
    if "archived" in changes:
        columns["archived_at"] = (session.archived_at or now) if changes["archived"] else None
        if changes["archived"]:
            columns["pinned_at"] = None
    # That does not count as use: the order of the list stays. What another tab changes meanwhile stays, too.
    Session.objects.filter(pk=session.pk).update(**columns)
    return selectors.session_get(user=user, session_id=session_id)


def _named(text: str, *, field: str, least: int, most: int) -> str:
    name = clean_line(text)
    if not least <= len(name) <= most:
        raise InvalidInputError(fields={field: [worded("From {least} to {most} characters.", least=least, most=most)]})
    return name


async def session_delete(*, user: User, session_id: UUID) -> None:
    """Stop the answer that is being written in it, then delete all of it. Raises SessionNotFoundError."""
    session = await sync_to_async(selectors.session_get)(user=user, session_id=session_id)
    running = session.messages.filter(status=Message.Status.STREAMING)
    async for message_id in running.values_list("pk", flat=True):
        await run_stop(message_id)
    await session.adelete()
