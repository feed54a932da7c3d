"""By when documents are to be reviewed: on their own date, by their collection's rule, and once more after a review."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone
from rest_framework.test import APIClient

from retrieval.knowledge.review_dates import months_after
from retrieval.knowledge.services.documents import document_move, document_supersede
from retrieval.models import Collection, Document, IngestJob
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory
from tests.retrieval.knowledge.api.conftest import text_file, upload

pytestmark = pytest.mark.django_db


@pytest.fixture
def document(user: User) -> Document:
    """Of the user's, added on 31 January 2024."""
    collection = CollectionFactory(name="rules", owner=user, visibility="private")
    made: Document = DocumentFactory(collection=collection, title="Loans", chunk_count=1)
    ChunkFactory(document=made)
    added = datetime(2024, 1, 31, 12, tzinfo=UTC)
    Document.objects.filter(pk=made.pk).update(created_at=added)
    made.refresh_from_db()
    return made


def patch(client: APIClient, document: Document, **changes: Any) -> Any:
    return client.patch(f"/api/documents/{document.pk}", changes, format="json")


def rule(client: APIClient, document: Document, months: Any) -> Any:
    address = f"/api/collections/{document.collection_id}"
    return client.patch(address, {"review_months": months}, format="json")


def due(document: Document) -> date | None:
    document.refresh_from_db()
    return document.review_due


def test_a_date_of_its_own_is_stored_and_the_index_is_left_alone(
    client: APIClient, document: Document
) -> None:
    body = patch(client, document, review_by="2024-03-12").json()
    assert (body["review_by"], body["review_due"], body["overdue"]) == (
        "2024-03-12",
        "2024-03-12",
        True,
    )
    assert (body["status"], IngestJob.objects.count()) == ("ready", 0)
    body = patch(client, document, review_by=None).json()
    assert (body["review_due"], body["overdue"]) == (None, False)


@pytest.mark.parametrize("wrong", ["soon", "2024-13-01", 20240312, "2024-03-12T10:00", "", True])
def test_what_is_no_date_is_refused(client: APIClient, document: Document, wrong: Any) -> None:
    answer = patch(client, document, review_by=wrong)
    assert answer.status_code == 400 and "review_by" in answer.json()["error"]["fields"]


@pytest.mark.parametrize(
    ("months", "expected"),
    [
        (1, date(2024, 2, 29)),
        (12, date(2025, 1, 31)),
        (13, date(2025, 2, 28)),
        (120, date(2034, 1, 31)),
    ],
)
def test_the_rule_of_a_collection_counts_from_when_a_document_came_in(
    client: APIClient, document: Document, months: int, expected: date
) -> None:
    own = DocumentFactory(collection=document.collection, review_by=date(2030, 1, 1))
    Document.objects.filter(pk=own.pk).update(review_due=own.review_by)
    assert rule(client, document, months).json()["review_months"] == months
    assert (due(document), months_after(date(2024, 1, 31), months)) == (expected, expected)
    assert due(own) == date(2030, 1, 1)
    assert rule(client, document, None).json()["review_months"] is None
    assert due(document) is None


@pytest.mark.parametrize("wrong", [0, 121, -1, 1.5, "12", True])
def test_a_rule_out_of_range_is_refused(client: APIClient, document: Document, wrong: Any) -> None:
    assert rule(client, document, wrong).status_code == 400


def test_who_may_not_change_a_document_sets_no_date(
    stranger: APIClient, client: APIClient, document: Document
) -> None:
    public = DocumentFactory()
    assert patch(stranger, document, review_by="2024-03-12").status_code == 404
    assert patch(client, public, review_by="2024-03-12").status_code == 403
    assert client.post(f"/api/documents/{public.pk}/reviewed").status_code == 403
    assert stranger.post(f"/api/documents/{document.pk}/reviewed").status_code == 404
    assert rule(stranger, document, 12).status_code == 404


