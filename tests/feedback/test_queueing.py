"""A round that a person wants is left to a worker."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from feedback.rounds.live import feedback_state
from feedback.tasks import reindex_feedback
from tests.clients import client_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff() -> User:
    user: User = UserFactory(is_staff=True, is_superuser=True)
    return user


@pytest.fixture
def desk(staff: User) -> Client:
    return client_of(staff)


def page_after_a_round_is_asked_for(desk: Client) -> str:
    return desk.post("/review/ratings/round/", {"decision": "run"}, follow=True).content.decode()


def test_a_worker_runs_it_as_the_person_who_wants_it(
    desk: Client, staff: User, queue: list[tuple[str, dict[str, Any]]]
) -> None:
    assert "New ratings are being applied" in page_after_a_round_is_asked_for(desk)
    assert queue == [("feedback.tasks.reindex_feedback", {"by": staff.pk})]
    assert reindex_feedback(by=staff.pk) == "unchanged"
    assert feedback_state().last_round["by"] == staff.username


def test_where_the_queue_is_away_the_page_says_so(desk: Client) -> None:
    assert "The task queue is not reachable" in page_after_a_round_is_asked_for(desk)
    assert feedback_state().last_round == {}


def test_the_page_waits_for_the_result_and_then_shows_it(
    desk: Client, staff: User, queue: list[tuple[str, dict[str, Any]]]
) -> None:
    for _ in range(2):  # the second result reads like the first one
        started = desk.post("/review/ratings/round/", {"decision": "run"})
        address = started.headers["Location"]
        assert "data-waiting" in desk.get(address).content.decode()
        reindex_feedback(by=staff.pk)
        html = desk.get(address).content.decode()
        assert "data-waiting" not in html and "Last time: nothing had to change" in html
