"""A round that a person wants is left to a worker."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from feedback.rounds import round as rounds
from feedback.rounds.live import feedback_state
from feedback.rounds.queueing import QueueAwayError, round_queue
from feedback.rounds.round import feedback_round
from feedback.tasks import reindex_feedback_resume
from retrieval.services.write_lease import lease_take, space_lease
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


def test_a_worker_that_is_quick_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    person = UserFactory()

    def done_at_once(*_: Any, **__: Any) -> None:
        feedback_round(by=person)

    monkeypatch.setattr("celery.app.base.Celery.send_task", done_at_once)
    assert round_queue(by=person).status == "queued"
    assert feedback_state().last_round["status"] == "unchanged"


def test_a_queue_that_is_away_leaves_what_was_told_of_the_last_round() -> None:
    feedback_round()
    before = feedback_state().last_round
    with pytest.raises(QueueAwayError):
        round_queue(by=UserFactory())
    assert feedback_state().last_round == before


class KilledError(BaseException):
    pass


def killed(*_: Any, **__: Any) -> None:
    raise KilledError


def cut_off(monkeypatch: pytest.MonkeyPatch, by: User | None) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(rounds, "evidence_gather", killed)
        with pytest.raises(KilledError):
            feedback_round(by=by)


def test_a_round_that_was_cut_off_is_run_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    person = UserFactory()
    cut_off(monkeypatch, person)
    assert feedback_state().last_round["status"] == "running"
    assert reindex_feedback_resume() == "unchanged"
    assert feedback_state().last_round["by"] == person.username
    assert reindex_feedback_resume() == "idle"


def test_a_round_whose_message_was_lost_is_run_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("celery.app.base.Celery.send_task", lambda *_, **__: None)
    round_queue(by=UserFactory())
    assert reindex_feedback_resume() == "unchanged"


def test_a_round_that_somebody_works_on_is_left_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off(monkeypatch, None)
    lease_take(space_lease(rounds.LEASE, seconds=60))
    assert reindex_feedback_resume() == "idle"


def test_a_round_that_is_cut_off_each_time_is_given_up_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(rounds.MOST_BEGUN):
        cut_off(monkeypatch, None)
    assert reindex_feedback_resume() == "failed"
    assert "cut off 3 times" in feedback_state().last_reason
    assert reindex_feedback_resume() == "idle"


def test_a_round_that_a_person_interrupts_at_the_terminal_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(rounds, "evidence_gather", lambda **_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            feedback_round()
    assert reindex_feedback_resume() == "idle"


def test_staff_see_that_a_round_runs(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off(monkeypatch, None)
    client.force_login(UserFactory(is_staff=True, is_superuser=True))
    page = client.get("/review/ratings/").content.decode()
    assert "A round runs since" in page
