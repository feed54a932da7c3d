"""Who may search what, and what the engine gets from the database."""

from __future__ import annotations

import uuid

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser, Group, User

from ragsite.core.errors import InvalidInputError
from retrieval.errors import CollectionNotFoundError
from retrieval.models import Chunk, Collection, Document
from retrieval.selectors import DatabaseChunkStore, collection_ref, scope_for, scope_for_all
from retrieval.values import EmbeddingSpace, SearchScope, Vocabulary
from tests.factories import ChunkFactory, CollectionFactory, UserFactory

pytestmark = pytest.mark.django_db


def scope_names(user: User | AnonymousUser | None, *names: str) -> list[str]:
    return [ref.name for ref in scope_for(user=user, names=names).collections]


@pytest.fixture
def owner() -> User:
    """Owns a private, a shared and an approved public collection; the group `law` may read the shared one."""
    owner = UserFactory()
    CollectionFactory(name="private", owner=owner, visibility="private")
    CollectionFactory(name="public", owner=owner, visibility="public", approved=True)
    shared = CollectionFactory(name="shared", owner=owner, visibility="shared")
    shared.groups.add(Group.objects.create(name="law"))
    return owner


def test_scope_is_what_the_user_may_read(owner: User) -> None:
    member = UserFactory()
    member.groups.add(Group.objects.get())
    assert scope_names(owner) == ["private", "public", "shared"]
    assert scope_names(member) == ["public", "shared"]
    assert scope_names(UserFactory()) == ["public"]
    assert scope_names(UserFactory(is_staff=True, is_superuser=True)) == ["public"]
    assert scope_names(None) == scope_names(AnonymousUser()) == ["public"]


def test_a_public_collection_that_is_not_approved_has_to_be_named(owner: User) -> None:
    Collection.objects.filter(name="public").update(approved=False)
    for reader in (UserFactory(), UserFactory(is_staff=True), None):
        assert scope_names(reader) == []
        assert scope_names(reader, "public") == ["public"]
    assert scope_names(owner) == ["private", "public", "shared"]


def test_the_sites_public_collections_are_searched_by_everybody() -> None:
    CollectionFactory(name="handbook")
    CollectionFactory(name="drafts", visibility="private")
    assert scope_names(UserFactory()) == scope_names(None) == ["handbook"]
    assert scope_names(UserFactory(is_staff=True)) == ["drafts", "handbook"]


def test_a_collection_named_twice_is_searched_once(owner: User) -> None:
    address = Collection.objects.get(name="private").address
    assert scope_names(owner, "private", address) == ["private"]


def test_groups_of_a_collection_made_private_again_see_nothing(owner: User) -> None:
    member = UserFactory()
    member.groups.add(Group.objects.get())
    Collection.objects.filter(name="shared").update(visibility="private")
    assert scope_names(member) == ["public"]


@pytest.mark.parametrize("names", [["private"], ["nothere"], ["public", "private"], ["'; --"]])
def test_unknown_and_invisible_names_are_refused_alike(owner: User, names: list[str]) -> None:
    with pytest.raises(CollectionNotFoundError) as caught:
        scope_for(user=UserFactory(), names=names)
    assert caught.value.fields == {"collections": [name for name in names if name != "public"]}


def test_name_means_the_own_collection_first_then_the_sites(owner: User) -> None:
    sites = CollectionFactory(name="public")
    own = Collection.objects.get(name="public", owner=owner)
    assert scope_for(user=owner, names=["public"]).ids == (str(own.pk),)
    assert scope_for(user=UserFactory(), names=["public"]).ids == (str(sites.pk),)


def test_commands_see_everything(owner: User) -> None:
    assert [ref.name for ref in scope_for_all().collections] == ["private", "public", "shared"]
    assert [ref.name for ref in scope_for_all(names=["private"]).collections] == ["private"]
    with pytest.raises(CollectionNotFoundError):
        scope_for_all(names=["nothere"])


def test_commands_take_a_plain_name_for_the_sites_and_refuse_an_ambiguous_one(owner: User) -> None:
    second = CollectionFactory(name="private", owner=UserFactory())
    with pytest.raises(InvalidInputError, match=second.address):
        scope_for_all(names=["private"])
    assert scope_for_all(names=[second.address]).ids == (str(second.pk),)
    sites = CollectionFactory(name="private")
    assert scope_for_all(names=["private"]).ids == (str(sites.pk),)


def test_reference_names_the_embedding_space() -> None:
    embedded = CollectionFactory(embedding_model="some-model", embedding_dim=8, version=3)
    assert collection_ref(embedded).space == EmbeddingSpace("some-model", 8)
    assert collection_ref(embedded).version == 3
    assert collection_ref(CollectionFactory()).space is None


@pytest.mark.django_db(transaction=True)
async def test_store_gives_only_chunks_inside_the_scope() -> None:
    inside, outside = await make_two_chunks()
    scope = SearchScope((collection_ref(inside.document.collection),))
    asked = [str(inside.pk), str(outside.pk), str(uuid.uuid4()), "not-an-id", ""]
    chunks = await DatabaseChunkStore().fetch(asked, scope=scope)
    assert list(chunks) == [str(inside.pk)]
    chunk = chunks[str(inside.pk)]
    assert (chunk.text, chunk.title, chunk.page, chunk.tags) == (inside.text, inside.document.title, 1, ("exams",))


@pytest.mark.django_db(transaction=True)
async def test_vocabulary_follows_the_collections_version() -> None:
    inside, _ = await make_two_chunks()
    collection = inside.document.collection
    store = DatabaseChunkStore()
    first = await store.vocabulary(SearchScope((collection_ref(collection),)))
    assert first == Vocabulary(
        departments=("Registry",), doc_types=("regulation",), policy_years=(2025,), tags=("exams",)
    )
    await Document.objects.filter(pk=inside.document_id).aupdate(department="Finance")
    assert await store.vocabulary(SearchScope((collection_ref(collection),))) is first
    collection.version += 1
    changed = await store.vocabulary(SearchScope((collection_ref(collection),)))
    assert changed.departments == ("Finance",)


async def make_two_chunks() -> tuple[Chunk, Chunk]:
    """A chunk in each of two collections."""
    return await sync_to_async(ChunkFactory)(), await sync_to_async(ChunkFactory)()
