"""The index against the database, which is the truth: what is missing is embedded and written, what is surplus deleted.

Done at every start and now and then, by one process at a time. Chunks of a document whose ingest is still under way
are that ingest's work, unless it believes them written.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from django.conf import settings
from django.db.models import F, Q, QuerySet

from retrieval.engine import Engine, get_engine
from retrieval.errors import EmbeddingUnavailableError
from retrieval.models import Chunk, Collection, Document
from retrieval.ports import Embedder, Vectors
from retrieval.services.index_rows import embedding_text, index_rows, summary_chunk, with_summary
from retrieval.services.write_lease import write_lease
from retrieval.values import EmbeddingSpace, IndexRow

logger = logging.getLogger(__name__)
MAINTENANCE = "index maintenance"  # the lease of whoever repairs, rebuilds or re-embeds
MAINTENANCE_WAIT_S = 30.0
WRITE_BATCH = 256  # chunks per write: every write ends with a flush, and every flush makes a segment
SHOULD_BE_INDEXED = Q(indexed=True) | Q(document__status=Document.Status.READY)
EVERY = Q()
NEXT_VERSION = F("version") + 1
Report = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceRepair:
    """What was found in one embedding space and put right. problem: why something is still missing."""

    space: EmbeddingSpace
    chunks: int
    missing: int
    surplus: int
    written: int = 0
    problem: str = ""

    @property
    def in_order(self) -> bool:
        return not (self.missing or self.surplus)


async def index_repair() -> list[SpaceRepair]:
    """Compare every embedding space with its Milvus collection, and repair it.

    Raises IndexUnavailableError, also while another process repairs or rebuilds.
    """
    engine = get_engine()
    async with write_lease(MAINTENANCE, wait_s=MAINTENANCE_WAIT_S):
        repairs = [await space_repair(engine, space) for space in await spaces_in_use()]
    for repair in repairs:
        if not repair.in_order:
            logger.warning("Index repaired: %s", repair)
    return repairs


async def space_repair(engine: Engine, space: EmbeddingSpace) -> SpaceRepair:
    """For holders of the maintenance lease. Raises IndexUnavailableError."""
    # Read in this order, what an ingest writes or deletes meanwhile looks neither missing nor surplus.
    ready = Q(status=Document.Status.READY)
    expected = await ids_of(chunks_of(space).filter(SHOULD_BE_INDEXED)) | await summary_ids(space, ready)
    found = await engine.index.chunk_ids(space)
    known = await ids_of(chunks_of(space)) | await summary_ids(space)
    missing, surplus = sorted((expected & known) - found), sorted(found - known)
    await engine.index.delete_chunks(space, surplus)
    written, problem = 0, ""
    if missing:
        # Should embedding fail now, the next round still knows what is missing.
        try:
            written = await _index_missing(engine, space, missing)
        except EmbeddingUnavailableError as error:
            problem = error.reason
        # Results that were cached while rows were missing are not to be found any more.
        collections = Collection.objects.filter(embedding_model=space.model, embedding_dim=space.dim)
        await collections.aupdate(version=NEXT_VERSION)
    await _flag(sorted(expected & found & known))
    return SpaceRepair(
        space=space, chunks=len(known), missing=len(missing), surplus=len(surplus), written=written, problem=problem
    )


async def _index_missing(engine: Engine, space: EmbeddingSpace, chunk_ids: Sequence[str]) -> int:
    """Raises EmbeddingUnavailableError, IndexUnavailableError."""
    embedder = await engine.models.embedder(space)
    written = 0
    async for chunks in in_batches(chunks_of(space), chunk_ids):
        vectors = await embed(embedder, chunks)
        await engine.index.upsert(space, await asyncio.to_thread(rows_of, chunks, vectors))
        await _flag([str(chunk.pk) for chunk in chunks])
        written += len(chunks)
    return written


# ------------------------------------------------------------------------------------------------ parts for rebuilding
async def spaces_in_use() -> list[EmbeddingSpace]:
    pairs = Collection.objects.exclude(embedding_model="").order_by("embedding_model", "embedding_dim")
    rows = pairs.values_list("embedding_model", "embedding_dim").distinct()
    return [EmbeddingSpace(model, dim) async for model, dim in rows if dim]


def chunks_of(space: EmbeddingSpace) -> QuerySet[Chunk]:
    return Chunk.objects.filter(
        document__collection__embedding_model=space.model, document__collection__embedding_dim=space.dim
    )


async def in_batches(chunks: QuerySet[Chunk], row_ids: Sequence[str]) -> AsyncIterator[list[Chunk]]:
    """Those of the chunks that still exist, with their documents, a document's next to each other; then summaries,
    whose ids are those of their documents."""
    for start in range(0, len(row_ids), WRITE_BATCH):
        page = row_ids[start : start + WRITE_BATCH]
        batch = chunks.filter(pk__in=page).select_related("document").order_by("document", "seq")
        found = [chunk async for chunk in batch]
        summaries = with_summary(Document.objects.filter(pk__in=page))
        found += [summary_chunk(document) async for document in summaries]
        if found:
            yield found


async def embed(embedder: Embedder, chunks: Sequence[Chunk]) -> Vectors:
    """Raises EmbeddingUnavailableError."""
    texts = [embedding_text(chunk.document, chunk) for chunk in chunks]
    size = settings.RAG.ollama.embed_batch_size
    parts = [await embedder.embed_documents(texts[start : start + size]) for start in range(0, len(texts), size)]
    return np.concatenate(parts)


def rows_of(chunks: Sequence[Chunk], vectors: Vectors) -> list[IndexRow]:
    """`chunks`: a document's next to each other, as `in_batches` gives them."""
    rows: list[IndexRow] = []
    for document, group in groupby(chunks, key=lambda chunk: chunk.document):
        members = list(group)
        rows += index_rows(document, members, vectors[len(rows) : len(rows) + len(members)])
    return rows


