"""Reads of conversations: whose they are, in which order, and what a question is told of those before it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from chat import selectors
from chat.models import Message, Session
from tests.factories import MessageFactory, SessionFactory, SourceFactory, UserFactory

pytestmark = pytest.mark.django_db
NOON = timezone.now().replace(hour=12, minute=0, second=0, microsecond=0)


@pytest.fixture
def user() -> User:
    return UserFactory()


@pytest.fixture
def session(user: User) -> Session:
    return SessionFactory(user=user)


def at(minute: int, session: Session, text: str, **fields: Any) -> Message:
    """A message of this minute: an answer where it replies to one, else a question."""
    message: Message = MessageFactory(session=session, text=text, question="reply_to" not in fields, **fields)
    message.created_at = NOON + timedelta(minutes=minute)
    message.save(update_fields=["created_at"])
    return message


def test_messages_come_with_what_is_shown_of_them_in_a_fixed_number_of_queries(
    user: User, session: Session, django_assert_num_queries: Any
) -> None:
    for minute in range(3):
        SourceFactory(message=at(minute, session, "A", reply_to=None))
    messages = list(selectors.message_list(user=user, session=session))
    with django_assert_num_queries(0):
        assert [len(message.sources.all()) + len(message.decision_steps.all()) for message in messages] == [1, 1, 1]
        assert {message.session.pk for message in messages} == {session.pk}


# ------------------------------------------------------------------------------------------------ their order
# ------------------------------------------------------------------------------------------------ history
