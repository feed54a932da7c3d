"""A document goes into another collection, and is found there and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.files.base import ContentFile

from ragsite.core.errors import ConflictError
from retrieval.compose import get_engine
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.knowledge.services.documents import document_create, document_move
from retrieval.knowledge.services.ingest import document_ingest
from retrieval.models import Chunk, Collection, Document
from tests.factories import CollectionFactory, DocumentFactory

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("engine", "queue", "uploads"),
]


async def added(collection: Collection) -> Document:
    created = await sync_to_async(document_create)(
        collection=collection,
        upload=ContentFile(b"Ten books.", name="a.txt"),
        file_name="a.txt",
        queue=False,
    )
    assert await document_ingest(created.document.pk) == "ready"
    return created.document


async def move(document: Document, collection: Collection) -> Document:
    return await sync_to_async(document_move)(document=document, collection=collection)


async def rows_in(collection: Collection) -> int:
    await collection.arefresh_from_db()
    chunks = Chunk.objects.filter(document__collection=collection)
    keys = [str(pk) async for pk in chunks.values_list("pk", flat=True)]
    return len(await get_engine().index.vectors(BUILTIN_SPACE, keys))


async def test_its_rows_follow_and_the_empty_collection_forgets_its_model() -> None:
    old = await sync_to_async(CollectionFactory)()
    new = await sync_to_async(CollectionFactory)(builtin=True)
    document = await added(old)
    moved = await move(document, new)
    assert (moved.status, moved.collection_id) == ("embedding", new.pk)
    assert await document_ingest(document.pk) == "ready"
    assert (await rows_in(old), await rows_in(new)) == (0, 1)
    assert (old.embedding_model, new.embedding_model) == ("", BUILTIN_SPACE.model)


async def test_into_another_embedding_space_it_is_read_again(queue: list[Any]) -> None:
    old = await sync_to_async(CollectionFactory)()
    new = await sync_to_async(CollectionFactory)(embedding_model="other", embedding_dim=3)
    document = await added(old)
    moved = await move(document, new)
    assert (moved.status, moved.chunk_count) == ("queued", 0)
    assert (
        "retrieval.tasks.document_unindex",
        str(document.pk),
        BUILTIN_SPACE.model,
        BUILTIN_SPACE.dim,
    ) in queue


async def test_the_same_content_is_not_held_twice() -> None:
    old, new = await sync_to_async(CollectionFactory)(), await sync_to_async(CollectionFactory)()
    document = await added(old)
    await sync_to_async(DocumentFactory)(collection=new, content_hash=document.content_hash)
    with pytest.raises(ConflictError, match="already holds this file"):
        await move(document, new)
