"""The Celery tasks, called as a worker calls them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery.signals import worker_ready
from django.core.files.base import ContentFile
from django.utils import timezone
from django_celery_beat.models import PeriodicTask

from ragsite.core.rag_settings import MilvusSettings
from retrieval import tasks
from retrieval.models import Document, IngestJob
from retrieval.services.documents import document_create
from tests.factories import CollectionFactory, IngestJobFactory


@pytest.fixture
def document(
    transactional_db: None,
    rag_settings: Callable[..., None],
    milvus_settings: MilvusSettings,
    settings: Any,
    tmp_path: Path,
) -> Document:
    settings.MEDIA_ROOT = tmp_path / "uploads"
    rag_settings(milvus=milvus_settings, ollama={"offline": "1", "embed_model": ""})
    upload = ContentFile(b"Ten books.", name="a.txt")
    return document_create(collection=CollectionFactory(), upload=upload, file_name="a.txt").document


def test_message_that_comes_twice_is_worked_on_once(document: Document) -> None:
    assert tasks.ingest_next() == "ready"
    assert tasks.ingest_next() == "idle"
    assert IngestJob.objects.get().attempts == 1


def test_unindexing_clears_a_documents_rows(document: Document) -> None:
    tasks.ingest_next()
    collection = document.collection
    collection.refresh_from_db()
    space = (collection.embedding_model, collection.embedding_dim)
    tasks.document_unindex(str(document.pk), *space)
    tasks.document_unindex(str(document.pk), *space)  # a message that comes twice
    assert tasks._run(lambda: tasks.get_engine().index.chunk_ids(tasks.EmbeddingSpace(*space))) == set()


@pytest.mark.django_db
def test_resuming_sends_messages_for_what_was_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    expired = timezone.now() - timedelta(seconds=1)
    IngestJobFactory(state="running", holder="dead", lease_expires_at=expired)
    IngestJobFactory(state="running", holder="alive", lease_expires_at=timezone.now() + timedelta(seconds=60))
    IngestJobFactory(state="done")
    sent: list[Any] = []
    monkeypatch.setattr(tasks.ingest_next, "apply_async", lambda **options: sent.append(options))
    assert tasks.ingest_resume() == 1
    IngestJob.objects.filter(holder="dead").update(lease_expires_at=timezone.now() + timedelta(seconds=60))
    assert tasks.ingest_resume() == 0
    assert len(sent) == 1


@pytest.mark.django_db
def test_the_index_is_compared_every_day_and_when_a_worker_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    periodic = PeriodicTask.objects.get(task=tasks.index_check.name)
    assert (periodic.interval.every, periodic.interval.period, periodic.enabled) == (1, "days", True)
    sent: list[str] = []
    monkeypatch.setattr("celery.app.task.Task.apply_async", lambda task, **_: sent.append(task.name))
    worker_ready.send(sender=None)
    assert tasks.index_check.name in sent


def test_task_that_a_stopping_worker_breaks_off_is_queued_again(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken_off() -> list[Any]:
        raise asyncio.CancelledError

    sent: list[Any] = []
    monkeypatch.setattr(tasks, "index_repair", broken_off)
    monkeypatch.setattr(tasks.index_check, "apply_async", lambda **what: sent.append(what))
    with pytest.raises(asyncio.CancelledError):
        tasks.index_check.apply(throw=True)
    [again] = sent
    assert (list(again["args"]), again["kwargs"], again["retry"]) == ([], {}, False)
