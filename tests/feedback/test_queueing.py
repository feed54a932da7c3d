"""A round that a person wants is left to a worker."""

from __future__ import annotations

from typing import Any

import pytest

from feedback.rounds.live import feedback_state
from feedback.rounds.queueing import QueueAwayError, round_queue
from feedback.rounds.round import feedback_round
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
