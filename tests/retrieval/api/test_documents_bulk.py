"""Many documents at once, and finding them: filters, order, a text inside."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from retrieval.models import Collection, Document
from tests.factories import CollectionFactory, DocumentFactory


@pytest.fixture
def mine(user: User) -> Collection:
    return CollectionFactory(owner=user, name="mine", visibility="private")


@pytest.fixture
def foreign() -> Document:
    return DocumentFactory(title="Foreign")


def bulk(client: APIClient, action: str, *documents: Any, **fields: Any) -> Any:
    ids = [str(getattr(document, "pk", document)) for document in documents]
    return client.post("/api/documents/bulk", {"action": action, "ids": ids, **fields}, format="json")


def outcomes(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [row["outcome"] for row in response.json()["results"]]


def titles(client: APIClient, **query: Any) -> list[str]:
    response = client.get("/api/documents", query)
    assert response.status_code == 200, response.content
    return [row["title"] for row in response.json()["results"]]


def test_each_document_is_deleted_or_says_why_not(client: APIClient, mine: Collection, foreign: Document) -> None:
    first, second = DocumentFactory(collection=mine), DocumentFactory(collection=mine)
    private = DocumentFactory(collection=CollectionFactory(visibility="private"))
    response = bulk(client, "delete", first, foreign, private, second, uuid.uuid4())
    assert outcomes(response) == ["done", "refused", "refused", "done", "refused"]
    assert [row["code"] for row in response.json()["results"]] == [
        "", "permission_denied", "not_found", "", "not_found",
    ]  # fmt: skip
    assert set(Document.objects.all()) == {foreign, private}


def test_documents_move_where_the_user_may_put_them(client: APIClient, user: User, mine: Collection) -> None:
    document, target = DocumentFactory(collection=mine), CollectionFactory(owner=user, name="other")
    assert outcomes(bulk(client, "move", document, collection="other")) == ["done"]
    document.refresh_from_db()
    assert document.collection == target
    assert bulk(client, "move", document, collection=CollectionFactory(name="site").name).status_code == 403
    assert bulk(client, "move", document, collection="nowhere").status_code == 404


def test_metadata_of_many_change_and_what_is_not_named_stays(client: APIClient, mine: Collection) -> None:
    documents = [DocumentFactory(collection=mine), DocumentFactory(collection=mine)]
    assert outcomes(bulk(client, "metadata", *documents, changes={"policy_year": 2031})) == ["done", "done"]
    assert {(row.policy_year, row.doc_type) for row in Document.objects.all()} == {(2031, "regulation")}


def test_what_is_being_read_is_not_read_again(client: APIClient, mine: Collection) -> None:
    ready, parsing = DocumentFactory(collection=mine), DocumentFactory(collection=mine, status="parsing")
    assert outcomes(bulk(client, "read_again", ready, parsing)) == ["done", "refused"]


@pytest.mark.parametrize(
    "body",
    [
        {"action": "burn", "ids": [str(uuid.uuid4())]},
        {"action": "delete", "ids": []},
        {"action": "delete", "ids": [5]},
        {"action": "delete", "ids": [str(uuid.uuid4())] * 201},
        {"action": "move", "ids": [str(uuid.uuid4())]},
        {"action": "metadata", "ids": [str(uuid.uuid4())]},
        {"action": "delete", "ids": [str(uuid.uuid4())], "collection": "mine"},
        {"action": "metadata", "ids": [str(uuid.uuid4())], "changes": {"title": "x"}},
    ],
)
def test_a_body_that_means_nothing_is_bad_input(client: APIClient, body: dict[str, Any]) -> None:
    assert client.post("/api/documents/bulk", body, format="json").status_code == 400


def test_the_list_comes_in_the_order_asked_for(client: APIClient, mine: Collection) -> None:
    for title, year, size in (("b", None, 1), ("A", 2020, 3), ("c", 2024, 2)):
        DocumentFactory(collection=mine, title=title, policy_year=year, size_bytes=size)
    orders = {sort: titles(client, sort=sort) for sort in ("title", "-title", "size", "-year", "created_at", "")}
    assert orders == {
        "title": ["A", "b", "c"], "-title": ["c", "b", "A"], "size": ["b", "c", "A"], "-year": ["c", "A", "b"],
        "created_at": ["b", "A", "c"], "": ["c", "A", "b"],
    }  # fmt: skip
    assert client.get("/api/documents", {"sort": "owner"}).status_code == 400
