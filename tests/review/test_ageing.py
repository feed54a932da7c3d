"""Ageing documents at the desk: overdue ones by the answers that rest on them, for whom may read them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat.review.ageing import ageing_documents
from chat.review.roles import desk_access
from retrieval.knowledge.services.documents import document_supersede
from retrieval.models import Document
from tests.clients import api_of, client_of, person
from tests.factories import (
    CollectionFactory,
    DocumentFactory,
    SourceFactory,
    UserFactory,
    answered,
)

pytestmark = pytest.mark.django_db
ADDRESS = "/api/review/documents"


def overdue(title: str, *, days: int = 1, answers: int = 0, **fields: Any) -> Document:
    document: Document = DocumentFactory(
        title=title, review_due=timezone.localdate() - timedelta(days=days), **fields
    )
    for _ in range(answers):
        answer = answered()
        for marker in (1, 2):
            SourceFactory(message=answer, marker=marker, document_id=document.pk)
    return document


def listed(client: Any, query: str = "") -> list[tuple[str, int]]:
    body = client.get(f"{ADDRESS}{query}").json()
    return [(row["title"], row["answers"]) for row in body["results"]]


def test_the_most_cited_come_first_then_what_waits_longest() -> None:
    overdue("Little", answers=1)
    overdue("Waits", days=9)
    overdue("New")
    much = overdue("Much", days=2, answers=2, uploaded_by=UserFactory(username="mei"))
    DocumentFactory(title="In time", review_due=timezone.localdate())
    DocumentFactory(title="No date")
    client = api_of(person("Reviewers"))
    assert listed(client) == [("Much", 2), ("Little", 1), ("Waits", 0), ("New", 0)]
    first = client.get(ADDRESS).json()["results"][0]
    assert (first["id"], first["owner"], first["overdue"]) == (str(much.pk), "mei", True)


def test_answers_that_do_not_stand_any_more_are_not_counted() -> None:
    document = overdue("Fees")
    SourceFactory(message=answered(superseded=True), document_id=document.pk)
    SourceFactory(message=answered(), document_id=document.pk, cited=False)
    old = answered()
    SourceFactory(message=old, document_id=document.pk)
    type(old).objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=91))
    assert listed(api_of(person("Reviewers"))) == [("Fees", 0)]


def test_documents_that_the_person_may_not_read_are_not_there() -> None:
    owner = UserFactory()
    overdue("Private", collection=CollectionFactory(owner=owner, visibility="private"))
    number = "00000000-0000-0000-0000-000000000001"
    overdue("Attached", collection=CollectionFactory(owner=owner, conversation_id=number))
    replaced = overdue("Earlier")
    document_supersede(document_id=replaced.pk)
    reviewer = person("Administrators")
    assert listed(api_of(reviewer)) == []
    assert "No review is overdue" in client_of(reviewer).get("/review/documents/").content.decode()


def test_the_oldest_are_listed_without_a_date_too() -> None:
    new, old = DocumentFactory(title="New"), DocumentFactory(title="Old")
    Document.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=900))
    SourceFactory(message=answered(), document_id=new.pk)
    assert listed(api_of(person("Reviewers")), "?show=oldest") == [("Old", 0), ("New", 1)]


def test_where_too_many_are_overdue_they_come_by_their_dates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chat.review.ageing.MOST_RANKED", 1)
    overdue("Cited", answers=1)
    overdue("Waits", days=9)
    reviewer = person("Reviewers")
    assert listed(api_of(reviewer)) == [("Waits", 0), ("Cited", 1)]
    page = client_of(reviewer).get("/review/documents/?show=overdue").content.decode()
    assert "the longest overdue come first" in page


def test_a_page_costs_the_same_however_many_are_on_it(
    django_assert_max_num_queries: Any,
) -> None:
    client = client_of(person("Reviewers"))
    for number in range(6):
        overdue(f"Rule {number}", answers=1)
    client.get("/review/documents/")
    with django_assert_max_num_queries(16):
        page = client.get("/review/documents/").content.decode()
    assert page.count('class="gap-row"') == 6


@pytest.mark.parametrize(("role", "staff", "status"), [("", True, 403), ("", False, 404)])
def test_who_has_no_role_sees_nothing(role: str, staff: bool, status: int) -> None:
    user = person(role, is_staff=staff)
    assert api_of(user).get(ADDRESS).status_code == status
    assert client_of(user).get("/review/documents/").status_code == status


@pytest.mark.parametrize("query", ["?show=all", "?shown=overdue", "?page=0", "?page=99"])
def test_a_wrong_filter_is_refused(query: str) -> None:
    expected = 404 if query.startswith("?page") else 400
    assert api_of(person("Reviewers")).get(f"{ADDRESS}{query}").status_code == expected


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has statistics by itself")
@pytest.mark.parametrize("show", ["overdue", "oldest"])
def test_sqlite_reads_an_index_of_the_collections_though_it_has_no_statistics(show: Any) -> None:
    documents = ageing_documents(access=desk_access(person("Reviewers")), show=show)
    with CaptureQueriesContext(connection) as asked:
        documents.count()
        list(documents.values_list("pk", flat=True)[:50])
    for query in asked.captured_queries[-2:]:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plan = "\n".join(row[3] for row in cursor.fetchall())
        assert re.search("document_overdue_in_collection|document_oldest_of_collection", plan), plan
