"""No chunk is longer than what the embedding model reads, as far as that is known."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.core.files.base import ContentFile
from hypothesis import given
from hypothesis import strategies as st

from ragsite.core.rag_settings import IngestSettings, MilvusSettings
from retrieval.engine import close_engine
from retrieval.ingest.blocks import Block, ParsedDocument
from retrieval.ingest.chunking import Chunker, chunk_size
from retrieval.models import Chunk, Document
from retrieval.services.documents import document_create, document_reingest, document_update
from retrieval.services.ingest import document_ingest
from retrieval.text.tokens import estimate_tokens, estimate_word_pieces
from tests.factories import CollectionFactory
from tests.ollama_server import OllamaServer

SETTINGS = IngestSettings(chunk_tokens=480, chunk_overlap_tokens=64)
CONTEXT, ROOM = 128, 108  # what the small model reads, and what of it chunks may fill
TEXT = "\n\n".join(f"| {n} | `GET /api/v{n}/items?limit={n * 37}` | returns 20{n % 10} |" * 4 for n in range(1, 30))

texts = st.lists(st.text("abcdefghijk 0123. -|_规定é\n", min_size=1, max_size=300), min_size=1, max_size=6)


# ------------------------------------------------------------------------------------------------ the size
@pytest.mark.parametrize("context", [None, 2048, 8192])
def test_a_model_that_reads_every_chunk_leaves_the_setting_alone(context: int | None) -> None:
    size = chunk_size(SETTINGS, context=context)
    assert (size.tokens, size.overlap, size.count_tokens) == (480, 64, estimate_tokens)


@pytest.mark.parametrize(("context", "tokens", "overlap"), [(512, 435, 58), (256, 217, 28), (8, 16, 2)])
def test_a_small_context_bounds_chunk_and_overlap(context: int, tokens: int, overlap: int) -> None:
    size = chunk_size(SETTINGS, context=context)
    assert (size.tokens, size.overlap, size.count_tokens) == (tokens, overlap, estimate_word_pieces)


def test_a_smaller_setting_stays_as_it_is() -> None:
    size = chunk_size(IngestSettings(chunk_tokens=200, chunk_overlap_tokens=20), context=512)
    assert (size.tokens, size.overlap) == (200, 20)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("The fine is paid.", 5),
        ("学生借书", 4),
        ("|---|---|", 9),
        ("internationalisation", 3),
        ("2025-03-17", 6),
        ("naïve", 3),
        ("", 0),
    ],
)
def test_word_pieces_are_counted_as_a_tokenizer_breaks_text(text: str, pieces: int) -> None:
    assert estimate_word_pieces(text) == pieces


@given(texts)
def test_no_chunk_has_more_word_pieces_than_allowed(paragraphs: list[str]) -> None:
    size = chunk_size(IngestSettings(chunk_tokens=60, chunk_overlap_tokens=12), context=60)
    chunker = Chunker(chunk_tokens=size.tokens, overlap_tokens=size.overlap, count_tokens=size.count_tokens)
    document = ParsedDocument(blocks=tuple(Block(text=text) for text in paragraphs))
    assert all(estimate_word_pieces(chunk.text) <= size.tokens for chunk in chunker.split(document))


# ------------------------------------------------------------------------------------------------ at the ingest
@pytest_asyncio.fixture
async def site(
    rag_settings: Callable[..., None],
    milvus_settings: MilvusSettings,
    settings: Any,
    tmp_path: Path,
    online: OllamaServer,
) -> AsyncIterator[OllamaServer]:
    """A site with a model server whose one embedding model reads 128 tokens."""
    settings.MEDIA_ROOT = tmp_path / "uploads"
    online.models.clear()
    online.add_model("all-minilm", "embedding", context_length=CONTEXT)
    rag_settings(milvus=milvus_settings, ingest={"chunk_tokens": 480, "chunk_overlap_tokens": 64})
    yield online
    await close_engine()


@sync_to_async
def add(**fields: Any) -> Document:
    upload = ContentFile(TEXT.encode(), name="api.txt")
    collection = CollectionFactory(name="manuals", **fields)
    return document_create(collection=collection, upload=upload, file_name="api.txt", queue=False).document


async def most_pieces() -> int:
    return max([estimate_word_pieces(chunk.text) async for chunk in Chunk.objects.all()])


@pytest.mark.django_db(transaction=True)
async def test_the_context_of_the_collections_model_bounds_its_chunks(site: OllamaServer) -> None:
    document = await add()
    assert await document_ingest(document.pk) == "ready"
    await document.arefresh_from_db()
    assert await most_pieces() <= ROOM


@pytest.mark.django_db(transaction=True)
async def test_a_server_that_does_not_tell_leaves_the_setting(site: OllamaServer) -> None:
    site.add_model("all-minilm", "embedding", context_length=0)
    document = await add()
    assert await document_ingest(document.pk) == "ready"
    await document.arefresh_from_db()
    assert await most_pieces() > ROOM


@pytest.mark.django_db(transaction=True)
async def test_a_document_of_other_chunks_stays_until_it_is_read_anew(
    site: OllamaServer, rag_settings: Callable[..., None]
) -> None:
    site.add_model("all-minilm", "embedding", context_length=0)
    document = await add()
    await document_ingest(document.pk)
    before = await Chunk.objects.acount()
    site.add_model("all-minilm", "embedding", context_length=CONTEXT)
    await close_engine()  # the next one asks the server anew
    document = await Document.objects.aget()
    await sync_to_async(document_update)(document=document, changes={"title": "Another title"})
    assert (await document_ingest(document.pk), await Chunk.objects.acount()) == ("ready", before)
    await sync_to_async(document_reingest)(document=document)
    assert await document_ingest(document.pk) == "ready"
    assert await most_pieces() <= ROOM
    assert await Chunk.objects.acount() > before
