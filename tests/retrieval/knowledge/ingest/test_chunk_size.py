"""No chunk is longer than what the embedding model reads, as far as that is known."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.core.files.base import ContentFile
from hypothesis import given
from hypothesis import strategies as st

from ragsite.core.search_settings import IngestSettings
from retrieval.compose import close_engine
from retrieval.engine.text.quoting import estimate_word_pieces
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument
from retrieval.knowledge.ingest.chunk_size import chunk_size
from retrieval.knowledge.ingest.chunking import Chunker
from retrieval.knowledge.services.documents import document_create
from retrieval.knowledge.services.ingest import document_ingest
from retrieval.models import Chunk, Document
from tests.factories import CollectionFactory
from tests.ollama_server import OllamaServer

CONTEXT, ROOM = 128, 108  # what the small model reads, and what of it chunks may fill
TEXT = "\n\n".join(
    f"| {n} | `GET /api/v{n}/items?limit={n * 37}` | returns 20{n % 10} |" * 4 for n in range(1, 30)
)

texts = st.lists(
    st.text("abcdefghijk 0123. -|_规定é\n", min_size=1, max_size=300), min_size=1, max_size=6
)


@given(texts)
def test_no_chunk_has_more_word_pieces_than_allowed(paragraphs: list[str]) -> None:
    size = chunk_size(IngestSettings(chunk_tokens=60, chunk_overlap_tokens=12), context=60)
    chunker = Chunker(
        chunk_tokens=size.tokens, overlap_tokens=size.overlap, count_tokens=size.count_tokens
    )
    document = ParsedDocument(blocks=tuple(Block(text=text) for text in paragraphs))
    assert all(estimate_word_pieces(chunk.text) <= size.tokens for chunk in chunker.split(document))


# ------------------------------------------------------------------------------------------------ at the ingest
@pytest_asyncio.fixture
async def site(
    milvus: Any, uploads: None, online: OllamaServer, rag_settings: Callable[..., None]
) -> AsyncIterator[OllamaServer]:
    """A site with a model server whose one embedding model reads 128 tokens."""
    online.models.clear()
    online.add_model("all-minilm", "embedding", context_length=CONTEXT)
    rag_settings(ingest={"chunk_tokens": 480, "chunk_overlap_tokens": 64})
    yield online
    await close_engine()


@sync_to_async
def add(**fields: Any) -> Document:
    upload = ContentFile(TEXT.encode(), name="api.txt")
    collection = CollectionFactory(name="manuals", **fields)
    return document_create(
        collection=collection, upload=upload, file_name="api.txt", queue=False
    ).document


@pytest.mark.django_db(transaction=True)
async def test_the_context_of_the_collections_model_bounds_its_chunks(site: OllamaServer) -> None:
    document = await add()
    assert await document_ingest(document.pk) == "ready"
    await document.arefresh_from_db()
    assert max([estimate_word_pieces(chunk.text) async for chunk in Chunk.objects.all()]) <= ROOM
