"""What may happen to a collection, and by whom."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User

from ragsite.core.errors import InvalidInputError
from retrieval.models import Collection
from retrieval.services.collections import (
    collection_approve,
    collection_create,
    collection_ensure,
    collection_touch,
    collection_update,
)
from tests.factories import CollectionFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return UserFactory(username="ada")


def test_a_collection_is_made_as_it_is_asked_for(user: User) -> None:
    group = Group.objects.create(name="law")
    group.user_set.add(user)
    made = collection_create(
        owner=user, name=" cases ", visibility="shared", description=" All of them. ", groups=["law"]
    )
    assert (made.owner, made.name, made.visibility, made.description) == (user, "cases", "shared", "All of them.")
    assert list(made.groups.all()) == [group]


def test_groups_that_one_is_not_in_are_named(user: User) -> None:
    Group.objects.create(name="law")
    with pytest.raises(InvalidInputError) as caught:
        collection_create(owner=user, name="cases", visibility="shared", groups=["law", "art"])
    assert caught.value.fields == {"groups": ["You are in no group named “art”.", "You are in no group named “law”."]}


def test_staff_share_with_any_group() -> None:
    group = Group.objects.create(name="law")
    made = collection_create(owner=UserFactory(is_staff=True), name="cases", visibility="shared", groups=["law"])
    assert list(made.groups.all()) == [group]


def test_a_change_leaves_what_it_does_not_name(user: User) -> None:
    group = Group.objects.create(name="law")
    group.user_set.add(user)
    made = collection_create(owner=user, name="cases", visibility="shared", description="All.", groups=["law"])
    collection_update(collection=made, changes={"name": " files "}, by=user)
    made.refresh_from_db()
    assert (made.name, made.visibility, made.description) == ("files", "shared", "All.")
    assert list(made.groups.all()) == [group]
    with pytest.raises(InvalidInputError):
        collection_update(collection=made, changes={"groups": []}, by=user)


def test_a_collection_that_is_public_no_more_has_to_be_approved_again(user: User) -> None:
    public = CollectionFactory(owner=user, visibility="public", approved=True)
    collection_update(collection=public, changes={"visibility": "private"}, by=user)
    public.refresh_from_db()
    assert (public.visibility, public.approved) == ("private", False)


@pytest.mark.parametrize(
    ("owned", "visibility", "done"),
    [(True, "public", True), (True, "private", False), (True, "shared", False), (False, "public", False)],
)
def test_only_public_collections_of_users_are_approved(owned: bool, visibility: str, done: bool) -> None:
    collection = CollectionFactory(owner=UserFactory() if owned else None, visibility=visibility)
    other = CollectionFactory(owner=UserFactory())
    before = collection.updated_at
    assert collection_approve(collection=collection, approved=True) is done
    for row in (collection, other):
        row.refresh_from_db()
    assert (collection.approved, other.approved) == (done, False)
    assert (collection.updated_at > before) is done
    if done:
        assert collection_approve(collection=collection, approved=False)
        collection.refresh_from_db()
        assert not collection.approved


def test_changed_content_makes_the_next_version_of_one_collection() -> None:
    touched, other = CollectionFactory(version=3), CollectionFactory(version=3)
    before = touched.updated_at
    collection_touch(collection_id=touched.pk)
    for row in (touched, other):
        row.refresh_from_db()
    assert (touched.version, other.version) == (4, 3)
    assert touched.updated_at > before


# ------------------------------------------------------------------------------------------------ uploads
def test_a_collection_that_is_needed_is_made_once_for_its_owner(user: User) -> None:
    theirs = CollectionFactory(name="notes", owner=UserFactory())
    made = collection_ensure(owner=user, name="notes", description="Mine.")
    assert (made.owner, made.description) == (user, "Mine.")
    assert collection_ensure(owner=user, name="notes") == made != theirs
    assert Collection.objects.count() == 2
