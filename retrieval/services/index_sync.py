"""The index against the database, which is the truth: what is missing is embedded and written, what is surplus deleted.

Done at every start and now and then, by one process at a time. Chunks of a document whose ingest is still under way
are that ingest's work, unless it believes them written.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from uuid import UUID

from django.db.models import F, Q, QuerySet

from retrieval.engine import Engine, get_engine
from retrieval.errors import EmbeddingUnavailableError
from retrieval.models import Chunk, Collection, Document
from retrieval.ports import Embedder, Vectors
from retrieval.services.index_compare import (
    PIECE,
    Piece,
    differences,
    existing_in,
    history,
    is_known_in_order,
    note_in_order,
)
from retrieval.services.index_rows import embedding_text, index_rows, summary_chunk, with_summary
from retrieval.services.write_lease import write_lease
from retrieval.values import EmbeddingSpace, IndexRow

logger = logging.getLogger(__name__)
MAINTENANCE = "index maintenance"  # the lease of whoever repairs, rebuilds or re-embeds
MAINTENANCE_WAIT_S = 30.0
WRITE_BATCH = 256  # chunks per write: every write ends with a flush, and every flush makes a segment
IN_COLLECTION = "document__collection__embedding"
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
    """Compare every embedding space with its Milvus collection, and repair it; where nothing can differ, count only.

    Raises IndexUnavailableError, also while another process repairs or rebuilds.
    """
    engine = get_engine()
    async with write_lease(MAINTENANCE, wait_s=MAINTENANCE_WAIT_S):
        repairs = [await _repair_if_needed(engine, space) for space in await spaces_in_use()]
    for repair in repairs:
        if not repair.in_order:
            logger.warning("Index repaired: %s", repair)
    return repairs


async def _repair_if_needed(engine: Engine, space: EmbeddingSpace) -> SpaceRepair:
    ready = Q(status=Document.Status.READY)
    needed = await chunks_of(space).filter(SHOULD_BE_INDEXED).acount() + await _summaries(space, ready).acount()
    if await is_known_in_order(engine.index, space, needed=needed):
        return SpaceRepair(space=space, chunks=needed, missing=0, surplus=0)
    return await space_repair(engine, space)


async def space_repair(engine: Engine, space: EmbeddingSpace) -> SpaceRepair:
    """For holders of the maintenance lease. Raises IndexUnavailableError."""
    begun_with = history()
    known = missing = surplus = written = 0
    problem = ""
    read, existing = partial(_piece, space), partial(_existing, space)
    async for piece in differences(engine.index, space, read=read, existing=existing):
        known, missing, surplus = known + piece.known, missing + len(piece.missing), surplus + len(piece.surplus)
        await engine.index.delete_chunks(space, piece.surplus)
        if piece.missing and not problem:
            # Should embedding fail now, the next round still knows what is missing.
            try:
                written += await _index_missing(engine, space, piece.missing)
            except EmbeddingUnavailableError as error:
                problem = error.reason
    if missing:  # results that were cached while rows were missing are not to be found any more
        collections = Collection.objects.filter(embedding_model=space.model, embedding_dim=space.dim)
        await collections.aupdate(version=NEXT_VERSION)
    if not problem:
        await _flag_ready(space)
        await note_in_order(engine.index, space, begun_with=begun_with)
    return SpaceRepair(space=space, chunks=known, missing=missing, surplus=surplus, written=written, problem=problem)


async def _piece(space: EmbeddingSpace, after: str) -> Piece:
    """Read along the primary key, other spaces' chunks too: a filter on them could make each piece sort all chunks."""
    beyond = Q(pk__gt=UUID(after)) if after else Q()
    columns = (
        "pk", "indexed", "document__status", "document__superseded_at",
        f"{IN_COLLECTION}_model", f"{IN_COLLECTION}_dim",
    )  # fmt: skip
    chunks = Chunk.objects.filter(beyond).order_by("pk").values_list(*columns)[:PIECE]
    needed: set[str] = set()
    others: set[str] = set()
    last, seen = "", 0
    async for pk, indexed, status, superseded_at, model, dim in chunks:
        last, seen = str(pk), seen + 1
        if superseded_at is None and (model, dim) == (space.model, space.dim):
            (needed if indexed or status == Document.Status.READY else others).add(last)
    up_to = last if seen == PIECE else ""
    within = beyond & Q(pk__lte=UUID(up_to)) if up_to else beyond
    async for pk, status in _summaries(space, within).values_list("pk", "status"):
        (needed if status == Document.Status.READY else others).add(str(pk))
    return Piece(needed=needed, others=others, up_to=up_to)


async def _existing(space: EmbeddingSpace, ids: Set[str]) -> Set[str]:
    return await existing_in(chunks_of(space), ids) | await existing_in(_summaries(space), ids)


async def _flag_ready(space: EmbeddingSpace) -> None:
    """Chunks of documents that are ready are in the index; only where the flag does not say so already."""
    behind = chunks_of(space).filter(indexed=False, document__status=Document.Status.READY)
    if await behind.aexists():  # the usual case costs no write lock
        await behind.aupdate(indexed=True)


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
    """Of all collections that hold embedded documents."""
    pairs = Collection.objects.exclude(embedding_model="").order_by("embedding_model", "embedding_dim")
    rows = pairs.values_list("embedding_model", "embedding_dim").distinct()
    return [EmbeddingSpace(model, dim) async for model, dim in rows if dim]


def chunks_of(space: EmbeddingSpace) -> QuerySet[Chunk]:
    """All chunks of the space's collections, indexed or not, but for those of superseded documents."""
    return Chunk.objects.filter(
        document__superseded_at=None,
        document__collection__embedding_model=space.model,
        document__collection__embedding_dim=space.dim,
    )


async def in_batches(chunks: QuerySet[Chunk], row_ids: Sequence[str]) -> AsyncIterator[list[Chunk]]:
    """Those of the chunks that still exist, with their documents, a document's next to each other; then summaries,
    whose ids are those of their documents."""
    for start in range(0, len(row_ids), WRITE_BATCH):
        page = row_ids[start : start + WRITE_BATCH]
        batch = chunks.filter(pk__in=page).select_related("document").order_by("document", "seq")
        rows = [chunk async for chunk in batch]
        summaries = with_summary(Document.objects.filter(pk__in=page))
        rows += [summary_chunk(document) async for document in summaries]
        if rows:
            yield rows


async def embed(embedder: Embedder, chunks: Sequence[Chunk]) -> Vectors:
    """Raises EmbeddingUnavailableError."""
    return await embedder.embed_documents([embedding_text(chunk.document, chunk) for chunk in chunks])


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
    pks = _summaries(space, condition).order_by().values_list("pk", flat=True)
    return {str(pk) async for pk in pks.aiterator(chunk_size=5000)}


def _summaries(space: EmbeddingSpace, condition: Q = EVERY) -> QuerySet[Document]:
    """Documents of the space that have a row of their own."""
    return with_summary(Document.objects.filter(condition)).filter(
        collection__embedding_model=space.model, collection__embedding_dim=space.dim
    )


async def ids_of(chunks: QuerySet[Chunk]) -> set[str]:
    """Their primary keys as text."""
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
