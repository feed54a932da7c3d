"""What may happen to a collection, and by whom."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User

from ragsite.core.errors import InvalidInputError
from retrieval.services.collections import collection_approve, collection_create, collection_update
from tests.factories import CollectionFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return UserFactory(username="ada")


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
