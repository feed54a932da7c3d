"""How far the reading of new documents is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from ragsite.management.commands.up import tell_reading
from retrieval.knowledge.scopes import scope_for
from retrieval.knowledge.services.reading_progress import ReadingProgress, reading_progress
from retrieval.models import Document, IngestJob
from tests.factories import CollectionFactory, DocumentFactory, UserFactory

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture
def user() -> User:
    return UserFactory()


def read(collection: Any, *, began_s: float, ended_s: float | None) -> Document:
    """A document whose job began so many seconds ago, and ended so many; None: it waits."""
    ready = ended_s is not None
    document = DocumentFactory(collection=collection, status="ready" if ready else "queued")
    job = IngestJob.objects.create(document=document, state="done" if ready else "waiting")
    began = NOW - timedelta(seconds=began_s)
    ended = NOW - timedelta(seconds=ended_s) if ready else None
    IngestJob.objects.filter(pk=job.pk).update(created_at=began, finished_at=ended)
    Document.objects.filter(pk=document.pk).update(created_at=began)
    return document


def test_what_came_in_since_nothing_was_left_is_counted(user: User) -> None:
    mine = CollectionFactory(owner=user)
    read(mine, began_s=900, ended_s=880)  # of another day's work
    read(mine, began_s=60, ended_s=40)
    read(mine, began_s=50, ended_s=20)
    read(mine, began_s=30, ended_s=None)
    assert reading_progress(user=user) == ReadingProgress(total=3, done=2)


def test_all_that_is_read_is_no_progress(user: User) -> None:
    read(CollectionFactory(owner=user), began_s=60, ended_s=40)
    assert reading_progress(user=user) == ReadingProgress(0, 0)


def test_collections_that_a_reader_does_not_search_do_not_count(user: User) -> None:
    read(CollectionFactory(visibility="private"), began_s=60, ended_s=None)
    assert reading_progress(user=user) == ReadingProgress(0, 0)


def test_a_scope_knows_how_much_of_it_is_not_read_yet(user: User) -> None:
    mine = CollectionFactory(owner=user)
    read(mine, began_s=60, ended_s=None)
    read(mine, began_s=60, ended_s=30)
    scope = scope_for(user=user)
    assert (scope.documents, scope.being_read) == (1, 1)


def test_the_terminal_is_told_when_all_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    states = [
        ReadingProgress(0, 0),
        ReadingProgress(24, 3),
        ReadingProgress(24, 20),
        ReadingProgress(0, 0),
    ]
    monkeypatch.setattr(
        "ragsite.management.commands.up.reading_progress_of_all", lambda: states.pop(0)
    )
    monkeypatch.setattr("ragsite.management.commands.up.connections.close_all", lambda: None)
    lines: list[str] = []
    tell_reading(lines.append, look_every_s=0.0)
    assert lines == ["Documents being read: 24, 3 done.", "All documents are read."]
