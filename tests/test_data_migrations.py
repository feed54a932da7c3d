"""What a site of before holds is kept by the migrations that change it. One walk back and forth serves all these tests:
it takes 20 s of processor time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from chat import selectors
from chat.models import Message, Session
from feedback.models import Burst, Evidence
from feedback.rounds.evidence import evidence_gather
from retrieval.models import Collection
from tests.feedback.rated import answered, passage, rate

# A loaded machine takes long, and half a migration would break the tests that follow.
pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("walked")]
WEIGHTED_VOTES = [("feedback", "0009_judge_agreement")]
BEFORE = [("chat", "0004_texts_in_three_languages"), ("retrieval", "0008_chunk_size")]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Walked:
    """What was made on the way, by its key."""

    session: UUID
    user: int


@pytest.fixture(scope="module")
def walked(django_db_setup: None, django_db_blocker: Any) -> Iterator[Walked]:
    """Back to `BEFORE`, where rows are made as they were then, and forth to the present."""
    with django_db_blocker.unblock():
        leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
        try:
            chunk = passage("Ten books.")
            rate(answered("How many books may an undergraduate borrow?", [chunk]), 5)
            evidence_gather()
            _a_burst_and_a_weighted_vote(_migrated(WEIGHTED_VOTES), chunk.document_id)
            old = _migrated(BEFORE)
            _collections(old)
            session = _conversation(old)
            _migrated(leaves)
            yield Walked(session.pk, session.user_id)
        finally:
            # As after a test: PostgreSQL would count from 1 again, and what all tests find there keeps its numbers.
            call_command("flush", verbosity=0, interactive=False, reset_sequences=False)
            connection.close()


def _migrated(targets: list[tuple[str, str]]) -> Any:
    """The models as they are then."""
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return MigrationExecutor(connection).loader.project_state(targets).apps


def _a_burst_and_a_weighted_vote(old: Any, document: Any) -> None:
    """As an earlier version left them: a burst of no kind, evidence with a weight of its voter."""
    old.get_model("feedback", "Evidence").objects.update(voter_weight=0.3)
    old.get_model("feedback", "Burst").objects.create(document_id=document, day="2026-01-02", votes=16, accounts=1)


def _collections(old: Any) -> None:
    users, collections = old.get_model("auth", "User").objects, old.get_model("retrieval", "Collection").objects
    staff, member = users.create(username="staff", is_staff=True), users.create(username="member")
    collections.create(name="handbook", visibility="public")
    collections.create(name="staffs", visibility="public", owner=staff)
    collections.create(name="documents", visibility="public", owner=member)
    collections.create(name="drafts", visibility="private")


def _conversation(old: Any) -> Any:
    user = old.get_model("auth", "User").objects.create(username="reader")
    messages = old.get_model("chat", "Message").objects
    session = old.get_model("chat", "Session").objects.create(user=user, title="Fees")

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
    return session


def test_public_collections_of_staff_and_site_are_approved_and_others_stay_public() -> None:
    rows = Collection.objects.filter(name__in=["documents", "drafts", "handbook", "staffs"]).order_by("name")
    assert list(rows.values_list("name", "visibility", "approved")) == [
        ("documents", "public", False),
        ("drafts", "private", False),
        ("handbook", "public", True),
        ("staffs", "public", True),
    ]


def test_questions_follow_each_other_and_cut_answers_say_so(walked: Walked) -> None:
    now = Session.objects.get(pk=walked.session)
    shown = list(selectors.message_list(user=User.objects.get(pk=walked.user), session=now))
    assert [message.text for message in shown] == ["Q1", "new", "Q2", "long", "Q3", "lost"]
    assert [question.follows_id for question in shown[0::2]] == [None, shown[0].pk, shown[2].pk]
    assert [answer.status for answer in shown[1::2]] == ["complete", "cut", "interrupted"]
    assert len(selectors.with_versions(shown)[1].version_ids) == 2  # type: ignore[attr-defined]
    assert Message.objects.get(text="old").superseded


def test_bursts_and_evidence_are_kept() -> None:
    assert Burst.objects.get().summary() == "16 votes of 1 account"
    assert Evidence.objects.get().weight == 1.0
