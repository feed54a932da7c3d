"""The Celery tasks, called as a worker calls them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from celery.signals import worker_ready
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.utils import timezone

from retrieval import tasks
from retrieval.knowledge.services.documents import INGEST_NEXT, document_create
from retrieval.models import Document, IngestJob
from tests.factories import CollectionFactory, IngestJobFactory


@pytest.fixture
def document(transactional_db: None, milvus: Any, offline: None, uploads: None) -> Document:
    upload = ContentFile(b"Ten books.", name="a.txt")
    return document_create(
        collection=CollectionFactory(), upload=upload, file_name="a.txt"
    ).document


def test_message_that_comes_twice_is_worked_on_once(document: Document) -> None:
    assert tasks.ingest_next() == "ready"
    assert tasks.ingest_next() == "idle"
    assert IngestJob.objects.get().attempts == 1


def test_one_message_is_enough_for_all_that_waits(document: Document) -> None:
    for name in ("b.txt", "c.txt"):
        upload = ContentFile(f"Of {name}.".encode(), name=name)
        document_create(collection=document.collection, upload=upload, file_name=name)
    assert tasks.ingest_next() == "ready"
    assert set(Document.objects.values_list("status", flat=True)) == {"ready"}


def test_other_tasks_get_their_turn_between_documents(
    document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = ContentFile(b"Four weeks.", name="b.txt")
    document_create(collection=document.collection, upload=upload, file_name="b.txt")
    monkeypatch.setattr(tasks, "INGEST_FOR_S", 0.0)
    sent: list[str] = []
    monkeypatch.setattr(tasks, "enqueue", sent.append)
    assert tasks.ingest_next() == "ready"
    assert Document.objects.filter(status="ready").count() == 1
    assert sent == [INGEST_NEXT]


@pytest.mark.django_db
def test_resuming_sends_messages_for_what_was_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    expired = timezone.now() - timedelta(seconds=1)
    IngestJobFactory(state="running", holder="dead", lease_expires_at=expired)
    IngestJobFactory(
        state="running", holder="alive", lease_expires_at=timezone.now() + timedelta(seconds=60)
    )
    IngestJobFactory(state="done")
    sent: list[Any] = []
    monkeypatch.setattr(tasks.ingest_next, "apply_async", lambda **options: sent.append(options))
    assert tasks.ingest_resume() == 1
    IngestJob.objects.filter(holder="dead").update(
        lease_expires_at=timezone.now() + timedelta(seconds=60)
    )
    assert tasks.ingest_resume() == 0
    assert len(sent) == 1


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


class Worker:
    """As much of Celery's as the signal's receivers ask for."""

    app = current_app


@pytest.mark.parametrize(("uri", "comparisons"), [("http://milvus.internal:19530", 1), ("", 2)])
def test_of_workers_that_start_within_an_hour_one_compares_the_index_of_a_server(
    monkeypatch: pytest.MonkeyPatch, rag_settings: Callable[..., None], uri: str, comparisons: int
) -> None:
    cache.clear()
    rag_settings(milvus={"uri": uri})
    monkeypatch.setattr(
        "ragsite.runtime.presence.show_in_thread", lambda kind: None
    )  # it would outlive this test
    sent: list[Any] = []
    monkeypatch.setattr(tasks.ingest_resume, "apply_async", lambda **_: None)
    monkeypatch.setattr(tasks.index_check, "apply_async", lambda **what: sent.append(what))
    for _ in range(2):
        worker_ready.send(sender=Worker())
    assert len(sent) == comparisons
