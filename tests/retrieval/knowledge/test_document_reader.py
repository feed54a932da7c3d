"""Whole documents as the engine reads them: in order, and never outside what the asking user may read."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from retrieval.engine.values import SearchFilters, SearchScope
from retrieval.knowledge.chunk_store import DatabaseDocumentReader
from retrieval.knowledge.scopes import scope_for
from retrieval.models import Collection, Document
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory

pytestmark = pytest.mark.django_db(transaction=True)

NONE = SearchFilters()


def make_document(
    title: str, collection: Collection, *, chunks: int = 3, **fields: object
) -> Document:
    document = DocumentFactory(title=title, collection=collection, chunk_count=chunks, **fields)
    for seq in reversed(range(chunks)):
        ChunkFactory(document=document, seq=seq, text=f"{title} {seq}")
    return document


async def test_what_somebody_may_not_read_is_not_there() -> None:
    owner, stranger = await sync_to_async(UserFactory)(), await sync_to_async(UserFactory)()
    private = await sync_to_async(CollectionFactory)(owner=owner, visibility="private")
    document = await sync_to_async(make_document)("Secret Rules", private)
    reader, key = DatabaseDocumentReader(), str(document.pk)
    for user, count in ((owner, 3), (stranger, 0), (None, 0)):
        scope = await sync_to_async(scope_for)(user=user)
        assert len(await reader.documents(scope, filters=NONE, limit=9)) == min(count, 1)
        assert len(await reader.chunks(key, scope=scope, limit=9)) == count
        assert len(await reader.at([(key, 0), (key, 1), (key, 2)], scope=scope)) == count
    assert await reader.documents(SearchScope(()), filters=NONE, limit=9) == ()


async def test_documents_are_found_by_filters_and_ids() -> None:
    collection = await sync_to_async(CollectionFactory)()
    old = await sync_to_async(make_document)(
        "Loan Rules (2022)", collection, policy_year=2022, superseded_at=timezone.now()
    )
    await sync_to_async(make_document)("Loan Rules (2025)", collection, policy_year=2025)
    await sync_to_async(make_document)("Loan Draft", collection, status=Document.Status.EMBEDDING)
    scope, reader = await sync_to_async(scope_for)(user=None), DatabaseDocumentReader()

    async def titles(filters: SearchFilters) -> set[str]:
        return {one.title for one in await reader.documents(scope, filters=filters, limit=9)}

    assert await titles(NONE) == {"Loan Rules (2022)", "Loan Rules (2025)"}
    assert await titles(SearchFilters(documents=(str(old.pk),))) == {"Loan Rules (2022)"}
    assert await titles(SearchFilters(policy_year=2025)) == {"Loan Rules (2025)"}
    assert await titles(SearchFilters(tags=("no such tag",))) == set()
    assert len(await reader.documents(scope, filters=NONE, limit=1)) == 1
