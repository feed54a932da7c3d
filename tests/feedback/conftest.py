from __future__ import annotations

from typing import Any

import pytest
from kombu.exceptions import OperationalError
from rest_framework.test import APIClient

from chat.models import Message
from tests.clients import api_of
from tests.factories import MessageFactory


@pytest.fixture(autouse=True)
def queue_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker takes a round from the queue: who wants one runs it at once."""

    def away(*_: Any, **__: Any) -> None:
        raise OperationalError

    monkeypatch.setattr("celery.app.base.Celery.send_task", away)


@pytest.fixture
def no_questions_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard has nothing to search, so no index is needed; `test_guard.py` has one."""
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch, queue_away: None) -> list[tuple[str, dict[str, Any]]]:
    """A queue that takes messages: what was sent, task and arguments."""
    messages: list[tuple[str, dict[str, Any]]] = []

    def send(_: Any, task: str, *__: Any, kwargs: dict[str, Any] | None = None, **___: Any) -> None:
        messages.append((task, kwargs or {}))

    monkeypatch.setattr("celery.app.base.Celery.send_task", send)
    return messages


@pytest.fixture
def answer(db: None) -> Message:
    return MessageFactory()


@pytest.fixture
def client(answer: Message) -> APIClient:
    """Signed in as the answer's owner."""
    return api_of(answer.session.user)
