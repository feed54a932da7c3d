"""The worker's side of the memory: condensing what an answer left behind, and keeping the index like the database.

After an answer its fact stands in the database at once, as a model-free rule made it. A worker then has the model put
it into one short sentence and writes its vector, so that neither call keeps the answer's reader waiting, and a site
that is stopped in between loses nothing. What a lost message left undone, the hourly round does (`memory_repair`).
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from asgiref.sync import sync_to_async
from django.db.models import QuerySet
from django.utils import timezone

from ragsite.core.wording import worded
from retrieval.engine import Engine, get_engine
from retrieval.errors import EmbeddingUnavailableError, IndexUnavailableError, ModelError
from retrieval.memory.selectors import memory_enabled, spaces_of
from retrieval.memory.services import (
    memory_merge,
    memory_rewrite,
    numbers_of,
    set_space,
)
from retrieval.memory.store import user_key
from retrieval.models import Memory
from retrieval.ports import ChunkIndex, Embedder, Vectors
from retrieval.providers.lexical import SPACE as LEXICAL
from retrieval.services.write_lease import write_lease
from retrieval.steps.memory import condensed_by_model
from retrieval.text.answer_language import answer_language
from retrieval.values import EmbeddingSpace, IndexRow, SearchFilters

NEAR_DUPLICATE = 0.95  # cosine of two facts, from which the newer one takes the older one's place

logger = logging.getLogger(__name__)
MAINTENANCE = "memory maintenance"  # the lease of whoever repairs the memory's index
MAINTENANCE_WAIT_S = 30.0
LOST_AFTER = timedelta(minutes=2)  # a draft that is older has lost its message
LOST_PER_ROUND = 200
BATCH = 128
NEIGHBOURS = 3


async def memory_consolidate(memory_id: uuid.UUID) -> str:
    """Condense one fact and index it; what was done, for the log.

    Raises IndexUnavailableError, EmbeddingUnavailableError: the fact is kept and found by its words meanwhile.
    """
    engine = get_engine()
    await _condense(engine, memory_id)
    memory = await Memory.objects.filter(pk=memory_id).afirst()
    if memory is None:
        return "gone"
    embedder = await engine.models.default_embedder()
    vectors = await embedder.embed_documents([_text_of(memory)])
    await _merge_near_duplicates(engine, embedder.space, memory, vectors)
    await _write(engine, embedder.space, [memory], vectors)
    return "indexed"


async def memory_repair() -> int:
    """Drafts whose message was lost, facts without a vector of the present model, rows that are missing or surplus.

    Returns how many rows were written. Raises IndexUnavailableError, also while another process repairs.
    """
    engine = get_engine()
    async with write_lease(MAINTENANCE, wait_s=MAINTENANCE_WAIT_S):
        lost = Memory.objects.exclude(draft="").filter(updated_at__lt=timezone.now() - LOST_AFTER)
        for memory_id in [pk async for pk in lost.values_list("pk", flat=True)[:LOST_PER_ROUND]]:
            await _condense(engine, memory_id)
        embedder = await _wanting(engine)
        written = await _index_all_in(engine, embedder)
        # Also where no fact is left: rows of the last one may have stayed behind.
        spaces = {LEXICAL, *([embedder.space] if embedder else []), *await sync_to_async(spaces_of)(_all())}
        for space in spaces:
            written += await _compare(engine, space)
    return written


async def memory_rebuild() -> int:
    """Write the memory's index over from the database, then clear what is not there. Rows written.

    Nothing is taken away before: recall sees the old rows or the new ones, also when this breaks off. A space whose
    embedding model is away is left as it is. Raises IndexUnavailableError.
    """
    engine, written = get_engine(), 0
    async with write_lease(MAINTENANCE, wait_s=MAINTENANCE_WAIT_S):
        for space in await sync_to_async(spaces_of)(_all()):
            try:
                embedder = await engine.models.embedder(space)
            except EmbeddingUnavailableError as error:
                logger.warning("The memory's index of %s was not rebuilt: %s", space.model, error.reason)
                continue
            written += await _index_all(engine, embedder, await _ids(space))
            await _clear_surplus(engine, space)
    return written


async def memory_rows_delete(*, space: EmbeddingSpace, memory_ids: Sequence[str]) -> None:
    """Clear deleted facts out of the index. Raises IndexUnavailableError."""
    await _index(get_engine()).delete_chunks(space, memory_ids)


async def memory_rows_of_user_delete(*, space: EmbeddingSpace, user_id: int) -> None:
    """Clear a deleted user out of the index. Raises IndexUnavailableError."""
    await _index(get_engine()).delete_collection(space, user_key(user_id))


# ------------------------------------------------------------------------------------------------ condensing
async def _condense(engine: Engine, memory_id: uuid.UUID) -> None:
    """The model's sentence in place of the draft's, where the model gives one."""
    memory = await Memory.objects.exclude(draft="").filter(pk=memory_id).afirst()
    if memory is None:
        return
    text = ""
    if await sync_to_async(memory_enabled)(user_id=memory.user_id):
        deps = replace(engine, language=answer_language(memory.question))
        try:
            async with asyncio.timeout(engine.settings.ollama.structured_timeout_s):
                text = await condensed_by_model(deps, memory.question, memory.draft)
        except (ModelError, TimeoutError) as error:
            logger.info("A memory keeps the sentence of its answer: %s", error or "no result in time")
    await sync_to_async(memory_rewrite)(memory=memory, text=text or memory.text)


# ------------------------------------------------------------------------------------------------ the index
async def _merge_near_duplicates(engine: Engine, space: EmbeddingSpace, memory: Memory, vectors: Vectors) -> None:
    """An older fact of the same user that says the same in other words gives way."""
    [hits] = await _index(engine).search_dense(
        space, vectors, collection_ids=[user_key(memory.user_id)], filters=SearchFilters(), limit=NEIGHBOURS
    )
    near = [hit.chunk_id for hit in hits if hit.score >= NEAR_DUPLICATE]
    others = Memory.objects.filter(user=memory.user_id, pk__in=near, updated_at__lt=memory.updated_at)
    async for older in others.exclude(pk=memory.pk):
        if numbers_of(older.question, older.text) == numbers_of(memory.question, memory.text):
            await sync_to_async(memory_merge)(newer=memory, older=older)


async def _write(engine: Engine, space: EmbeddingSpace, memories: Sequence[Memory], vectors: Vectors) -> int:
    """Write their rows; one that has gone or changed meanwhile is left to the message that says so."""
    rows = [_row(memory, vector) for memory, vector in zip(memories, vectors, strict=True)]
    await _index(engine).upsert(space, rows)
    gone: list[str] = []
    for memory in memories:
        if not await sync_to_async(set_space)(memory=memory, space=space):
            gone.append(str(memory.pk))
            continue
        old = EmbeddingSpace(memory.embedding_model, memory.embedding_dim or 0)
        if memory.embedding_model and old != space:
            await _index(engine).delete_chunks(old, [str(memory.pk)])
    await _index(engine).delete_chunks(space, [memory_id for memory_id in gone if not await _is_there(memory_id)])
    return len(memories) - len(gone)


def _all() -> QuerySet[Memory]:
    return Memory.objects.all()


async def _is_there(memory_id: str) -> bool:
    return await Memory.objects.filter(pk=memory_id).aexists()


async def _wanting(engine: Engine) -> Embedder | None:
    try:
        return await engine.models.default_embedder()
    except EmbeddingUnavailableError:
        return None


async def _index_all_in(engine: Engine, embedder: Embedder | None) -> int:
    """Facts that have no vector, or one of another model. Offline, those of a real model keep theirs."""
    if embedder is None:
        return 0
    lacking = Memory.objects.filter(embedding_model="")
    if embedder.space != LEXICAL:
        lacking = Memory.objects.exclude(embedding_model=embedder.space.model, embedding_dim=embedder.space.dim)
    return await _index_all(engine, embedder, [pk async for pk in lacking.values_list("pk", flat=True)])


async def _compare(engine: Engine, space: EmbeddingSpace) -> int:
    """What is missing in a space's index is written, what is surplus deleted."""
    if not (missing := await _clear_surplus(engine, space)):
        return 0
    try:
        return await _index_all(engine, await engine.models.embedder(space), missing)
    except EmbeddingUnavailableError as error:
        logger.warning("%d memories are not in the index: %s", len(missing), error.reason)
        return 0


