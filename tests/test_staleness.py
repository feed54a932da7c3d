"""Who is notified that a document has aged or has changed: its keeper, and the askers whose answers cite it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from chat.models import Message
from ragsite.models import Notification
from ragsite.operations.notifications.changed_sources import changed_sources_notify
from ragsite.operations.notifications.overdue_documents import overdue_notify
from retrieval.knowledge.services.documents import document_reingest, document_supersede
from retrieval.models import Collection, CollectionPerson, Document, DocumentChange
from tests.clients import api_of
from tests.factories import (
    ChunkFactory,
    CollectionFactory,
    DocumentFactory,
    SessionFactory,
    SourceFactory,
    UserFactory,
    answered,
)

pytestmark = pytest.mark.django_db
YESTERDAY = timezone.localdate() - timedelta(days=1)


@pytest.fixture(autouse=True)
def _nothing_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("celery.app.base.Celery.send_task", lambda *_, **__: None)


def told(user: User) -> list[dict[str, Any]]:
    """What the bell says, the latest first."""
    rows: list[dict[str, Any]] = api_of(user).get("/api/notifications").json()["results"]
    return rows


def texts(user: User) -> list[str]:
    return [row["text"] for row in told(user)]


def answer_from(document: Document, user: User, *, cited: bool = True, **fields: Any) -> Message:
    session = SessionFactory(user=user, **fields)
    answer = answered("What does a room cost?", session=session)
    SourceFactory(message=answer, marker=1, document_id=document.pk, cited=cited)
    SourceFactory(message=answer, marker=2, document_id=document.pk, cited=cited)
    return answer


def replace(document: Document, by: User) -> Document:
    newer: Document = DocumentFactory(
        collection=document.collection, replaces=document, uploaded_by=by
    )
    document_supersede(document_id=document.pk, by_id=by.pk)
    return newer


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory(username="olga")


@pytest.fixture
def fees(owner: User) -> Document:
    document: Document = DocumentFactory(
        title="Fees", collection=CollectionFactory(owner=owner), uploaded_by=owner, chunk_count=1
    )
    ChunkFactory(document=document, text="A room costs 300.", char_end=17)
    return document


# ------------------------------------------------------------------------------------------------ what changed
def test_who_asked_is_told_once_that_a_cited_document_was_replaced(
    fees: Document, owner: User
) -> None:
    reader = UserFactory()
    answer = answer_from(fees, reader)
    answer_from(fees, owner)
    replace(fees, by=owner)
    assert changed_sources_notify() == 1
    (row,) = told(reader)
    assert row["kind"] == "source.changed"
    assert row["text"] == (
        "A document that your answer to “What does a room cost?” cites has changed"
    )
    assert row["address"] == f"/chat/{answer.session_id}/#message-{answer.pk}"
    assert "source.changed" not in {one["kind"] for one in told(owner)}  # who changed it
    data = api_of(reader).get(f"/api/messages/{answer.pk}").json()
    assert data["source_changed_at"] is not None and data["sources"][0]["replaced"]

    api_of(reader).post("/api/notifications/read")
    replace(Document.objects.get(replaces=fees), by=owner)
    document_reingest(document=Document.objects.latest("created_at"), by=owner)
    assert changed_sources_notify() == 0
    assert [one["is_read"] for one in told(reader)] == [True]


def test_many_answers_of_one_person_are_one_notification(fees: Document, owner: User) -> None:
    reader = UserFactory()
    answers = [answer_from(fees, reader) for _ in range(3)]
    replace(fees, by=owner)
    changed_sources_notify()
    (row,) = told(reader)
    assert "3 answers of yours" in row["text"] and row["address"].endswith(str(answers[-1].pk))
    assert not Message.objects.filter(role="assistant", source_changed_at=None).exists()


@pytest.mark.parametrize(
    "reason",
    ["not cited", "superseded", "not kept", "too old", "may not read it", "closed", "failed"],
)
def test_nobody_is_told_of_what_is_not_theirs_to_know_or_does_not_stand_any_more(
    fees: Document, owner: User, reason: str
) -> None:
    reader = UserFactory()
    answer = answer_from(fees, reader, cited=reason != "not cited", kept=reason != "not kept")
    messages = Message.objects.filter(pk=answer.pk)
    match reason:
        case "superseded":
            messages.update(superseded=True)
        case "failed":
            messages.update(status=Message.Status.FAILED)
        case "too old":
            messages.update(created_at=timezone.now() - timedelta(days=91))
        case "may not read it":
            Collection.objects.update(visibility="private")
        case "closed":
            User.objects.filter(pk=reader.pk).update(is_active=False)
    replace(fees, by=owner)
    assert changed_sources_notify() == 0
    assert not Notification.objects.filter(kind="source.changed").exists()
    assert not DocumentChange.objects.exists()


def test_an_answer_from_after_the_change_is_not_told_of(fees: Document, owner: User) -> None:
    replace(fees, by=owner)
    answer_from(fees, UserFactory())
    assert changed_sources_notify() == 0


def test_who_is_beyond_the_bound_is_counted_in_the_log(
    fees: Document, owner: User, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    module = "ragsite.operations.notifications.changed_sources"
    monkeypatch.setattr(f"{module}.MOST_PEOPLE", 1)
    first, last = UserFactory(), UserFactory()
    answer_from(fees, first)
    answer_from(fees, last)
    replace(fees, by=owner)
    assert changed_sources_notify() == 1
    assert (len(told(first)), len(told(last))) == (0, 1)
    assert "2 people cite it, of whom 1 are notified" in caplog.text


@pytest.mark.parametrize(
    ("pieces", "is_told"),
    [(["A room costs 350."], True), (["A room ", "costs 300."], False)],
)
def test_a_document_that_is_read_again_counts_where_its_text_is_another(
    fees: Document, owner: User, pieces: list[str], is_told: bool
) -> None:
    reader = UserFactory()
    answer_from(fees, reader)
    document_reingest(document=fees, by=owner)
    assert changed_sources_notify() == 0  # it is being read
    assert DocumentChange.objects.exists()
    start = 0
    for seq, text in enumerate(pieces):
        ChunkFactory(
            document=fees, seq=seq, text=text, char_start=start, char_end=start + len(text)
        )
        start += len(text)
    Document.objects.update(status=Document.Status.READY)
    changed_sources_notify()
    assert bool(texts(reader)) is is_told
    assert not DocumentChange.objects.exists()


def test_files_of_a_conversation_are_not_noted(owner: User) -> None:
    attached = CollectionFactory(
        owner=owner, conversation_id="00000000-0000-0000-0000-000000000001"
    )
    document = DocumentFactory(collection=attached, chunk_count=1)
    ChunkFactory(document=document)
    document_reingest(document=document, by=owner)
    assert not DocumentChange.objects.exists()


# ------------------------------------------------------------------------------------------------ what has aged
def overdue(document: Document) -> None:
    Document.objects.filter(pk=document.pk).update(review_due=YESTERDAY, review_notified=False)


def test_who_uploaded_a_document_is_told_once_a_date_that_it_is_overdue(
    fees: Document, owner: User
) -> None:
    overdue(fees)
    assert (overdue_notify(), overdue_notify()) == (1, 0)
    (row,) = told(owner)
    assert (row["kind"], row["text"]) == ("document.overdue", "“Fees” is overdue for review")
    assert row["address"] == f"/documents/{fees.pk}/"
    api_of(owner).post(f"/api/documents/{fees.pk}/reviewed", {"months": 1}, format="json")
    assert told(owner)[0]["detail"] == "It has been taken care of since."
    assert overdue_notify() == 0
    api_of(owner).post("/api/notifications/read")
    overdue(fees)
    assert overdue_notify() == 1
    assert [one["is_read"] for one in told(owner)] == [False]


def test_many_overdue_documents_are_one_notification(fees: Document, owner: User) -> None:
    other = DocumentFactory(collection=fees.collection, uploaded_by=owner)
    for document in (fees, other):
        overdue(document)
    overdue_notify()
    (row,) = told(owner)
    assert row["text"] == "2 documents of yours are overdue for review"
    assert row["address"] == "/documents/?review=overdue"


def test_where_the_uploader_sees_it_no_more_the_owner_is_told(owner: User) -> None:
    editor = UserFactory()
    collection = CollectionFactory(owner=owner, visibility="shared")
    person = CollectionPerson.objects.create(collection=collection, user=editor, role="editor")
    document = DocumentFactory(collection=collection, uploaded_by=editor)
    person.delete()
    overdue(document)
    overdue_notify()
    assert (len(told(editor)), len(texts(owner))) == (0, 1)


def test_neither_earlier_versions_nor_what_is_due_today_is_told(
    fees: Document, owner: User
) -> None:
    today = DocumentFactory(collection=fees.collection, uploaded_by=owner)
    Document.objects.filter(pk=today.pk).update(review_due=timezone.localdate())
    overdue(fees)
    replace(fees, by=owner)
    assert overdue_notify() == 0
