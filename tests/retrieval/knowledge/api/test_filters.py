"""GET /api/filters."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from tests.factories import CollectionFactory, DocumentFactory, UserFactory


def values(client: APIClient, **query: str) -> dict[str, list[tuple[Any, int]]]:
    response = client.get("/api/filters", query)
    assert response.status_code == 200, response.json()
    return {
        field: [(row["value"], row["count"]) for row in rows]
        for field, rows in response.json().items()
    }


def test_values_come_with_how_many_documents_have_them(client: APIClient) -> None:
    handbook = CollectionFactory(name="handbook")
    DocumentFactory(
        collection=handbook,
        department="HR",
        doc_type="policy",
        policy_year=2024,
        tags=["leave", "pay"],
    )
    DocumentFactory(
        collection=handbook, department="HR", doc_type="form", policy_year=2025, tags=["leave"]
    )
    DocumentFactory(collection=handbook, department="", doc_type="", policy_year=None, tags=[])
    assert values(client) == {
        "department": [("HR", 2)],
        "doc_type": [("form", 1), ("policy", 1)],
        "policy_year": [(2025, 1), (2024, 1)],
        "tags": [("leave", 2), ("pay", 1)],
    }


def test_only_values_that_may_be_searched_are_told(client: APIClient, user: User) -> None:
    other = UserFactory()
    private = CollectionFactory(owner=other, visibility="private")
    DocumentFactory(collection=private, department="Secret")
    unapproved = CollectionFactory(owner=other, name="theirs")
    DocumentFactory(collection=unapproved, department="Unasked")
    DocumentFactory(
        collection=CollectionFactory(owner=user, visibility="private"), department="Mine"
    )
    DocumentFactory(collection=CollectionFactory(), department="Unread", status="parsing")
    assert values(client)["department"] == [("Mine", 1)]
    assert values(client, collections=f"{other.username}/theirs")["department"] == [("Unasked", 1)]
    assert client.get("/api/filters", {"collections": str(private.pk)}).status_code == 404


def test_files_of_a_conversation_are_among_them_for_their_owner(
    client: APIClient, stranger: APIClient, user: User
) -> None:
    conversation = uuid.uuid4()
    attached = CollectionFactory(owner=user, visibility="private", conversation_id=conversation)
    DocumentFactory(collection=attached, department="Mine")
    assert values(client)["department"] == []
    assert values(client, session_id=str(conversation))["department"] == [("Mine", 1)]
    assert values(stranger, session_id=str(conversation))["department"] == []


@pytest.mark.parametrize(
    "query",
    [
        {"session_id": "none"},
        {"collections": "x" * 300},
        {"collections": ",".join(["a"] * 51)},
        {"collections": "a\0"},
    ],
)
def test_wrong_parameters_are_refused(client: APIClient, query: dict[str, str]) -> None:
    assert client.get("/api/filters", query).status_code == 400
