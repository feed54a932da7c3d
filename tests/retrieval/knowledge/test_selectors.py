"""Who may search what, and what the engine gets from the database."""

from __future__ import annotations

import uuid

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser, Group, User

from ragsite.core.errors import InvalidInputError
from retrieval.engine.errors import CollectionNotFoundError
from retrieval.engine.values import SearchScope, Vocabulary
from retrieval.knowledge.chunk_store import DatabaseChunkStore
from retrieval.knowledge.scopes import collection_ref, scope_for, scope_for_all
from retrieval.models import Collection, ShareReply
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory

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
    member.groups.add(Group.objects.get(name="law"))
    assert scope_names(owner) == ["private", "public", "shared"]
    assert scope_names(member) == ["public"]
    ShareReply.objects.create(
        user=member, collection=Collection.objects.get(name="shared"), accepted=True
    )
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


# ------------------------------------------------------------------------------------------------ the engine's side


@pytest.mark.django_db(transaction=True)
async def test_vocabulary_is_sorted_without_empty_values_and_of_ready_documents() -> None:
    collection = await sync_to_async(CollectionFactory)()
    for facts in (
        {"department": "Z", "doc_type": "rule", "policy_year": 2025, "tags": ["y", "x"]},
        {"department": "A", "doc_type": "faq", "policy_year": 0, "tags": ["x"]},
        {"department": "", "doc_type": "", "policy_year": None, "tags": []},
        {
            "department": "Lost",
            "doc_type": "lost",
            "policy_year": 1999,
            "tags": ["lost"],
            "status": "failed",
        },
    ):
        await sync_to_async(DocumentFactory)(collection=collection, **facts)
    assert await DatabaseChunkStore().vocabulary(
        SearchScope((collection_ref(collection),))
    ) == Vocabulary(
        departments=("A", "Z"), doc_types=("faq", "rule"), policy_years=(0, 2025), tags=("x", "y")
    )


@pytest.mark.django_db(transaction=True)
async def test_store_gives_only_chunks_inside_the_scope() -> None:
    inside, outside = await sync_to_async(ChunkFactory.create_batch)(2)
    scope = SearchScope((collection_ref(inside.document.collection),))
    asked = [str(inside.pk), str(outside.pk), str(uuid.uuid4()), "not-an-id", ""]
    chunks = await DatabaseChunkStore().fetch(asked, scope=scope)
    assert list(chunks) == [str(inside.pk)]
    chunk = chunks[str(inside.pk)]
    assert (chunk.text, chunk.title, chunk.page, chunk.tags) == (
        inside.text,
        inside.document.title,
        1,
        ("exams",),
    )
