"""A new version takes the place of the old one as soon as it is ready."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from retrieval.compose import Engine
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.knowledge.chunk_store import DatabaseChunkStore
from retrieval.knowledge.index_sync.repair import index_repair
from retrieval.knowledge.scopes import scope_for
from retrieval.knowledge.services.documents import document_supersede
from retrieval.knowledge.services.ingest import document_ingest
from retrieval.models import Chunk, Document
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory
from tests.retrieval.knowledge.api.conftest import text_file, upload


@pytest.fixture
def old(user: User) -> Document:
    collection = CollectionFactory(owner=user, visibility="private")
    return DocumentFactory(collection=collection, doc_type="rule", policy_year=2020)


def replace(
    client: APIClient, document: Document, data: bytes = b"Twelve books.", **fields: Any
) -> Any:
    return upload(client, text_file("new.txt", data), replaces=str(document.pk), **fields)


@pytest.mark.django_db(transaction=True)
async def test_the_old_version_is_found_until_the_new_one_is_ready(
    engine: Engine, client: APIClient, user: User
) -> None:
    post = sync_to_async(upload)
    first = (await post(client, text_file("old.txt", b"Ten books."), doc_type="rule")).json()[
        "documents"
    ][0]
    assert await document_ingest(first["id"]) == "ready"
    old = await Document.objects.aget(pk=first["id"])
    second = (await sync_to_async(replace)(client, old)).json()["documents"][0]
    store, scope = DatabaseChunkStore(), await sync_to_async(scope_for)(user=user)
    ids = [str(pk) async for pk in Chunk.objects.filter(document=old).values_list("pk", flat=True)]
    assert set(await store.fetch(ids, scope=scope)) == set(ids)

    assert await document_ingest(second["id"]) == "ready"
    assert await store.fetch(ids, scope=scope) == {}
    new = await Document.objects.aget(pk=second["id"])
    assert new.doc_type == "rule"
    await index_repair()
    there = await engine.index.chunk_ids(BUILTIN_SPACE)
    assert there and not there & {*ids, str(old.pk)}

    shown = (await sync_to_async(client.get)(f"/api/documents/{old.pk}/content")).json()
    assert "Ten books." in shown["html"] and shown["newer_version"]["id"] == str(new.pk)


def test_what_is_superseded_is_neither_read_again_nor_replaced_twice(
    client: APIClient, old: Document
) -> None:
    document_supersede(document_id=old.pk)
    assert replace(client, old).status_code == 409
    body = {"action": "read_again", "ids": [str(old.pk)]}
    assert (
        client.post("/api/documents/bulk", body, format="json").json()["results"][0]["outcome"]
        == "refused"
    )
    changed = client.patch(f"/api/documents/{old.pk}", {"title": "Old"}, format="json").json()
    assert (changed["title"], changed["status"]) == ("Old", "ready")


@pytest.mark.parametrize(
    "fields",
    [
        {"replaces": "no"},
        {"collection": "another"},
        {"file": [text_file("a.txt", b"a"), text_file("b.txt")]},
    ],
)
def test_a_version_that_does_not_fit_is_bad_input(
    client: APIClient, old: Document, fields: dict[str, Any]
) -> None:
    form = {"file": [text_file()], "replaces": str(old.pk), **fields}
    assert client.post("/api/documents", form, format="multipart").status_code == 400


def test_a_stranger_replaces_nothing(stranger: APIClient, old: Document) -> None:
    assert replace(stranger, old).status_code == 404


def version_of(document: Document, **fields: Any) -> Document:
    made: Document = DocumentFactory(collection=document.collection, replaces=document, **fields)
    ChunkFactory(document=made)
    document_supersede(document_id=document.pk)
    return made


def test_a_second_next_version_is_refused_until_the_first_has_failed(
    client: APIClient, old: Document
) -> None:
    first = replace(client, old).json()["documents"][0]
    assert replace(client, old, b"Thirteen books.").status_code == 409
    Document.objects.filter(pk=first["id"]).update(status="failed")
    assert replace(client, old, b"Thirteen books.").status_code == 202


def current(document: Document) -> bool:
    document.refresh_from_db()
    return document.superseded_at is None


def test_deleting_the_new_version_brings_the_old_one_back(
    client: APIClient, old: Document, django_capture_on_commit_callbacks: Any
) -> None:
    ChunkFactory(document=old)
    new = version_of(old)
    assert not current(old)
    with django_capture_on_commit_callbacks(execute=True):
        assert client.delete(f"/api/documents/{new.pk}").status_code == 204
    assert current(old) and old.status == "embedding"


def test_the_page_says_how_much_has_changed(client: APIClient, old: Document, user: User) -> None:
    new = DocumentFactory(collection=old.collection, status="ready", replaces=old)
    document_supersede(document_id=old.pk)
    for document, texts in (
        (old, ("Fees", "Ten books.", "Four weeks.")),
        (new, ("Fees", "Twelve books.", "Six weeks.", "Boats.")),
    ):
        for seq, text in enumerate(texts):
            ChunkFactory(document=document, seq=seq, text=text)
    client.force_login(user)
    assert (
        "Passages: 2 changed, 1 new, 0 gone."
        in client.get(f"/documents/{new.pk}/").content.decode()
    )
