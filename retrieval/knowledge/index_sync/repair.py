"""Brings the index up to date with the database, which is the truth; searches go on meanwhile.

- `index_repair` compares every embedding space with its Milvus collection, writes what is missing and deletes what is
  surplus. Done at every start and once a day.
- `index_rebuild` fills the next generation of each Milvus collection, then swaps it in.
- `collection_reembed` moves one collection into another embedding space, for instance out of the one it got offline:
  its rows are written beside the old ones, then the collection changes over, then the old rows go.

Vectors that are stored are kept, so a model is needed only for what has none. One process at a time does any of this.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from ragsite.core.messages import worded
from retrieval.compose import Engine, get_engine
from retrieval.engine.errors import EmbeddingUnavailableError
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.engine.search.completeness import Holdings
from retrieval.engine.values import SUMMARY_SEQ, EmbeddingSpace, IndexRow
from retrieval.knowledge.index_sync.embedding_space import vectors_of
from retrieval.knowledge.index_sync.rows import index_rows, summary_chunk, with_summary
from retrieval.knowledge.index_sync.write_lease import write_lease
from retrieval.knowledge.scopes import collection_space
from retrieval.knowledge.term_search import stored_terms
from retrieval.models import Chunk, Collection, Document

logger = logging.getLogger(__name__)
MAINTENANCE = "index maintenance"  # the lease of whoever repairs, rebuilds or re-embeds
MAINTENANCE_WAIT_S = 30.0
WRITE_BATCH = (
    256  # chunks per write: every write ends with a flush, and every flush makes a segment
)
NEXT_VERSION = F("version") + 1
Report = Callable[[int], object]
Write = Callable[[Sequence[IndexRow]], Awaitable[None]]


def _silent(_: int) -> None:
    """No progress is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceRepair:
    """What was found in one embedding space and put right. problem: why something is still missing."""

    space: EmbeddingSpace
    chunks: int
    missing: int
    surplus: int
    written: int = 0
    problem: str = ""


async def index_repair() -> list[SpaceRepair]:
    """Raises IndexUnavailableError, also while another process repairs or rebuilds."""
    engine = get_engine()
    async with write_lease(MAINTENANCE, wait_s=MAINTENANCE_WAIT_S):
        repairs = [await _repair(engine, space) for space in await spaces_in_use()]
    for repair in repairs:
        if repair.missing or repair.surplus:
            logger.warning("Index repaired: %s", repair)
    return repairs


async def _repair(engine: Engine, space: EmbeddingSpace) -> SpaceRepair:
    # The index is read first: what it holds was in the database before, and what is written meanwhile is no surplus.
    there = await engine.index.chunk_ids(space)
    known = await _row_ids(_documents_in(space))
    missing = await _row_ids(_documents_in(space), needed=True) - there
    surplus = sorted(there - known)
    await engine.index.delete_chunks(space, surplus)
    written = 0
    problem = ""
    try:
        written = await _write_rows(engine, space, missing, partial(engine.index.upsert, space))
    except EmbeddingUnavailableError as error:
        problem = error.reason
    else:
        behind = Chunk.objects.filter(
            document__in=_documents_in(space).filter(status=Document.Status.READY)
        )
        await behind.filter(indexed=False, document__superseded_at=None).aupdate(indexed=True)
    if missing:  # results that were cached while rows were missing are not to be found any more
        collections = Collection.objects.filter(
            embedding_model=space.model, embedding_dim=space.dim
        )
        await collections.aupdate(version=NEXT_VERSION, updated_at=timezone.now())
    return SpaceRepair(
        space=space,
        chunks=len(known),
        missing=len(missing),
        surplus=len(surplus),
        written=written,
        problem=problem,
    )


async def index_rebuild(*, only: EmbeddingSpace | None = None, report: Report = _silent) -> int:
    """Rebuild every space, or one; the number of rows written. `report`: how many more were written.

    Raises IndexUnavailableError, EmbeddingUnavailableError (a vector is missing and its model is away).
    """
    engine = get_engine()
    async with write_lease(MAINTENANCE, wait_s=MAINTENANCE_WAIT_S):
        spaces = [only] if only else await spaces_in_use()
        return sum([await _rebuild(engine, space, report) for space in spaces])


async def _rebuild(engine: Engine, space: EmbeddingSpace, report: Report) -> int:
    index = engine.index
    started = timezone.now()
    generation = await index.build_generation(space)
    fill = partial(
        _write_rows, engine, space, write=partial(index.write_generation, generation), report=report
    )
    written = await fill(await _ids_to_keep(engine, space))
    async with index.swapping(generation):
        # No ingest writes now: take up what came, changed or went since the first reading.
        expected = await _ids_to_keep(engine, space)
        there = await index.generation_ids(generation)
        changed = await _row_ids(_documents_in(space).filter(updated_at__gte=started))
        written += await fill((expected - there) | (expected & changed))
        await index.trim_generation(generation, sorted(there - expected))
    return written


