"""Celery's side of the knowledge part. A message may come twice or never: the database's rows decide what is done."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import UUID

from asgiref.sync import sync_to_async
from celery import current_task, shared_task
from celery.signals import worker_ready
from django.conf import settings
from django.core.cache import cache
from django.core.files.storage import default_storage
from django.db import close_old_connections

from ragsite.core.leases import lock_is_held
from ragsite.core.queueing import BROKER_AWAY, enqueue
from ragsite.core.uploads import UploadsAwayError
from retrieval.compose import close_engine, get_engine
from retrieval.engine.errors import EmbeddingUnavailableError, IndexUnavailableError
from retrieval.engine.values import EmbeddingSpace
from retrieval.knowledge.index_sync.reembedding import reembedding_run
from retrieval.knowledge.index_sync.repair import MAINTENANCE, index_repair
from retrieval.knowledge.services.documents import INGEST_NEXT
from retrieval.knowledge.services.ingest import ingest_take_next
from retrieval.knowledge.services.ingest_jobs import turns
from retrieval.knowledge.sync.run import LIMIT_S, runs_waiting, source_run
from retrieval.models import Collection

logger = logging.getLogger(__name__)
Result = TypeVar("Result")
COMPARED_EVERY_S = (
    3600  # by workers that start, where the index is a server's: one that grows starts many
)
INGEST_FOR_S = 5.0  # that other tasks wait for a worker at most, besides its last document
RESUME_EXPIRES_S = 30  # by then the next round has looked again
AWAY = (IndexUnavailableError, EmbeddingUnavailableError)
RETRY = {"autoretry_for": AWAY, "max_retries": 10, "retry_backoff": 2, "retry_backoff_max": 60}


@shared_task
def ingest_next() -> str:
    """Parse, embed and index the documents in turn for a while: a message each would cost a look at the broker, which
    without Redis takes longer than a small document. A message too many finds nothing to do ("idle")."""
    outcome = _run(_ingest_for_a_while)
    if outcome != "idle" and turns():
        enqueue(INGEST_NEXT)
    return outcome


async def _ingest_for_a_while() -> str:
    """How the last document ended; "idle": there was none."""
    now = asyncio.get_running_loop().time
    until = now() + INGEST_FOR_S
    outcome: str = await ingest_take_next()
    while outcome != "idle" and now() < until:
        following = await ingest_take_next()
        if following == "idle":
            break
        outcome = following
    return outcome


@shared_task
def ingest_resume() -> int:
    """Send messages for documents whose worker died, whose message was lost, or whose pause is over. How many."""
    messages = min(len(turns()), settings.RAG.ingest.workers)
    for _ in range(messages):
        ingest_next.apply_async(retry=False, expires=RESUME_EXPIRES_S)
    return messages


@shared_task(**RETRY)
def document_unindex(document_id: str, model: str, dim: int) -> None:
    """Clear a deleted document's rows away. Search doesn't show them in any case."""
    _run(lambda: get_engine().index.delete_document(EmbeddingSpace(model, dim), document_id))


@shared_task(**RETRY)
def collection_unindex(collection_id: str, model: str, dim: int) -> None:
    _run(lambda: get_engine().index.delete_collection(EmbeddingSpace(model, dim), collection_id))


@shared_task(
    autoretry_for=(UploadsAwayError,), max_retries=30, retry_backoff=2, retry_backoff_max=3600
)
def file_delete(name: str) -> None:
    """The file of a document that is deleted: the store was away."""
    default_storage.delete(name)


@shared_task(**RETRY)
def index_check(unless_busy: bool = False) -> int:
    """Compare the index with the database and repair it. Returns how many chunks were rewritten.

    unless_busy: leave it out where it is under way, or a rebuild is.
    """
    if unless_busy and lock_is_held(MAINTENANCE):
        return 0
    return sum(repair.written for repair in _run(index_repair))


@shared_task(**RETRY)
def collection_reembed_task(collection_id: str) -> str:
    """Embed a collection by the model that new ones get. The model that it has afterwards; "": it has gone."""
    collection = Collection.objects.filter(pk=collection_id).first()
    return _run(lambda: reembedding_run(collection=collection)).model if collection else ""


@shared_task(soft_time_limit=LIMIT_S, time_limit=LIMIT_S + 60)
def sync_source_run(source_id: str, dry_run: bool = False) -> None:
    """Look a source through; nothing where a run of it is under way, or it has gone."""
    source_run(source_id=UUID(source_id), dry_run=dry_run)


@shared_task
def sync_sources_resume() -> int:
    """Send messages for runs whose message was lost while they waited for their turn. How many."""
    sent = set()
    for row in runs_waiting():
        if row.owner_id not in sent:
            sent.add(row.owner_id)
            sync_source_run.apply_async(
                (str(row.pk), row.waits_dry), retry=False, expires=RESUME_EXPIRES_S
            )
    return len(sent)


@worker_ready.connect
def _resume_at_start(sender: Any, **_: Any) -> None:
    """What the last worker left behind need not wait for the next round, nor an index that was lost meanwhile."""
    if settings.CELERY_TASK_DEFAULT_QUEUE not in sender.app.amqp.queues.consume_from:
        return  # the worker of sources
    ingest_resume.apply_async(retry=False)
    if _may_compare():
        index_check.apply_async(retry=False)


def _may_compare() -> bool:
    """Whether a worker that starts compares index and database: always with a Milvus Lite, which starts with it and may
    have lost rows; with a server's once in an hour for the whole site, as far as it shares a cache."""
    return not settings.RAG.milvus.uri or cache.add(
        "index-compared", True, timeout=COMPARED_EVERY_S
    )


def _run(work: Callable[[], Awaitable[Result]]) -> Result:
    """In an event loop of its own, with the loop's clients and database connection closed after it.

    A worker that stops cancels it; then it is queued again, as its message is gone.
    """

    async def main() -> Result:
        try:
            return await work()
        except asyncio.CancelledError:
            _queue_again()
            raise
        finally:
            await close_engine()
            await sync_to_async(close_old_connections)()

    return asyncio.run(main())


def _queue_again() -> None:
    """The running task, if there is one; what it has done already it will find done."""
    if current_task and not current_task.request.called_directly:
        request = current_task.request
        try:
            current_task.apply_async(args=request.args, kwargs=request.kwargs, retry=False)
        except BROKER_AWAY as error:
            logger.warning(
                "%s was not queued again: the broker is away (%s)", current_task.name, error
            )
