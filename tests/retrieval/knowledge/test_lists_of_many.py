"""Lists are read by indexes: what a page costs does not grow with the rows that it does not show."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from ragsite.core.api.pagination import KeysFirst
from retrieval.engine.values import EmbeddingSpace
from retrieval.knowledge.selectors import (
    collection_list,
    document_list,
    is_overdue,
    own_documents,
    visible_collections,
)
from retrieval.knowledge.term_search import rows_expected
from retrieval.models import Collection, Document
from tests.factories import CollectionFactory, DocumentFactory, UserFactory

pytestmark = pytest.mark.django_db


def plan(rows: QuerySet[Any, Any]) -> str:
    """How the database reads them where there are many: an empty PostgreSQL would read the whole table."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
    return rows.explain()


def of_one_collection(user: User) -> QuerySet[Any, Any]:
    return document_list(user=user, collection="rules")


def newest(user: User) -> QuerySet[Any, Any]:
    return Document.objects.order_by("-created_at", "pk")[:30]


def counted(user: User) -> QuerySet[Any, Any]:
    return own_documents(user).order_by().values_list("collection")


def being_read(user: User) -> QuerySet[Any, Any]:
    collections = visible_collections(user).values("pk")
    return (
        Document.objects.filter(status__in=Document.BEING_READ, collection__in=collections)
        .order_by()
        .values("pk")
    )


def overdue(user: User) -> QuerySet[Any, Any]:
    return Document.objects.filter(is_overdue()).order_by("review_due", "pk")[:30]


def unnotified(user: User) -> QuerySet[Any, Any]:
    return Document.objects.filter(is_overdue(), review_notified=False).order_by("review_due", "pk")


def newer_versions(user: User) -> QuerySet[Any, Any]:
    return Document.objects.get().newer_versions.all()


ORDERED = [
    (of_one_collection, "document_newest_of_collection"),
    (newest, "document_newest"),
    (overdue, "document_review_due"),
    (unnotified, "document_review_unnotified"),
    (newer_versions, "document_replaces"),
]
# SQLite, which sees no values when it plans, takes the index of all states.
COUNTED = [(counted, "document_searched"), (being_read, "document_being_read")]


@pytest.mark.parametrize(
    ("rows", "index"), ORDERED + (COUNTED if connection.vendor == "postgresql" else [])
)
def test_lists_and_counts_of_documents_are_read_by_an_index(
    rows: Callable[[User], QuerySet[Any, Any]], index: str
) -> None:
    user = UserFactory()
    DocumentFactory(collection=CollectionFactory(owner=user, name="rules"))
    steps = plan(rows(user))
    assert re.search(rf"\b{index}\b", steps), steps
    assert "TEMP B-TREE" not in steps


def test_a_late_page_reads_no_rows_but_its_own() -> None:
    user = UserFactory()
    collection = CollectionFactory(owner=user, name="rules")
    for number in range(7):
        DocumentFactory(collection=collection, title=f"Rule {number}")
    documents = document_list(user=user)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        shown = list(KeysFirst(documents, 3).page(2))
    assert [document.title for document in shown] == ["Rule 3", "Rule 2", "Rule 1"]
    skipping = [query["sql"] for query in queries if "OFFSET" in query["sql"]]
    assert len(skipping) == 1
    assert '"title"' not in skipping[0]


def test_documents_are_counted_for_the_collections_of_a_page_alone() -> None:
    user = UserFactory()
    for number in range(4):
        DocumentFactory(collection=CollectionFactory(owner=user, name=f"rules {number}"))
    DocumentFactory(collection=Collection.objects.get(name="rules 3"))
    page = KeysFirst(collection_list(user=user), 2).page(2)
    assert [(row.name, row.document_count) for row in page] == [("rules 2", 1), ("rules 3", 2)]
    with CaptureQueriesContext(connection) as queries:
        list(KeysFirst(collection_list(user=user), 2).page(1))
    counting = [query["sql"] for query in queries if "retrieval_document" in query["sql"]]
    assert len(counting) == 1
    assert "OFFSET" not in counting[0]


def test_rows_that_the_index_has_to_hold_are_the_sum_of_what_documents_say_of_themselves() -> None:
    space = EmbeddingSpace("m", 8)
    collection = CollectionFactory(embedding_model="m", embedding_dim=8)
    DocumentFactory(collection=collection, status="ready", chunk_count=3, summary="About loans.")
    DocumentFactory(collection=collection, status="failed", chunk_count=5)
    DocumentFactory(
        collection=CollectionFactory(embedding_model="other", embedding_dim=8),
        status="ready",
        chunk_count=7,
    )
    with CaptureQueriesContext(connection) as queries:
        assert rows_expected(space) == 4
    assert len(queries) == 3
