"""Who may search what, and what the engine gets from the database."""

from __future__ import annotations

import uuid

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser, Group, User

from ragsite.core.errors import InvalidInputError, NotFoundError
from retrieval.errors import CollectionNotFoundError
from retrieval.models import Chunk, Collection, Document
from retrieval.selectors import (
    DatabaseChunkStore,
    chunk_list,
    collection_get,
    collection_list,
    collection_named,
    collection_ref,
    document_get,
    document_list,
    is_approved,
    scope_for,
    scope_for_all,
    stored_chunk,
    visible_documents,
    writable_collections,
)
from retrieval.values import EmbeddingSpace, SearchScope, StoredChunk, Vocabulary
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
    member.groups.add(Group.objects.get(name="law"))
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


# ------------------------------------------------------------------------------------------------ documents
@pytest.fixture
def documents(owner: User) -> dict[str, Document]:
    """A document in each of the owner's collections, by the collection's name."""
    return {
        collection.name: DocumentFactory(collection=collection, title=collection.name.upper())
        for collection in Collection.objects.all()
    }


def test_documents_are_visible_where_their_collection_is(owner: User, documents: dict[str, Document]) -> None:
    member = UserFactory()
    member.groups.add(Group.objects.get(name="law"))
    for reader, names in [
        (owner, {"private", "public", "shared"}),
        (member, {"public", "shared"}),
        (UserFactory(is_staff=True), {"public"}),
        (None, {"public"}),
    ]:
        assert set(visible_documents(reader)) == {documents[name] for name in names}
        for name, document in documents.items():
            if name in names:
                assert document_get(user=reader, document_id=document.pk) == document
            else:
                with pytest.raises(NotFoundError):
                    document_get(user=reader, document_id=document.pk)
                with pytest.raises(NotFoundError):
                    chunk_list(user=reader, document_id=document.pk)


def test_the_documents_of_a_collection_that_one_may_not_see_are_none(
    owner: User, documents: dict[str, Document]
) -> None:
    assert list(document_list(user=owner, collection="private")) == [documents["private"]]
    assert list(document_list(user=UserFactory(), collection="private")) == []


def test_documents_are_found_by_title_file_name_and_status(owner: User, documents: dict[str, Document]) -> None:
    Document.objects.filter(pk=documents["public"].pk).update(file_name="Fines.pdf", status="failed")
    assert list(document_list(user=owner, search="fines")) == [documents["public"]]
    assert list(document_list(user=owner, search="shar")) == [documents["shared"]]
    assert list(document_list(user=owner, status="failed")) == [documents["public"]]


def test_documents_are_found_in_both_chinese_scripts(owner: User, documents: dict[str, Document]) -> None:
    Document.objects.filter(pk=documents["public"].pk).update(title="研討室管理辦法")
    for words in ("研討室", "研讨室"):
        assert list(document_list(user=owner, search=words)) == [documents["public"]]


def test_documents_come_newest_first_and_their_chunks_in_order(owner: User, documents: dict[str, Document]) -> None:
    listed = list(document_list(user=owner))
    assert listed == sorted(documents.values(), key=lambda document: document.created_at, reverse=True)
    chunks = [ChunkFactory(document=listed[0], seq=seq) for seq in (2, 0, 1)]
    assert list(chunk_list(user=owner, document_id=listed[0].pk)) == [chunks[1], chunks[2], chunks[0]]


# ------------------------------------------------------------------------------------------------ collections
def test_one_may_write_to_ones_own_collections_and_staff_to_the_sites(owner: User) -> None:
    sites = CollectionFactory(name="handbook")
    staff = UserFactory(is_staff=True)
    own = CollectionFactory(owner=staff)
    assert {one.name for one in writable_collections(owner)} == {"private", "public", "shared"}
    assert set(writable_collections(staff)) == {sites, own}
    for reader in (UserFactory(), AnonymousUser(), None):
        assert not writable_collections(reader).exists()


def test_collections_are_listed_by_name_with_the_number_of_their_documents(
    owner: User, documents: dict[str, Document]
) -> None:
    DocumentFactory(collection=documents["shared"].collection)
    listed = collection_list(user=owner)
    assert [(one.name, one.document_count) for one in listed] == [("private", 1), ("public", 1), ("shared", 2)]


