"""Messages to the workers, by the task's name: who sends one need not load what the task needs.

A broker that is away loses nothing: the database knows what is to be done, and a later round finds it.
"""

from __future__ import annotations

import logging
from uuid import UUID

from celery import current_app
from kombu.exceptions import OperationalError

from retrieval.values import EmbeddingSpace

logger = logging.getLogger(__name__)


def ingest_queue() -> None:
    """A worker that is free takes the next job, whosever turn it is."""
    _send("retrieval.tasks.ingest_next")


def document_unindex_queue(*, document_id: UUID, space: EmbeddingSpace) -> None:
    """A worker clears a deleted document's rows away."""
    _send("retrieval.tasks.document_unindex", str(document_id), space.model, space.dim)


def collection_unindex_queue(*, collection_id: UUID, space: EmbeddingSpace) -> None:
    """A worker clears a deleted collection's rows away."""
    _send("retrieval.tasks.collection_unindex", str(collection_id), space.model, space.dim)


def reembed_queue(*, collection_id: UUID) -> None:
    """A worker embeds a collection by the model that new ones get."""
    _send("retrieval.tasks.collection_reembed_task", str(collection_id))


def sync_queue(*, source_id: UUID, dry_run: bool) -> None:
    """A worker looks a source through."""
    _send("retrieval.tasks.sync_source_run", str(source_id), dry_run)


def _send(task: str, *arguments: str | int) -> None:
    try:
        current_app.send_task(task, arguments, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("%s%s waits for a later round: the broker is away (%s)", task, arguments, error)
