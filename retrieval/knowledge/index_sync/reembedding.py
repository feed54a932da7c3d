"""Collections that move to the embedding model of new ones: which they are, what it costs, how far it is."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from ragsite.core.errors import UnavailableError
from ragsite.core.messages import worded
from ragsite.core.queueing import enqueue
from retrieval.compose import get_engine
from retrieval.engine.errors import EmbeddingUnavailableError, IndexUnavailableError
from retrieval.engine.ports import Embedder
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.engine.values import EmbeddingSpace
from retrieval.knowledge.index_sync.repair import collection_reembed, rows_of
from retrieval.models import Chunk, Collection, Reembedding

TASK = "retrieval.tasks.collection_reembed_task"
TOLD_EVERY_S = 1.0
MEASURED = 8  # passages that are embedded to know how long all of them take


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingCost:
    """space: of new collections; None: not now, for `reason`. estimated_s: None where nothing is to be done."""

    space: EmbeddingSpace | None = None
    passages: int = 0
    estimated_s: float | None = None
    reason: str = ""


def collections_apart(space: EmbeddingSpace) -> QuerySet[Collection]:
    """Those that another model has embedded, with their `documents_count` and `passages_count`."""
    current = Q(documents__superseded_at=None)
    found = Collection.objects.exclude(embedding_model="").filter(conversation_id=None)
    found = found.exclude(embedding_model=space.model, embedding_dim=space.dim)
    return found.select_related("owner", "reembedding").annotate(
        documents_count=Count("documents", filter=current, distinct=True),
        passages_count=Count("documents__chunks", filter=current, distinct=True),
    )


async def embedding_cost() -> EmbeddingCost:
    """Embeds a few passages to measure it. Never raises for a model that is away."""
    engine = get_engine()
    try:
        embedder = await engine.models.default_embedder()
        if embedder.space == BUILTIN_SPACE and engine.settings.ollama.offline != "1":
            return EmbeddingCost(reason=worded("no embedding model is connected"))
        apart = collections_apart(embedder.space)
        chunks = Chunk.objects.filter(
            document__collection__in=apart.values("pk"), document__superseded_at=None
        )
        passages = await chunks.acount()
        estimated_s = passages * await _seconds_each(embedder, chunks) if passages else None
    except EmbeddingUnavailableError as error:
        return EmbeddingCost(reason=error.reason)
    return EmbeddingCost(space=embedder.space, passages=passages, estimated_s=estimated_s)


async def _seconds_each(embedder: Embedder, chunks: QuerySet[Chunk]) -> float:
    texts = [text async for text in chunks.values_list("text", flat=True)[:MEASURED]]
    begun_at = time.monotonic()
    await embedder.embed_documents(texts)
    return (time.monotonic() - begun_at) / len(texts)


def reembedding_start(*, collection: Collection) -> None:
    """A worker does it as soon as it can; searches go on meanwhile. Raises UnavailableError: nothing was queued."""
    fresh = {
        "total": 0,
        "done": 0,
        "error": "",
        "requested_at": timezone.now(),
        "finished_at": None,
    }
    Reembedding.objects.update_or_create(collection=collection, defaults=fresh)
    if not enqueue(TASK, str(collection.pk)):
        Reembedding.objects.filter(pk=collection.pk).delete()
        raise UnavailableError


async def reembedding_run(*, collection: Collection) -> EmbeddingSpace:
    """Raises as `collection_reembed`, which is noted, too: the task is tried again."""
    rows = Reembedding.objects.filter(pk=collection.pk)
    await rows.aupdate(total=await rows_of(collection), done=0, error="")
    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count

    async def tell() -> None:
        while True:
            await asyncio.sleep(TOLD_EVERY_S)
            await rows.aupdate(done=done)

    telling = asyncio.create_task(tell())
    try:
        space = await collection_reembed(collection=collection, report=report)
    except (EmbeddingUnavailableError, IndexUnavailableError) as error:
        await rows.aupdate(error=str(error)[:500])
        raise
    finally:
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling
    await rows.aupdate(done=done, finished_at=timezone.now())
    return space
