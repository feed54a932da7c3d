"""Collections shared with people: who may read, who may change, who may neither."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from rest_framework.test import APIClient

from retrieval.knowledge.scopes import scope_for
from retrieval.models import Collection
from tests.clients import api_of, client_of
from tests.factories import CollectionFactory, DocumentFactory, UserFactory
from tests.retrieval.knowledge.api.conftest import upload


@pytest.fixture
def anna() -> User:
    return UserFactory(username="anna")


@pytest.fixture
def mine(user: User) -> Collection:
    return CollectionFactory(owner=user, name="plans", visibility="private")


def share(client: APIClient, collection: Collection, **fields: Any) -> Any:
    body = {"visibility": "shared", **fields}
    return client.patch(f"/api/collections/{collection.pk}", body, format="json")


def person(username: str, role: str = "reader") -> dict[str, str]:
    return {"username": username, "role": role}


def test_a_reader_reads_and_changes_nothing(
    client: APIClient, mine: Collection, anna: User
) -> None:
    document = DocumentFactory(collection=mine)
    assert share(client, mine, people=[person("anna")]).json()["people"] == [person("anna")]
    reader = api_of(anna)
    shown = reader.get(f"/api/collections/{mine.pk}").json()
    assert (shown["editable"], shown["owned"], shown["people"]) == (False, False, [])
    assert reader.get(f"/api/documents/{document.pk}").status_code == 200
    assert (
        reader.patch(f"/api/documents/{document.pk}", {"title": "x"}, format="json").status_code
        == 403
    )
    assert upload(reader, collection=str(mine.pk)).status_code == 403


def test_an_editor_changes_the_documents_and_not_the_collection(
    client: APIClient, mine: Collection, anna: User
) -> None:
    share(client, mine, people=[person("anna", "editor")])
    editor = api_of(anna)
    assert editor.get(f"/api/collections/{mine.pk}").json()["editable"]
    entry = upload(editor, collection=str(mine.pk)).json()["documents"][0]
    assert editor.delete(f"/api/documents/{entry['id']}").status_code == 204
    assert (
        editor.patch(f"/api/collections/{mine.pk}", {"name": "hers"}, format="json").status_code
        == 403
    )
    assert editor.delete(f"/api/collections/{mine.pk}").status_code == 403


@pytest.mark.parametrize("by_group", [False, True])
def test_what_somebody_shares_is_searched_once_it_is_accepted(
    client: APIClient, user: User, mine: Collection, anna: User, by_group: bool
) -> None:
    law = Group.objects.create(name="law")
    law.user_set.add(anna, user)
    share(client, mine, **({"groups": ["law"]} if by_group else {"people": [person("anna")]}))
    hers, offer = client_of(anna), f"/documents/shares/{mine.pk}/"

    def searched() -> tuple[bool, bool]:
        row = api_of(anna).get(f"/api/collections/{mine.pk}").json()
        return row["searched"], scope_for(user=anna).ids == (str(mine.pk),)

    assert offer in hers.get("/documents/").content.decode()
    assert "1 collection shared with you" in hers.get("/").content.decode()
    assert searched() == (False, False)
    assert scope_for(user=anna, names=[str(mine.pk)]).ids == (str(mine.pk),)
    hers.post(offer, {"accepted": "1"})
    assert searched() == (True, True)
    assert offer not in hers.get("/documents/").content.decode()
    assert "shared with you" not in hers.get("/").content.decode()
    hers.post(offer, {"accepted": "0"})
    assert searched() == (False, False)
    hers.post(offer, {"accepted": "1"})
    client.patch(f"/api/collections/{mine.pk}", {"visibility": "private"}, format="json")
    assert not scope_for(user=anna).ids
    assert hers.post(offer, {"accepted": "1"}).status_code == 404


def test_a_name_that_is_shared_takes_nobodys_upload_and_no_approved_collections_place(
    client: APIClient, mine: Collection, anna: User
) -> None:
    share(client, mine, people=[person("anna", "editor")])
    assert upload(api_of(anna), collection="plans").json()["documents"][0]["collection_id"] != str(
        mine.pk
    )
    Collection.objects.filter(owner=anna).delete()
    approved = CollectionFactory(owner=UserFactory(), name="plans", approved=True)
    assert [ref.id for ref in scope_for(user=anna, names=["plans"]).collections] == [
        str(approved.pk)
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"people": [person("ann")]}, {"people": [person("ANNA")]}, {"people": [person("anna", "owner")]},
        {"people": ["anna"]}, {"people": []}, {"groups": ["Reviewers"]}, {"editor_groups": ["x"]},
        {"people": [{"username": "anna"}]},
    ],
)  # fmt: skip
def test_names_are_whole_and_roles_known(
    client: APIClient, mine: Collection, anna: User, fields: dict[str, Any]
) -> None:
    Group.objects.get_or_create(name="Reviewers")
    assert share(client, mine, **fields).status_code == 400
    mine.refresh_from_db()
    assert mine.visibility == "private"
