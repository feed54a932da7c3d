"""What a collection's name means, and to whom; who may do what with one."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User

from ragsite.core.errors import InvalidInputError
from retrieval.knowledge.selectors import collection_find
from retrieval.knowledge.services.collections import collection_create, collection_update
from retrieval.models import Collection
from tests.factories import CollectionFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    user = UserFactory(username="ada")
    user.groups.add(Group.objects.create(name="law"))
    return user


@pytest.fixture
def namesakes(user: User) -> list[Collection]:
    """All called `policies`, in the order in which `user` means them, made in the opposite one."""
    last = CollectionFactory(name="policies", owner=UserFactory())
    approved = CollectionFactory(name="policies", owner=UserFactory(), approved=True)
    shared = CollectionFactory(name="policies", owner=UserFactory(), visibility="shared")
    shared.groups.add(Group.objects.get(name="law"))
    sites = CollectionFactory(name="policies")
    own = CollectionFactory(name="policies", owner=user, visibility="private")
    CollectionFactory(name="policies", owner=UserFactory(), visibility="private")
    return [own, sites, shared, approved, last]


def test_a_plain_name_means_ones_own_then_the_sites_then_shared_then_approved(
    user: User, namesakes: list[Collection]
) -> None:
    for expected in namesakes:
        assert collection_find(user=user, name="policies") == expected
        expected.delete()
    assert collection_find(user=user, name="policies") is None


def test_an_exact_address_names_one_collection_for_everybody(
    user: User, namesakes: list[Collection]
) -> None:
    for collection in namesakes:
        for address in (collection.address, str(collection.pk), str(collection.pk).upper()):
            assert collection_find(user=user, name=address) == collection


def test_a_user_called_site_takes_no_address_of_the_site(user: User) -> None:
    theirs = CollectionFactory(name="policies", owner=UserFactory(username="site"))
    sites = CollectionFactory(name="policies")
    assert collection_find(user=user, name="site/policies") == theirs
    assert collection_find(user=user, name="site:policies") == sites


# ------------------------------------------------------------------------------------------------ changes
def test_a_change_leaves_what_it_does_not_name(user: User) -> None:
    made = collection_create(
        owner=user, name="cases", visibility="shared", description="All.", groups=["law"]
    )
    collection_update(collection=made, changes={"name": " files "}, by=user)
    made.refresh_from_db()
    assert (made.name, made.visibility, made.description) == ("files", "shared", "All.")
    assert [group.name for group in made.groups.all()] == ["law"]
    with pytest.raises(InvalidInputError):
        collection_update(collection=made, changes={"groups": []}, by=user)
