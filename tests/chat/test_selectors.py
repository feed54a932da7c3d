"""Reads of conversations: whose they are, in which order, and what a question is told of those before it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from chat import selectors
from chat.models import Message, Session
from retrieval.values import HistoryMessage
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


@pytest.mark.parametrize("search", ["研討室", "研讨室", "台灣研讨室 100%_"])
def test_sessions_are_searched_in_both_chinese_scripts(user: User, session: Session, search: str) -> None:
    titled = SessionFactory(user=user, title="台湾研讨室 100%_")
    at(1, session, "臺灣研討室 100%_？")
    at(1, SessionFactory(user=user), "臺灣研討會 100 %")
    assert set(selectors.session_list(user=user, search=search)) == {titled, session}


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
@pytest.fixture
def dialogue(session: Session) -> list[Message]:
    """Two questions with answers; the first one was answered anew at last."""
    first = at(1, session, "Q1")
    old = at(2, session, "A1", reply_to=first, superseded=True)
    second = at(3, session, "Q2")
    answer = at(4, session, "A2", reply_to=second)
    anew = at(5, session, "A1 anew", reply_to=first)
    return [first, old, anew, second, answer]


# ------------------------------------------------------------------------------------------------ history
def test_a_question_is_told_the_last_messages_before_it_oldest_first(session: Session, dialogue: list[Message]) -> None:
    at(1, SessionFactory(), "of another session")
    question = at(6, session, "Q3")
    at(7, session, "Q4")
    texts = [(entry.role, entry.text) for entry in selectors.history_before(question, limit=10)]
    assert texts == [("user", "Q1"), ("assistant", "A1 anew"), ("user", "Q2"), ("assistant", "A2")]
    assert selectors.history_before(question, limit=1) == (HistoryMessage(role="assistant", text="A2"),)