def test_a_collection_that_one_may_not_see_is_not_there(owner: User) -> None:
    assert collection_get(user=owner, name="private").document_count == 0
    with pytest.raises(CollectionNotFoundError) as caught:
        collection_get(user=UserFactory(), name="private")
    assert caught.value.fields == {"collection": ["private"]}


@pytest.mark.parametrize(
    ("visibility", "owned", "approved", "unasked"),
    [
        ("public", True, True, True),
        ("public", True, False, False),
        ("public", False, False, True),
        ("private", False, True, False),
        ("shared", True, True, False),
    ],
)
def test_everybodys_searches_look_into_public_collections_of_the_site_or_approved(
    visibility: str, owned: bool, approved: bool, unasked: bool
) -> None:
    owner = UserFactory() if owned else None
    collection = CollectionFactory(owner=owner, visibility=visibility, approved=approved)
    assert is_approved(collection) is unasked
    assert (scope_for(user=None).ids == (str(collection.pk),)) is unasked


def test_a_command_that_names_an_ambiguous_collection_is_offered_at_most_five() -> None:
    made = [CollectionFactory(name="policies", owner=UserFactory()) for _ in range(6)]
    with pytest.raises(InvalidInputError) as caught:
        collection_named("policies")
    offered = ", ".join(one.address for one in made[:5])
    assert caught.value.message == f"Several collections are called policies; name one of {offered}."


def test_a_command_that_names_no_collection_is_told_so() -> None:
    with pytest.raises(CollectionNotFoundError) as caught:
        collection_named("nothere")
    assert caught.value.message == "There is no collection nothere."
    assert caught.value.fields == {"collection": ["nothere"]}


# ------------------------------------------------------------------------------------------------ the engine's side
@pytest.mark.django_db(transaction=True)
async def test_store_gives_only_the_chunks_that_were_asked_for() -> None:
    inside, _ = await make_two_chunks()
    await sync_to_async(ChunkFactory)(document=inside.document)
    scope = SearchScope((collection_ref(inside.document.collection),))
    assert list(await DatabaseChunkStore().fetch([str(inside.pk)], scope=scope)) == [str(inside.pk)]


@pytest.mark.django_db(transaction=True)
async def test_an_empty_scope_gives_no_chunk() -> None:
    inside, _ = await make_two_chunks()
    assert await DatabaseChunkStore().fetch([str(inside.pk)], scope=SearchScope(())) == {}


def test_the_engine_gets_every_field_of_a_chunk() -> None:
    document = DocumentFactory(
        title="Loans", file_name="loans.md", tags=["a", "b"], department="Library", doc_type="faq"
    )
    row = ChunkFactory(document=document, seq=3, char_start=10, char_end=25)
    assert stored_chunk(row) == StoredChunk(
        chunk_id=str(row.pk), document_id=str(document.pk), collection_id=str(document.collection_id), seq=3,
        title="Loans", text=row.text, page=1, heading="Loans › Undergraduates", file_name="loans.md", language="en",
        department="Library", doc_type="faq", policy_year=2025, tags=("a", "b"), char_start=10, char_end=25,
    )  # fmt: skip


@pytest.mark.django_db(transaction=True)
async def test_vocabulary_is_sorted_without_empty_values_and_of_ready_documents() -> None:
    collection = await sync_to_async(CollectionFactory)()
    for facts in (
        {"department": "Z", "doc_type": "rule", "policy_year": 2025, "tags": ["y", "x"]},
        {"department": "A", "doc_type": "faq", "policy_year": 0, "tags": ["x"]},
        {"department": "", "doc_type": "", "policy_year": None, "tags": []},
        {"department": "Lost", "doc_type": "lost", "policy_year": 1999, "tags": ["lost"], "status": "failed"},
    ):
        await sync_to_async(DocumentFactory)(collection=collection, **facts)
    assert await DatabaseChunkStore().vocabulary(SearchScope((collection_ref(collection),))) == Vocabulary(
        departments=("A", "Z"), doc_types=("faq", "rule"), policy_years=(0, 2025), tags=("x", "y")
    )


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