async def collection_reembed(*, collection: Collection, report: Report = _silent) -> EmbeddingSpace:
    """Move a collection to the embedding model that new collections get; the space it is in afterwards.

    Raises EmbeddingUnavailableError, IndexUnavailableError; then nothing has changed.
    """
    engine = get_engine()
    old = collection_space(collection)
    new = (await engine.models.default_embedder()).space
    if old is None or old == new:
        return new
    if new == BUILTIN_SPACE and engine.settings.ollama.offline != "1":
        raise EmbeddingUnavailableError  # a model that is away is no reason to give up what a model has made
    async with write_lease(MAINTENANCE, wait_s=MAINTENANCE_WAIT_S):
        await engine.index.delete_collection(
            new, str(collection.pk)
        )  # what an attempt that broke off has left
        row_ids = await _row_ids(collection.documents.all())
        await _write_rows(engine, new, row_ids, partial(engine.index.upsert, new), report)
        unchanged = Collection.objects.filter(
            pk=collection.pk, embedding_model=old.model, embedding_dim=old.dim
        )
        if not await unchanged.aupdate(
            embedding_model=new.model,
            embedding_dim=new.dim,
            version=NEXT_VERSION,
            updated_at=timezone.now(),
        ):
            raise EmbeddingUnavailableError(
                worded("the collection was changed meanwhile; try again")
            )
        # What an ingest wrote into the old space during the last moments is missing in the new one.
        await _repair(engine, new)
        await engine.index.delete_collection(old, str(collection.pk))
    return new


async def rows_of(collection: Collection) -> int:
    """How many a re-embedding of it writes."""
    return len(await _row_ids(collection.documents.all()))


async def index_holdings() -> Holdings:
    """Of all spaces together, as of the last seconds. Raises IndexUnavailableError."""
    completeness = get_engine().completeness
    held = [await completeness.holdings(space) for space in await spaces_in_use()]
    return Holdings(
        expected=sum(one.expected for one in held), missing=sum(one.missing for one in held)
    )


# ------------------------------------------------------------------------------------------------ which rows
async def spaces_in_use() -> list[EmbeddingSpace]:
    pairs = Collection.objects.exclude(embedding_model="").order_by(
        "embedding_model", "embedding_dim"
    )
    rows = pairs.values_list("embedding_model", "embedding_dim").distinct()
    return [EmbeddingSpace(model, dim) async for model, dim in rows if dim]


def _documents_in(space: EmbeddingSpace) -> QuerySet[Document]:
    return Document.objects.filter(
        collection__embedding_model=space.model, collection__embedding_dim=space.dim
    )


async def _row_ids(documents: QuerySet[Document], *, needed: bool = False) -> set[str]:
    """Of their chunks and summaries. needed: without those that an ingest has yet to write."""
    current = documents.filter(superseded_at=None)
    chunks = Chunk.objects.filter(document__in=current.values("pk"))
    summaries = with_summary(current)
    if needed:
        chunks = chunks.filter(Q(indexed=True) | Q(document__status=Document.Status.READY))
        summaries = summaries.filter(status=Document.Status.READY)
    row_ids: set[str] = set()
    for rows in (chunks, summaries):
        keys = rows.order_by().values_list("pk", flat=True)
        row_ids |= {str(pk) async for pk in keys.aiterator(chunk_size=5000)}
    return row_ids


async def _ids_to_keep(engine: Engine, space: EmbeddingSpace) -> set[str]:
    """What a rebuilt index has to hold: also rows that an ingest is about to rewrite, until it has."""
    there = await engine.index.chunk_ids(space)
    documents = _documents_in(space)
    return await _row_ids(documents, needed=True) | (there & await _row_ids(documents))


# ------------------------------------------------------------------------------------------------ writing them
async def _write_rows(
    engine: Engine,
    space: EmbeddingSpace,
    row_ids: Iterable[str],
    write: Write,
    report: Report = _silent,
) -> int:
    """Those that still exist; how many. Raises as `vectors_of`."""
    ordered = sorted(row_ids)
    written = 0
    for start in range(0, len(ordered), WRITE_BATCH):
        page = ordered[start : start + WRITE_BATCH]
        chunks = Chunk.objects.filter(pk__in=page).select_related("document")
        rows = [chunk async for chunk in chunks]
        rows += [
            summary_chunk(document)
            async for document in with_summary(Document.objects.filter(pk__in=page))
        ]
        if rows:
            embedder = partial(engine.models.embedder, space)
            vectors = await vectors_of(
                rows, space, engine.index, stored=rows, find_embedder=embedder
            )
            made = await asyncio.to_thread(index_rows, rows, vectors)
            await write(made)
            await _keep_terms(rows, made)
            written += len(rows)
            report(len(rows))
    return written


async def _keep_terms(rows: Sequence[Chunk], made: Sequence[IndexRow]) -> None:
    """Of chunks that do not have them, or others: summaries are no rows of the database."""
    changed = []
    for chunk, row in zip(rows, made, strict=True):
        terms = stored_terms(row.terms)
        if row.seq > SUMMARY_SEQ and chunk.terms != terms:
            chunk.terms = terms
            changed.append(chunk)
    await Chunk.objects.abulk_update(changed, ["terms"])
