"""Conversations of a site from before: their questions follow each other, their regenerated answers are versions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from chat import selectors
from chat.models import Message, Session

BEFORE = ("chat", "0004_texts_in_three_languages")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def migrate(*targets: tuple[str, str]) -> Any:
    executor = MigrationExecutor(connection)
    executor.migrate(list(targets))
    return MigrationExecutor(connection).loader.project_state(list(targets)).apps


@pytest.fixture
def old_apps(transactional_db: None) -> Iterator[Any]:
    leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
    yield migrate(BEFORE)
    migrate(*leaves)


@pytest.mark.timeout(300)  # a loaded machine takes long, and half a migration would break the tests that follow
def test_questions_follow_each_other_and_cut_answers_say_so(old_apps: Any) -> None:
    leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
    user = old_apps.get_model("auth", "User").objects.create(username="reader")
    messages = old_apps.get_model("chat", "Message").objects
    session = old_apps.get_model("chat", "Session").objects.create(user=user, title="Fees")

    def at(minute: int, role: str, text: str, **fields: Any) -> Any:
        message = messages.create(session=session, role=role, text=text, **fields)
        messages.filter(pk=message.pk).update(created_at=NOON + timedelta(minutes=minute))
        return message

    first, second = at(1, "user", "Q1"), at(3, "user", "Q2")
    at(2, "assistant", "old", reply_to=first, superseded=True)
    at(5, "assistant", "new", reply_to=first)
    fell = [{"step": "generate", "reason": "the answer was cut at its limit of 1024 tokens"}]
    at(4, "assistant", "long", reply_to=second, status="interrupted", degraded=fell)
    at(7, "assistant", "lost", reply_to=at(6, "user", "Q3"), status="interrupted")
    migrate(*leaves)
    now = Session.objects.get(pk=session.pk)
    shown = list(selectors.message_list(user=User.objects.get(pk=user.pk), session=now))
    assert [message.text for message in shown] == ["Q1", "new", "Q2", "long", "Q3", "lost"]
    assert [question.follows_id for question in shown[0::2]] == [None, shown[0].pk, shown[2].pk]
    assert [answer.status for answer in shown[1::2]] == ["complete", "cut", "interrupted"]
    assert len(selectors.with_versions(shown)[1].version_ids) == 2  # type: ignore[attr-defined]
    assert Message.objects.get(text="old").superseded
