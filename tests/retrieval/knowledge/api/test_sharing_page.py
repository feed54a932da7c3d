"""The page on which an owner says whom a collection, or one document, is shared with."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from retrieval.knowledge.selectors import visible_documents
from retrieval.models import Collection
from tests.clients import client_of
from tests.factories import CollectionFactory, DocumentFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner() -> User:
    return UserFactory(username="maria")


@pytest.fixture
def page(owner: User) -> Client:
    return client_of(owner)


@pytest.fixture
def travel(owner: User) -> Collection:
    return CollectionFactory(owner=owner, name="Travel", visibility="private")


def test_people_and_groups_are_added_and_removed_by_whole_names(
    page: Client, owner: User, travel: Collection
) -> None:
    UserFactory(username="ben")
    Group.objects.create(name="law").user_set.add(owner)
    address = f"/documents/collections/{travel.pk}/sharing/"
    for name, role in (("ben", "reader"), ("ben", "editor"), ("law", "reader")):
        assert page.post(address, {"action": "add", "name": name, "role": role}).status_code == 302
    assert [(one.user.username, one.role) for one in travel.people.all()] == [("ben", "editor")]
    assert [group.name for group in travel.groups.all()] == ["law"]
    told = page.post(address, {"action": "add", "name": "be", "role": "reader"}).content.decode()
    assert "There is no person or group “be”" in told
    for name in ("ben", "law"):
        page.post(address, {"action": "remove", "name": name})
    travel.refresh_from_db()
    assert travel.visibility == "private" and not travel.people.exists()
    page.post(address, {"action": "publish"})
    travel.refresh_from_db()
    assert travel.visibility == "private"  # that takes a permission


def test_whether_a_group_is_there_is_not_to_be_tried_out(page: Client, travel: Collection) -> None:
    Group.objects.create(name="board")
    address = f"/documents/collections/{travel.pk}/sharing/"
    for name in ("board", "nobody"):
        form = {"action": "add", "name": name, "role": "reader"}
        told = page.post(address, form).content.decode()
        assert f"There is no person or group “{name}” that you can share with" in told
        assert "You are in no group" not in told
    assert not travel.groups.exists()


def test_a_group_that_it_is_shared_with_becomes_editor_by_an_owner_who_left_it(
    page: Client, travel: Collection
) -> None:
    law = Group.objects.create(name="law")
    travel.groups.add(law)
    Collection.objects.filter(pk=travel.pk).update(visibility="shared")
    form = {"action": "add", "name": "law", "role": "editor"}
    page.post(f"/documents/collections/{travel.pk}/sharing/", form)
    assert list(travel.editor_groups.all()) == [law]


def test_nobody_else_opens_it(travel: Collection) -> None:
    stranger = client_of(UserFactory())
    document = DocumentFactory(
        collection=CollectionFactory(owner=travel.owner, approved=True)
    )  # which may be read
    assert stranger.get(f"/documents/collections/{travel.pk}/sharing/").status_code == 404
    assert stranger.post(f"/documents/{document.pk}/sharing/").status_code == 404


def test_one_document_is_shared_by_a_collection_of_its_own(
    page: Client, owner: User, travel: Collection
) -> None:
    document, _other = DocumentFactory.create_batch(2, collection=travel)
    reader, ben = UserFactory(username="li"), UserFactory(username="ben")
    for name in ("li",):
        page.post(
            f"/documents/collections/{travel.pk}/sharing/",
            {"action": "add", "name": name, "role": "reader"},
        )
    address = f"/documents/{document.pk}/sharing/"
    assert "Everybody who can read it now" in page.get(address).content.decode()
    sharing = page.post(address).headers["Location"]
    assert page.get(address).headers["Location"] == sharing
    page.post(sharing, {"action": "add", "name": "ben", "role": "reader"})
    assert [one.pk for one in visible_documents(ben)] == [document.pk]
    assert visible_documents(reader).count() == visible_documents(owner).count() == 2


@pytest.mark.parametrize(
    ("may", "begun", "offered"), [(True, "ben", True), (True, "be", False), (False, "ben", False)]
)
def test_names_are_offered_from_three_letters_to_who_may_look_people_up(
    page: Client, owner: User, may: bool, begun: str, offered: bool
) -> None:
    UserFactory(username="benjamin")
    if may:
        owner.user_permissions.add(Permission.objects.get(codename="look_up_people"))
    assert (
        "benjamin" in page.get("/documents/names/", {"begun": begun}).content.decode()
    ) is offered
