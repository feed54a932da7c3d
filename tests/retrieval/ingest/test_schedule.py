"""Whose document is read next."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.utils import timezone

from retrieval.models import IngestJob
from retrieval.services.ingest_jobs import SMALL_BYTES, turn_claim, turns
from tests.factories import CollectionFactory, DocumentFactory, IngestJobFactory, UserFactory

pytestmark = pytest.mark.django_db

LARGE = SMALL_BYTES + 1


@pytest.fixture
def users() -> list[User]:
    return [UserFactory(), UserFactory()]


def jobs_of(user: User | None, count: int = 1, *, size_bytes: int = 0, **fields: Any) -> list[IngestJob]:
    collection = CollectionFactory(owner=user)
    return [
        IngestJobFactory(document=DocumentFactory(collection=collection, size_bytes=size_bytes), user=user, **fields)
        for _ in range(count)
    ]


def sizes_running(user: User) -> list[int]:
    running = IngestJob.objects.filter(user=user, state="running").order_by("created_at")
    return list(running.values_list("document__size_bytes", flat=True))


def take() -> User | str | None:
    """Whose job a free worker takes; "nobody's" where none may be taken."""
    for user_id in turns():
        if claim := turn_claim(user_id=user_id):
            return IngestJob.objects.get(pk=claim.job_id).user
    return "nobody's"


def finish(user: User, *, after_s: float) -> None:
    now = timezone.now()
    IngestJob.objects.filter(user=user, state="running").update(
        state="done", started_at=now - timedelta(seconds=after_s), finished_at=now
    )


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


def test_more_workers_still_leave_one_free(users: list[User], rag_settings: Callable[..., None]) -> None:
    rag_settings(ingest={"workers": 4})
    jobs_of(users[0], 9)
    assert [take() for _ in range(4)] == [users[0]] * 3 + ["nobody's"]


def test_a_small_file_does_not_wait_behind_a_large_one_of_its_user(users: list[User]) -> None:
    jobs_of(users[0], 2, size_bytes=LARGE)
    jobs_of(users[0], 3, size_bytes=SMALL_BYTES)
    assert [take(), take(), take()] == [users[0], users[0], "nobody's"]
    assert sizes_running(users[0]) == [LARGE, SMALL_BYTES]


def test_a_large_file_waits_behind_a_large_one_of_its_user(users: list[User]) -> None:
    jobs_of(users[0], 2, size_bytes=LARGE)
    assert [take(), take()] == [users[0], "nobody's"]


def test_small_files_alone_leave_a_worker_free(users: list[User]) -> None:
    jobs_of(users[0], 3, size_bytes=SMALL_BYTES)
    jobs_of(users[0], size_bytes=LARGE)
    assert [take(), take()] == [users[0], "nobody's"]


def test_another_users_file_comes_before_the_small_one_beside_a_large_one(users: list[User]) -> None:
    jobs_of(users[0], size_bytes=LARGE)
    jobs_of(users[0], size_bytes=SMALL_BYTES)
    assert take() == users[0]
    jobs_of(users[1], size_bytes=LARGE)
    assert take() == users[1]


def test_the_place_beyond_the_limit_is_one(users: list[User], rag_settings: Callable[..., None]) -> None:
    rag_settings(ingest={"workers": 4})
    jobs_of(users[0], 3, size_bytes=LARGE)
    jobs_of(users[0], 3, size_bytes=SMALL_BYTES)
    assert [take() for _ in range(5)] == [users[0]] * 4 + ["nobody's"]
    assert sizes_running(users[0]) == [LARGE] * 3 + [SMALL_BYTES]


def test_the_place_beyond_the_limit_is_refused_once_it_is_taken(users: list[User]) -> None:
    """Two workers may have seen the same list of turns."""
    jobs_of(users[0], size_bytes=LARGE)
    jobs_of(users[0], 2, size_bytes=SMALL_BYTES)
    claims = [turn_claim(user_id=users[0].pk) for _ in range(3)]
    assert [claim is not None for claim in claims] == [True, True, False]


def test_who_cost_less_time_lately_comes_first(users: list[User]) -> None:
    slow, quick = users
    jobs_of(slow, 2)
    jobs_of(quick, 2)
    assert [take(), take()] == [slow, quick]
    finish(slow, after_s=300)
    finish(quick, after_s=1)
    assert [take(), take()] == [quick, slow]


def test_work_of_yesterday_is_forgotten(users: list[User]) -> None:
    slow, quick = users
    yesterday = timezone.now() - timedelta(days=1)
    jobs_of(slow, state="done", started_at=yesterday - timedelta(hours=1), finished_at=yesterday)
    jobs_of(slow)
    jobs_of(quick)
    assert take() == slow


def test_oldest_job_of_a_user_is_taken_first(users: list[User]) -> None:
    first, _ = jobs_of(users[0], 2)
    claim = turn_claim(user_id=users[0].pk)
    assert claim is not None and claim.job_id == first.pk


def test_sites_own_documents_take_turns_and_may_use_every_worker(users: list[User]) -> None:
    jobs_of(None, 3)
    jobs_of(users[0])
    assert [take(), take(), take()] == [None, users[0], None]


def test_pausing_job_is_not_taken_and_an_orphaned_one_is(users: list[User]) -> None:
    now = timezone.now()
    jobs_of(users[0], not_before=now + timedelta(seconds=60))
    jobs_of(users[1], state="running", lease_expires_at=now - timedelta(seconds=1))
    assert turns() == [users[1].pk]


def test_turn_is_refused_to_a_user_who_has_enough_running(users: list[User]) -> None:
    """Two workers may have seen the same list of turns."""
    jobs_of(users[0], 2)
    assert turn_claim(user_id=users[0].pk) is not None
    assert turn_claim(user_id=users[0].pk) is None


def test_job_that_broke_off_too_often_does_not_keep_the_others(users: list[User]) -> None:
    jobs_of(users[0], attempts=3)
    jobs_of(users[0])
    assert take() == users[0]
    assert IngestJob.objects.filter(state="failed").count() == 1


def test_migration_names_the_users_of_open_jobs(users: list[User]) -> None:
    uploader, owner = users
    uploaded = IngestJobFactory(document=DocumentFactory(uploaded_by=uploader))
    owned = IngestJobFactory(document=DocumentFactory(collection=CollectionFactory(owner=owner)))
    sites = IngestJobFactory()
    import_module("retrieval.migrations.0013_users_of_open_jobs").name_users(apps, None)
    assert [IngestJob.objects.get(pk=job.pk).user for job in (uploaded, owned, sites)] == [uploader, owner, None]
