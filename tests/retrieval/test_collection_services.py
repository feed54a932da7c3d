"""What may happen to a collection, and by whom."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User

from ragsite.core.errors import ConflictError, InvalidInputError, PermissionDeniedError
from retrieval.errors import CollectionNotFoundError
from retrieval.models import Collection
from retrieval.services.collections import (
    collection_approve,
    collection_create,
    collection_ensure,
    collection_for_upload,
    collection_touch,
    collection_update,
    collection_writable,
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


def test_a_collection_is_private_unless_said_otherwise(user: User) -> None:
    assert collection_create(owner=user, name="mine").visibility == "private"


def test_the_site_may_make_a_public_collection_and_approves_it(user: User) -> None:
    made = collection_create(owner=None, name="handbook", visibility="public")
    assert (made.owner, made.approved) == (None, True)
    with pytest.raises(PermissionDeniedError) as caught:
        collection_create(owner=user, name="mine", visibility="public")
    assert list(caught.value.fields) == ["visibility"]


def test_a_name_is_taken_once(user: User) -> None:
    collection_create(owner=user, name="mine")
    with pytest.raises(ConflictError) as caught:
        collection_create(owner=user, name="mine")
    assert caught.value.message == "You already have a collection of this name."
    assert caught.value.fields == {"name": ["You already have a collection of this name."]}


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
def test_an_upload_goes_to_ones_own_collection_or_a_new_private_one(user: User) -> None:
    CollectionFactory(name="notes", owner=UserFactory())
    made = collection_for_upload(user=user, name="notes")
    assert (made.owner, made.visibility) == (user, "private")
    assert collection_for_upload(user=user, name="notes") == collection_for_upload(user=user, name="ada/notes") == made


def test_an_upload_of_staff_goes_to_the_sites_collection() -> None:
    sites = CollectionFactory(name="handbook")
    assert collection_for_upload(user=UserFactory(is_staff=True), name="handbook") == sites


def test_an_upload_to_an_address_of_ones_own_makes_the_collection(user: User) -> None:
    assert collection_for_upload(user=user, name="ada/notes").address == "ada/notes"


def test_an_upload_to_what_one_may_only_read_or_not_see_is_refused(user: User) -> None:
    readable = CollectionFactory(name="policies", owner=UserFactory(username="bob"))
    with pytest.raises(PermissionDeniedError, match="may read the collection “policies” but not change it"):
        collection_for_upload(user=user, name=readable.address)
    with pytest.raises(CollectionNotFoundError) as caught:
        collection_for_upload(user=user, name="bob/nothere")
    assert caught.value.fields == {"collection": ["bob/nothere"]}


def test_an_impossible_name_of_an_upload_is_told_under_its_own_field(user: User) -> None:
    with pytest.raises(InvalidInputError) as caught:
        collection_for_upload(user=user, name="-x")
    assert list(caught.value.fields) == ["collection"]


def test_a_collection_that_is_needed_is_made_once_for_its_owner(user: User) -> None:
    theirs = CollectionFactory(name="notes", owner=UserFactory())
    made = collection_ensure(owner=user, name="notes", description="Mine.")
    assert (made.owner, made.description) == (user, "Mine.")
    assert collection_ensure(owner=user, name="notes") == made != theirs
    assert Collection.objects.count() == 2


def test_only_what_one_may_change_is_writable(user: User) -> None:
    own, sites = CollectionFactory(owner=user), CollectionFactory()
    assert collection_writable(collection=own, user=user) == own
    assert collection_writable(collection=sites, user=UserFactory(is_staff=True)) == sites
    with pytest.raises(PermissionDeniedError):
        collection_writable(collection=sites, user=user)