def test_many_documents_get_a_date_at_once(client: APIClient, document: Document) -> None:
    other = DocumentFactory(collection=document.collection)
    foreign = DocumentFactory()
    body = {
        "action": "metadata",
        "ids": [str(one.pk) for one in (document, other, foreign)],
        "changes": {"review_by": "2031-05-01"},
    }
    results = client.post("/api/documents/bulk", body, format="json").json()["results"]
    assert [one["outcome"] for one in results] == ["done", "done", "refused"]
    assert (due(document), due(other), due(foreign)) == (date(2031, 5, 1), date(2031, 5, 1), None)


def test_an_upload_brings_its_date_or_takes_the_rule(client: APIClient, document: Document) -> None:
    rule(client, document, 6)
    given = upload(client, text_file("a.txt", b"a"), collection="rules", review_by="2031-05-01")
    ruled = upload(client, text_file("b.txt", b"b"), collection="rules")
    dates = [
        Document.objects.get(pk=one.json()["documents"][0]["id"]).review_due
        for one in (given, ruled)
    ]
    assert dates == [date(2031, 5, 1), months_after(timezone.now().date(), 6)]
    wrong = upload(client, text_file("c.txt", b"c"), collection="rules", review_by="soon")
    assert wrong.status_code == 400


def test_a_new_version_has_as_long_as_the_last_one_had(
    client: APIClient, document: Document
) -> None:
    patch(client, document, review_by="2024-03-01")  # 30 days after it came in
    new = upload(client, text_file("new.txt", b"new"), replaces=str(document.pk)).json()
    version = Document.objects.get(pk=new["documents"][0]["id"])
    assert version.review_due == timezone.localdate() + timedelta(days=30)
    assert version.version == 2


def test_who_says_that_it_still_holds_sets_the_next_date(
    client: APIClient, document: Document, user: User
) -> None:
    patch(client, document, review_by="2024-03-12")
    today = timezone.localdate()
    address = f"/api/documents/{document.pk}/reviewed"
    body = client.post(address, {"months": 3}, format="json").json()
    assert (body["review_by"], body["overdue"]) == (str(months_after(today, 3)), False)
    assert body["reviewed_at"].startswith(str(timezone.now().date()))
    document.refresh_from_db()
    assert document.reviewed_by == user
    rule(client, document, 24)
    assert client.post(address).json()["review_due"] == str(months_after(today, 24))
    assert client.post(address, {"months": 0}, format="json").status_code == 400
    document_supersede(document_id=document.pk)
    assert client.post(address).status_code == 409


def test_moved_into_another_collection_it_follows_its_rule(
    client: APIClient, document: Document, user: User
) -> None:
    other: Collection = CollectionFactory(owner=user, visibility="private", review_months=2)
    document_move(document=document, collection=other)
    assert due(document) == date(2024, 3, 31)


def test_the_list_has_overdue_documents_alone(
    client: APIClient, stranger: APIClient, document: Document
) -> None:
    today = timezone.localdate()
    earlier = DocumentFactory(collection=document.collection, review_due=date(2024, 1, 1))
    document_supersede(document_id=earlier.pk)
    DocumentFactory(collection=document.collection, review_due=today)
    Document.objects.filter(pk=document.pk).update(review_due=today - timedelta(days=1))
    results = client.get("/api/documents?review=overdue").json()["results"]
    assert [(one["title"], one["overdue"]) for one in results] == [("Loans", True)]
    assert stranger.get("/api/documents?review=overdue").json()["count"] == 0
    assert client.get("/api/documents?review=soon").status_code == 400


def test_the_command_refuses_what_is_no_date_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ten books.")
    arguments = ["ingest", str(tmp_path), "--collection", "new", "--review-by", "soon"]
    with pytest.raises(CommandError, match="review_by"):
        call_command(*arguments, stdout=StringIO())
    assert not Document.objects.exists()
