"""Temporary conversations: deleted a day after they began, remembered nowhere, and at no desk.

A temporary `Session` is one that is not `kept` and has a moment at which it ends. The administrator allows, forbids or
enforces them; what has begun stays what it is until its owner keeps it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from chat import selectors
from chat.errors import SessionNotFoundError
from chat.models import Session
from ragsite.accounts.auth import key_of
from ragsite.core.errors import ConflictError, InvalidInputError, PermissionDeniedError
from ragsite.core.messages import worded
from ragsite.runtime import live_settings

KEPT_FOR = timedelta(hours=24)
MOST_EMPTY = 100  # conversations of one user that nothing was asked in


class TemporaryForbiddenError(PermissionDeniedError):
    code = "temporary_chat_forbidden"
    message = worded(
        "Temporary chats are switched off on this site; begin an ordinary conversation, or ask an administrator."
    )


class TemporaryEnforcedError(PermissionDeniedError):
    code = "temporary_chat_enforced"
    message = worded("On this site every new conversation is temporary and cannot be kept.")


class TemporaryChatError(ConflictError):
    """What only a conversation that is kept can have."""

    code = "temporary_chat"
    message = worded("This conversation is temporary; keep it first.")


def session_new(
    *, user: User, kept: bool = True, temporary: bool | None = None, **columns: Any
) -> Session:
    """A conversation that is not stored yet. temporary: whether one that is kept is to be deleted after a day; None: as
    the site has it. Raises TemporaryForbiddenError, TemporaryEnforcedError."""
    expires_at = _expiry(temporary) if kept else None
    return Session(
        user=user,
        key=key_of(user),
        kept=kept and expires_at is None,
        expires_at=expires_at,
        **columns,
    )


def session_begin(*, user: User, temporary: bool | None = None) -> Session:
    """An empty conversation. Raises TemporaryForbiddenError, TemporaryEnforcedError, ConflictError where the user has
    MOST_EMPTY of them."""
    live_settings.refresh()
    session = session_new(user=user, temporary=temporary)
    empty = selectors.own_sessions(user).filter(messages=None)
    if empty.count() >= MOST_EMPTY:
        raise ConflictError(
            worded(
                "You have {limit} conversations without a question; ask in one of them, or delete some.",
                limit=MOST_EMPTY,
            ),
            code="too_many_empty_conversations",
        )
    session.save()
    return selectors.session_get(user=user, session_id=session.pk)


def temporary_set(*, user: User, session: Session, temporary: bool) -> None:
    """Keep a temporary conversation as an ordinary one (temporary: False); nothing where it is so.

    Raises InvalidInputError for an ordinary one that is to become temporary, TemporaryEnforcedError,
    SessionNotFoundError where its time is over.
    """
    if temporary == session.is_temporary:
        return
    if temporary:
        raise InvalidInputError(
            fields={"temporary": [worded("Only a new conversation can be begun so; leave it out.")]}
        )
    live_settings.refresh()
    if settings.RAG.conversations.temporary_chat == "enforced":
        raise TemporaryEnforcedError
    rows = selectors.own_sessions(user).filter(pk=session.pk)
    if not rows.update(kept=True, expires_at=None):
        raise SessionNotFoundError


def _expiry(temporary: bool | None) -> datetime | None:
    """When a conversation that begins now ends; None: it is kept."""
    rule = settings.RAG.conversations.temporary_chat
    if temporary and rule == "forbidden":
        raise TemporaryForbiddenError
    if temporary is False and rule == "enforced":
        raise TemporaryEnforcedError
    if not temporary and rule != "enforced":
        return None
    return timezone.now() + KEPT_FOR
