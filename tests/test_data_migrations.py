"""What a site of before holds is kept by the migrations that change it. One way serves all these tests, from an empty
database over the rows of then to the present: it takes 10 s of processor time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from chat import selectors
from chat.models import Message, Session
from feedback.models import Evidence
from retrieval.models import Collection

# A loaded machine takes long.
pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300), pytest.mark.usefixtures("walked")]
BEFORE = [
    ("chat", "0004_texts_in_three_languages"),
    ("feedback", "0009_judge_agreement"),
    ("retrieval", "0008_chunk_size"),
]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Walked:
    """What was made on the way, by its key."""

    session: UUID
    user: int


@pytest.fixture(scope="module")
def walked(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walked]:
    """To `BEFORE`, where rows are made as they were then, and on to the present; in a database of its own."""
    with django_db_blocker.unblock(), _empty_database(tmp_path_factory.mktemp("walked")):
        leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
        old = _migrated(BEFORE)
        _collections(old)
        session = _conversation(old)
        _a_weighted_vote(old, session)
        _migrated(leaves)
        yield Walked(session.pk, session.user_id)


@contextmanager
def _empty_database(folder: Path) -> Iterator[None]:
    """In place of the one that the other tests use."""
    usual = connection.settings_dict["NAME"]
    connection.close()
    on_server = connection.vendor == "postgresql"
    own = f"{usual}_walked" if on_server else str(folder / "walked.sqlite3")
    if on_server:
        _on_server(f'CREATE DATABASE "{own}"')
    connection.settings_dict["NAME"] = own
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = usual
        if on_server:
            _on_server(f'DROP DATABASE "{own}" WITH (FORCE)')


def _on_server(statement: str) -> None:
    with connection.creation._nodb_cursor() as cursor:
        cursor.execute(statement)


def _migrated(targets: list[tuple[str, str]]) -> Any:
    """The models as they are then."""
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return MigrationExecutor(connection).loader.project_state(targets).apps


def _a_weighted_vote(old: Any, session: Any) -> None:
    """As an earlier version left it: evidence with a weight of its voter."""

    def make(name: str, **fields: Any) -> Any:
        return old.get_model(*name.split(".")).objects.create(**fields)

    message = old.get_model("chat", "Message").objects.get(text="new")
    collection = old.get_model("retrieval", "Collection").objects.get(name="handbook")
    document = make("retrieval.Document", collection=collection, title="Loans", file_name="loans.md")
    question = make("feedback.RatedQuestion", signature="q1", text="Q1", terms="q1")
    passage = make("feedback.RatedPassage", document=document, content_hash="0" * 32, chunk_id=uuid4())
    rating = make("feedback.Rating", message=message, user_id=session.user_id, score=5)
    make(
        "feedback.Evidence", rating=rating, voter_id=session.user_id, passage=passage, question=question, day=20_000,
        weight=1.0, document_weight=0.1, voter_weight=0.3,
    )  # fmt: skip


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


def test_evidence_is_kept() -> None:
    assert Evidence.objects.get().weight == 1.0
