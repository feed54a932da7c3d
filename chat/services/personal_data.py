"""What conversations hold of a person, for `ragsite.accounts.personal_data`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.text import slugify

from chat import selectors
from chat.messages.data import message_record, session_data
from chat.models import Message, Session
from ragsite.accounts.personal_data import Held, Part
from ragsite.core.wording import counted

MESSAGES_AT_ONCE = 100  # read with their sources and steps, or deleted with all that leans on them
SESSIONS_AT_ONCE = 50


class ChatHolder:
    """Conversations with everything in them."""

    def goes(self, user: User) -> Iterable[Held]:
        sessions = Session.objects.filter(user=user).count()
        messages = Message.objects.filter(session__user=user).count()
        yield Held(counted("{count} conversation", "{count} conversations", sessions), sessions)
        yield Held(counted("{count} question or answer", "{count} questions and answers", messages), messages)

    def stays(self, user: User) -> Iterable[Held]:
        return ()

    def parts(self, user: User) -> Iterator[Part]:
        sessions = selectors.session_list(user=user).order_by("created_at", "pk")
        yield Part("conversations.json", map(session_data, sessions.iterator(chunk_size=SESSIONS_AT_ONCE)))
        for session in sessions.iterator(chunk_size=SESSIONS_AT_ONCE):
            name = slugify(session.title, allow_unicode=True)[:60].strip("-") or "conversation"
            path = f"conversations/{session.created_at:%Y-%m-%d}-{name}-{session.pk.hex[:8]}.json"
            yield Part(path, _messages(user, session))

    def erase(self, user: User) -> Iterator[int]:
        messages = Message.objects.filter(session__user=user).order_by()
        while batch := list(messages.values_list("pk", flat=True)[:MESSAGES_AT_ONCE]):
            with transaction.atomic():
                Message.objects.filter(pk__in=batch).delete()
            yield len(batch)
        sessions = Session.objects.filter(user=user).order_by()
        while batch := list(sessions.values_list("pk", flat=True)[:SESSIONS_AT_ONCE]):
            with transaction.atomic():
                Session.objects.filter(pk__in=batch).delete()
            yield len(batch)


def _messages(user: User, session: Session) -> Iterator[dict[str, Any]]:
    messages = selectors.message_list(user=user, session=session, superseded=True)
    yield from map(message_record, messages.iterator(chunk_size=MESSAGES_AT_ONCE))
