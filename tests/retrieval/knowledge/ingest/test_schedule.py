"""Whose document is read next."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from retrieval.knowledge.services.ingest_jobs import job_claim_next, turns
from retrieval.models import IngestJob
from tests.factories import CollectionFactory, DocumentFactory, IngestJobFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def users() -> list[User]:
    return [UserFactory(), UserFactory()]


def jobs_of(user: User | None, count: int = 1, **fields: Any) -> list[IngestJob]:
    collection = CollectionFactory(owner=user)
    return [
        IngestJobFactory(document=DocumentFactory(collection=collection), user=user, **fields)
        for _ in range(count)
    ]


def take() -> User | str | None:
    """Whose job a free worker takes; "nobody's" where none may be taken."""
    claim = job_claim_next()
    return IngestJob.objects.get(pk=claim.lease.pk).user if claim else "nobody's"


def test_one_file_does_not_wait_behind_fifty_of_another_user(users: list[User]) -> None:
    many, single = users
    jobs_of(many, 50)
    jobs_of(single)
    assert [take(), take()] == [many, single]


def test_slow_files_of_one_user_do_not_hold_both_workers(users: list[User]) -> None:
    slow, late = users
    jobs_of(slow, 3)
    assert [take(), take()] == [slow, "nobody's"]
    jobs_of(late)
    assert take() == late


def test_sites_own_documents_take_turns_and_may_use_every_worker(users: list[User]) -> None:
    jobs_of(None, 3)
    jobs_of(users[0])
    assert [take(), take(), take()] == [None, users[0], None]


def test_pausing_job_is_not_taken_and_an_orphaned_one_is(users: list[User]) -> None:
    now = timezone.now()
    jobs_of(users[0], not_before=now + timedelta(seconds=60))
    jobs_of(users[1], state="running", lease_expires_at=now - timedelta(seconds=1))
    assert turns() == [users[1].pk]


def test_job_that_broke_off_too_often_does_not_keep_the_others(users: list[User]) -> None:
    jobs_of(users[0], attempts=3)
    jobs_of(users[0])
    assert take() == users[0]
    assert IngestJob.objects.filter(state="failed").count() == 1
