"""A labelled set as a throw-away collection: in an index under names of its own, and in memory instead of the database.

Documents are cut, embedded and analysed by the ingest's own code, so that what is measured is what the site does.
"""

from __future__ import annotations

import asyncio
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ragsite.core.rag_settings import RagSettings
from ragsite.runtime import milvus_lite
from retrieval.evaluation.dataset import Dataset, LabelledDocument
from retrieval.evaluation.embeddings import EmbeddingCache, KnownQueries, ModelsOfRun, ProgressBar
from retrieval.evaluation.memory_store import MemoryChunkStore
from retrieval.ingest.blocks import ParsedDocument
from retrieval.ingest.chunking import Chunker, ChunkSize, chunk_size
from retrieval.ingest.headings import plain_blocks
from retrieval.models import Chunk, Document
from retrieval.ports import ChunkIndex, Models
from retrieval.search.index import MilvusIndex
from retrieval.services.index_rows import embedding_text, index_rows
from retrieval.text.language import detect_language
from retrieval.values import CollectionRef, IndexRow, SearchScope, StoredChunk

SAFE_LENGTH = 300


class Progress(Protocol):
    """Opens a progress bar, e.g. `lambda label, total: tqdm(desc=label, total=total)`."""

    def __call__(self, label: str, total: int) -> ProgressBar: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrowAwayCollection:
    """document_of: the index's document id → the set's own. models: the real ones, the questions' vectors at hand."""

    index: ChunkIndex
    store: MemoryChunkStore
    models: Models
    scope: SearchScope
    document_of: Mapping[str, str]

    @property
    def embedding_model(self) -> str:
        space = self.scope.collections[0].space
        return space.model if space else ""


@contextmanager
def index_of_its_own(settings: RagSettings) -> Iterator[str]:
    """Where a set is indexed. Without MILVUS_URI a Milvus Lite of our own in a temporary folder: the site's, if it
    runs, is left in peace. Raises MilvusLiteError."""
    if settings.milvus.uri:
        yield settings.milvus.uri
        return
    with (
        tempfile.TemporaryDirectory(prefix="ragsite-evaluate-", ignore_cleanup_errors=True) as folder,
        milvus_lite.ensure_server(folder) as uri,
    ):
        yield uri


@asynccontextmanager
async def throw_away_collection(
    dataset: Dataset, *, settings: RagSettings, index: MilvusIndex, models: Models, cache: EmbeddingCache,
    progress: Progress,
) -> AsyncIterator[ThrowAwayCollection]:  # fmt: skip
    """The set, ready to be searched; gone from the index afterwards, whatever happens.

    Raises EmbeddingUnavailableError, IndexUnavailableError.
    """
    embedder = await models.default_embedder()
    try:
        collection_id = uuid.uuid4()
        size = chunk_size(settings.ingest, context=await models.context_length(embedder.space))
        documents, chunks = await asyncio.to_thread(_cut, dataset, size, collection_id, progress)
        texts = [embedding_text(chunk.document, chunk) for chunk in chunks]
        bar = progress("embed documents", len(set(texts)))
        vectors = await cache.embed(embedder, "document", texts, bar=bar)
        bar.close()
        rows = await asyncio.to_thread(_rows, chunks, [vectors[text] for text in texts], progress)
        bar = progress("write the index", 1)
        await index.upsert(embedder.space, rows)
        bar.update(1)
        bar.close()
        questions = [query.text for query in dataset.queries if query.text.strip()]
        bar = progress("embed questions", len(set(questions)))
        known = await cache.embed(embedder, "query", questions, bar=bar)
        bar.close()
        ref = CollectionRef(id=str(collection_id), name=dataset.name, space=embedder.space, version=1)
        yield ThrowAwayCollection(
            index=index,
            store=MemoryChunkStore(await asyncio.to_thread(_stored, documents, chunks)),
            models=ModelsOfRun(models, KnownQueries(embedder, known)),
            scope=SearchScope((ref,)),
            document_of={str(document.pk): own_id for own_id, document in documents.items()},
        )
    finally:
        await index.drop(embedder.space)


# ------------------------------------------------------------------------------------------------ documents → chunks
def _cut(
    dataset: Dataset, size: ChunkSize, collection_id: uuid.UUID, progress: Progress
) -> tuple[dict[str, Document], list[Chunk]]:
    """Model instances that are never saved."""
    chunker = Chunker(chunk_tokens=size.tokens, overlap_tokens=size.overlap, count_tokens=size.count_tokens)
    documents: dict[str, Document] = {}
    chunks: list[Chunk] = []
    bar = progress("cut documents", len(dataset.documents))
    for row in dataset.documents:
        document = documents[row.id] = _document(row, collection_id)
        pieces = chunker.split(ParsedDocument(blocks=tuple(plain_blocks(row.text)))) if row.text.strip() else []
        if not pieces and row.title:  # the ingest refuses an empty file, but a title alone can be found
            chunks.append(_chunk(document, 0, row.title, ""))
        chunks.extend(_chunk(document, piece.seq, piece.text, piece.heading) for piece in pieces)
        bar.update(1)
    bar.close()
    return documents, chunks


def _document(row: LabelledDocument, collection_id: uuid.UUID) -> Document:
    return Document(
        id=uuid.uuid5(collection_id, row.id),
        collection_id=collection_id,
        title=row.title[:SAFE_LENGTH],
        department=row.department,
        doc_type=row.doc_type,
        policy_year=row.policy_year,
        tags=list(row.tags),
    )


def _chunk(document: Document, seq: int, text: str, heading: str) -> Chunk:
    return Chunk(id=uuid.uuid5(document.pk, str(seq)), document=document, seq=seq, text=text, heading=heading)


def _rows(chunks: Sequence[Chunk], vectors: Sequence[np.ndarray], progress: Progress) -> list[IndexRow]:
    bar = progress("analyse chunks", len(chunks))
    rows: list[IndexRow] = []
    for chunk, vector in zip(chunks, vectors, strict=True):
        rows += index_rows(chunk.document, [chunk], np.asarray([vector]))
        bar.update(1)
    bar.close()
    return rows


def _stored(documents: Mapping[str, Document], chunks: Sequence[Chunk]) -> list[StoredChunk]:
    languages = {document.pk: "" for document in documents.values()}
    for chunk in chunks:
        languages[chunk.document.pk] = languages[chunk.document.pk] or detect_language(chunk.text)
    return [
        StoredChunk(
            chunk_id=str(chunk.pk),
            document_id=str(chunk.document.pk),
            collection_id=str(chunk.document.collection_id),
            seq=chunk.seq,
            title=chunk.document.title,
            text=chunk.text,
            heading=chunk.heading,
            language=languages[chunk.document.pk],
            department=chunk.document.department,
            doc_type=chunk.document.doc_type,
            policy_year=chunk.document.policy_year,
            tags=tuple(chunk.document.tags),
        )
        for chunk in chunks
    ]
