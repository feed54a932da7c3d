"""/api/collections."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Group, Permission, User
from rest_framework.test import APIClient

from retrieval.models import Collection
from tests.clients import api_of
from tests.factories import CollectionFactory, DocumentFactory, UserFactory


def names(client: APIClient) -> list[str]:
    return [item["name"] for item in client.get("/api/collections").json()["results"]]


def test_new_collection_is_private(client: APIClient, stranger: APIClient, user: User) -> None:
    response = client.post("/api/collections", {"name": "mine"})
    assert response.status_code == 201
    assert response.json()["visibility"] == "private"
    assert (names(client), names(stranger)) == (["mine"], [])


def test_name_is_taken_once_per_user(client: APIClient, stranger: APIClient) -> None:
    for status in (201, 409):
        assert client.post("/api/collections", {"name": "mine"}).status_code == status
    assert stranger.post("/api/collections", {"name": "mine"}).status_code == 201


@pytest.mark.parametrize(
    "name", ["", "a/b", "site:a", str(UUID(int=0)), "-x", "x" * 101, "a\0b", "a\nb", None, 5]
)
def test_impossible_name_is_400(client: APIClient, name: Any) -> None:
    response = client.post("/api/collections", {"name": name})
    assert response.status_code == 400
    assert "name" in response.json()["error"]["fields"]


def test_shared_collection_is_seen_by_its_groups_members(stranger: APIClient) -> None:
    owner, member = UserFactory(), UserFactory()
    group = Group.objects.create(name="law")
    owner.groups.add(group)
    member.groups.add(group)
    body = {"name": "cases", "visibility": "shared", "groups": ["law"]}
    assert api_of(owner).post("/api/collections", body).json()["groups"] == ["law"]
    assert (names(api_of(member)), names(stranger)) == (["cases"], [])


def test_sharing_needs_a_group_that_one_is_in(client: APIClient) -> None:
    Group.objects.create(name="law")
    for groups in ([], ["law"], ["nothere"]):
        response = client.post(
            "/api/collections", {"name": "x", "visibility": "shared", "groups": groups}
        )
        assert response.status_code == 400
        assert "groups" in response.json()["error"]["fields"]
    assert not Collection.objects.exists()


def test_a_collection_is_not_made_public_without_the_permission(
    client: APIClient, stranger: APIClient
) -> None:
    client.post("/api/collections", {"name": "mine"})
    answers = [
        client.patch("/api/collections/mine", {"visibility": "public"}),
        client.post("/api/collections", {"name": "other", "visibility": "public"}),
    ]
    for answer in answers:
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], list(error["fields"])) == (
            403,
            "permission_denied",
            ["visibility"],
        )
    assert (names(client), names(stranger)) == (["mine"], [])


def test_staff_and_a_permitted_group_publish_and_approve_by_that(staff: APIClient) -> None:
    member = UserFactory()
    group = Group.objects.create(name="publishers")
    group.permissions.add(Permission.objects.get(codename="publish_collection"))
    member.groups.add(group)
    for client in (api_of(member), staff):
        client.post("/api/collections", {"name": "mine"})
        shown = client.patch("/api/collections/mine", {"visibility": "public"}).json()
        assert (shown["visibility"], shown["approved"]) == ("public", True)
        assert (
            client.patch("/api/collections/mine", {"visibility": "private"}).json()["approved"]
            is False
        )


@pytest.mark.parametrize("address", ["{owner}/policies", "{owner}%2Fpolicies", "{id}"])
def test_another_users_collection_is_reached_by_an_exact_address(
    client: APIClient, user: User, address: str
) -> None:
    CollectionFactory(name="policies", owner=user)
    theirs = CollectionFactory(name="policies", owner=UserFactory(username="ann@example.org"))
    url = f"/api/collections/{address.format(owner=theirs.owner.username, id=theirs.pk)}"
    assert client.get(url).json()["address"] == "ann@example.org/policies"
    assert client.delete(url).status_code == 403


@pytest.mark.parametrize("who", ["stranger", "staff"])
@pytest.mark.parametrize("method", ["get", "patch", "delete"])
def test_private_collection_of_another_is_not_there(
    request: pytest.FixtureRequest, user: User, who: str, method: str
) -> None:
    CollectionFactory(name="mine", owner=user, visibility="private")
    response = getattr(request.getfixturevalue(who), method)(
        "/api/collections/mine", {"name": "stolen"}
    )
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "not_found"
    assert Collection.objects.get().name == "mine"


@pytest.mark.parametrize("method", ["patch", "delete"])
def test_reader_may_not_change_a_public_collection(client: APIClient, method: str) -> None:
    CollectionFactory(name="handbook")
    assert (
        getattr(client, method)("/api/collections/handbook", {"name": "stolen"}).status_code == 403
    )
    assert Collection.objects.get().name == "handbook"


def test_deleted_collection_takes_its_documents_and_index_rows_along(
    client: APIClient, user: User, queue: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    collection = CollectionFactory(
        name="mine", owner=user, embedding_model="some-model", embedding_dim=8
    )
    DocumentFactory(collection=collection)
    with django_capture_on_commit_callbacks(execute=True):
        assert client.delete("/api/collections/mine").status_code == 204
    assert not Collection.objects.exists()
    assert queue == [("retrieval.tasks.collection_unindex", str(collection.pk), "some-model", 8)]
