"""The desk's row of each answer."""

from __future__ import annotations

from typing import Any

import pytest

from chat.models import AnswerReview, Message
from chat.review.records import answers_record
from feedback.models import Rating
from tests.factories import MessageFactory, RatingFactory

pytestmark = pytest.mark.django_db
WEAK = [
    {
        "sentence": "Ten.",
        "start": 0,
        "end": 4,
        "markers": [1],
        "score": 0.1,
        "supported": False,
        "reason": "",
    }
]


def recorded(**fields: Any) -> AnswerReview:
    answer = MessageFactory(**fields)
    answers_record([answer.pk])
    return AnswerReview.objects.get(message=answer)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"decision": "NO_ANSWER"}, "no_answer"),
        ({"grounding": WEAK}, "weak"),
        ({"support": "none"}, "unconfirmed"),
        ({"degraded": [{"step": "rerank", "reason": "late"}]}, "degraded"),
        ({"usage": {"total_ms": 31_000}}, "slow"),
        ({"status": "interrupted"}, "cut"),
        ({"status": "failed"}, "cut"),
    ],
)
def test_an_answer_stands_in_the_queue_of_its_reason(fields: dict[str, Any], reason: str) -> None:
    row = recorded(**fields)
    reasons = {
        "badly_rated",
        "no_answer",
        "unconfirmed",
        "weak",
        "degraded",
        "slow",
        "cut",
        "flagged",
    }
    assert {name for name in reasons if getattr(row, name)} == {reason}
    assert row.severity > 0


@pytest.mark.django_db(transaction=True)
def test_an_answer_that_ends_and_its_rating_make_the_row() -> None:
    answer = MessageFactory(status=Message.Status.STREAMING)
    assert not AnswerReview.objects.filter(message=answer).exists()
    answer.status = Message.Status.COMPLETE
    answer.save()
    rating = RatingFactory(message=answer, score=1, tags=["outdated"])
    row = AnswerReview.objects.get(message=answer)
    assert (row.worst_score, row.badly_rated, row.flagged) == (1, True, True)
    Rating.objects.filter(pk=rating.pk).delete()
    row.refresh_from_db()
    assert (row.worst_score, row.badly_rated, row.flagged) == (None, False, False)