async def changed_since(space: EmbeddingSpace, moment: object) -> set[str]:
    """Chunks whose document's metadata may have been edited since."""
    chunks = await ids_of(chunks_of(space).filter(document__updated_at__gte=moment))
    return chunks | await summary_ids(space, Q(updated_at__gte=moment))


async def summary_ids(space: EmbeddingSpace, condition: Q = EVERY) -> set[str]:
    """Row ids of the summaries, which are their documents' ids."""
    documents = with_summary(Document.objects.filter(condition)).filter(
        collection__embedding_model=space.model, collection__embedding_dim=space.dim
    )
    return {str(pk) async for pk in documents.order_by().values_list("pk", flat=True).aiterator(chunk_size=5000)}


async def ids_of(chunks: QuerySet[Chunk]) -> set[str]:
    return {str(pk) async for pk in chunks.order_by().values_list("pk", flat=True).aiterator(chunk_size=5000)}


async def _flag(chunk_ids: Sequence[str]) -> None:
    """Only where it is not so already: a page of ids at a time, for SQLite's limit on parameters."""
    for start in range(0, len(chunk_ids), 500):
        page = Chunk.objects.filter(pk__in=chunk_ids[start : start + 500], indexed=False)
        await page.filter(document__status=Document.Status.READY).aupdate(indexed=True)


async def ids_to_keep(engine: Engine, space: EmbeddingSpace) -> set[str]:
    """What a rebuilt index has to hold: also rows that an ingest is about to write anew, until it has."""
    there = await engine.index.chunk_ids(space)
    ready = await summary_ids(space, Q(status=Document.Status.READY))
    known = await ids_of(chunks_of(space)) | await summary_ids(space)
    return await ids_of(chunks_of(space).filter(SHOULD_BE_INDEXED)) | ready | (there & known)
