"""A labelled set as a throw-away collection: in an index under names of its own, and in memory instead of the database.

Documents are cut, embedded and analysed by the ingest's own code, so that what is measured is what the site does.
"""

from __future__ import annotations

import asyncio
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from tqdm import tqdm

from ragsite.core.rag_settings import RagSettings
from ragsite.runtime import milvus_lite
from retrieval.engine.ports import Models
from retrieval.engine.search.milvus.index import MilvusIndex
from retrieval.engine.text.languages import detect_language
from retrieval.engine.values import CollectionRef, SearchScope, StoredChunk, Vocabulary
from retrieval.evaluation.dataset import Dataset, LabelledDocument
from retrieval.knowledge.chunk_store import stored_chunk, vocabulary_of
from retrieval.knowledge.index_sync.rows import embedding_text, index_rows
from retrieval.knowledge.ingest.blocks import ParsedDocument
from retrieval.knowledge.ingest.chunk_size import ChunkSize, chunk_size
from retrieval.knowledge.ingest.chunking import Chunker
from retrieval.knowledge.ingest.text import plain_blocks
from retrieval.knowledge.services.metadata import FILTERED
from retrieval.models import Chunk, Document

SAFE_LENGTH = 300
WRITE_BATCH = 1000  # chunks


class MemoryChunkStore:
    """`retrieval.engine.ports.ChunkStore` without a database."""

    def __init__(self, chunks: Iterable[StoredChunk]) -> None:
        self._chunks = {chunk.chunk_id: chunk for chunk in chunks}

    async def fetch(
        self, chunk_ids: Sequence[str], *, scope: SearchScope
    ) -> Mapping[str, StoredChunk]:
        chunks = (self._chunks[chunk_id] for chunk_id in chunk_ids if chunk_id in self._chunks)
        return {chunk.chunk_id: chunk for chunk in chunks if chunk.collection_id in scope.ids}

    async def vocabulary(self, scope: SearchScope) -> Vocabulary:
        chunks = [chunk for chunk in self._chunks.values() if chunk.collection_id in scope.ids]
        return vocabulary_of(
            [{name: getattr(chunk, name) for name in FILTERED} for chunk in chunks]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrowAwayCollection:
    """document_of: the index's document id → the set's own."""

    store: MemoryChunkStore
    scope: SearchScope
    document_of: Mapping[str, str]


@contextmanager
def index_of_its_own(settings: RagSettings) -> Iterator[str]:
    """Where a set is indexed. Without MILVUS_URI a Milvus Lite of our own in a temporary folder: the site's, if it
    runs, is left in peace. Raises MilvusLiteError."""
    if settings.milvus.uri:
        yield settings.milvus.uri
        return
    with (
        tempfile.TemporaryDirectory(
            prefix="ragsite-evaluate-", ignore_cleanup_errors=True
        ) as folder,
        milvus_lite.ensure_server(folder) as uri,
    ):
        yield uri


@asynccontextmanager
async def throw_away_collection(
    dataset: Dataset, *, settings: RagSettings, index: MilvusIndex, models: Models
) -> AsyncIterator[ThrowAwayCollection]:
    """The set, ready to be searched; gone from the index afterwards, whatever happens.

    Raises EmbeddingUnavailableError, IndexUnavailableError.
    """
    embedder = await models.default_embedder()
    try:
        collection_id = uuid.uuid4()
        size = chunk_size(settings.ingest, context=await models.context_length(embedder.space))
        documents, chunks = await asyncio.to_thread(_cut, dataset, size, collection_id)
        for start in tqdm(range(0, len(chunks), WRITE_BATCH), desc="index documents", leave=False):
            batch = chunks[start : start + WRITE_BATCH]
            vectors = await embedder.embed_documents(
                [embedding_text(chunk.document, chunk) for chunk in batch]
            )
            await index.upsert(embedder.space, await asyncio.to_thread(index_rows, batch, vectors))
        ref = CollectionRef(
            id=str(collection_id), name=dataset.name, space=embedder.space, version=1
        )
        yield ThrowAwayCollection(
            store=MemoryChunkStore(map(stored_chunk, chunks)),
            scope=SearchScope((ref,)),
            document_of={str(document.pk): own_id for own_id, document in documents.items()},
        )
    finally:
        await index.drop(embedder.space)


def _cut(
    dataset: Dataset, size: ChunkSize, collection_id: uuid.UUID
) -> tuple[dict[str, Document], list[Chunk]]:
    """Model instances that are never saved."""
    chunker = Chunker(
        chunk_tokens=size.tokens, overlap_tokens=size.overlap, count_tokens=size.count_tokens
    )
    documents: dict[str, Document] = {}
    chunks: list[Chunk] = []
    for row in dataset.documents:
        document = documents[row.id] = _document(row, collection_id)
        pieces = (
            chunker.split(ParsedDocument(blocks=tuple(plain_blocks(row.text))))
            if row.text.strip()
            else []
        )
        # The ingest refuses an empty file, but a title alone can be found.
        texts = [(piece.text, piece.heading) for piece in pieces] or (
            [(row.title, "")] if row.title else []
        )
        chunks += [
            Chunk(
                id=uuid.uuid5(document.pk, str(seq)),
                document=document,
                seq=seq,
                text=text,
                heading=heading,
            )
            for seq, (text, heading) in enumerate(texts)
        ]
    return documents, chunks


def _document(row: LabelledDocument, collection_id: uuid.UUID) -> Document:
    return Document(
        id=uuid.uuid5(collection_id, row.id),
        collection_id=collection_id,
        title=row.title[:SAFE_LENGTH],
        language=detect_language(row.text),
        **row.model_dump(include=set(FILTERED)),
    )
