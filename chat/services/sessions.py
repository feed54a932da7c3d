"""Change and delete conversations."""

from __future__ import annotations

from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chat import selectors
from chat.models import Message, Session
from chat.services.stop import run_stop
from ragsite.core.errors import InvalidInputError
from ragsite.core.text import clean_text
from ragsite.core.wording import worded

TITLE_MAX_CHARS = 200


def session_update(*, user: User, session_id: UUID, title: str) -> Session:
    """Rename it. Raises SessionNotFoundError, InvalidInputError."""
    title = " ".join(clean_text(title).split())
    if not title or len(title) > TITLE_MAX_CHARS:
        raise InvalidInputError(
            fields={"title": [worded("From 1 to {title_max_chars} characters.", title_max_chars=TITLE_MAX_CHARS)]}
        )
    session = selectors.session_get(user=user, session_id=session_id)
    session.title = title
    session.save(update_fields=["title"])  # renaming does not count as use: the order of the list stays
    return session


async def session_delete(*, user: User, session_id: UUID) -> None:
    """Stop the answer that is being written in it, then delete all of it. Raises SessionNotFoundError."""
    session = await sync_to_async(selectors.session_get)(user=user, session_id=session_id)
    running = session.messages.filter(status=Message.Status.STREAMING)
    async for message_id in running.values_list("pk", flat=True):
        await run_stop(message_id)
    await session.adelete()