async def _clear_surplus(engine: Engine, space: EmbeddingSpace) -> list[uuid.UUID]:
    """Delete the rows of what is in no row of the database; what is there and not in the index."""
    there = await _index(engine).chunk_ids(space)  # first: what it holds was in the database before
    known = {str(memory_id) for memory_id in await _ids(space)}
    await _index(engine).delete_chunks(space, sorted(there - known))
    return [uuid.UUID(memory_id) for memory_id in sorted(known - there)]


async def _index_all(engine: Engine, embedder: Embedder, memory_ids: Sequence[uuid.UUID]) -> int:
    written = 0
    for start in range(0, len(memory_ids), BATCH):
        batch = Memory.objects.filter(pk__in=memory_ids[start : start + BATCH])
        if memories := [memory async for memory in batch]:
            vectors = await embedder.embed_documents([_text_of(memory) for memory in memories])
            written += await _write(engine, embedder.space, memories, vectors)
    return written


def _index(engine: Engine) -> ChunkIndex:
    if engine.memory_index is None:
        raise IndexUnavailableError(worded("There is no index for what is remembered."))
    return engine.memory_index


async def _ids(space: EmbeddingSpace) -> list[uuid.UUID]:
    return [pk async for pk in _in(space).values_list("pk", flat=True)]


def _in(space: EmbeddingSpace) -> QuerySet[Memory]:
    return Memory.objects.filter(embedding_model=space.model, embedding_dim=space.dim)


def _text_of(memory: Memory) -> str:
    return f"{memory.question}\n{memory.text}"


def _row(memory: Memory, vector: object) -> IndexRow:
    owner = user_key(memory.user_id)
    return IndexRow(
        chunk_id=str(memory.pk), collection_id=owner, document_id=owner, seq=0, terms=memory.terms, vector=vector
    )
