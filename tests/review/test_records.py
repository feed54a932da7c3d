"""The desk's row of each answer."""

from __future__ import annotations

from typing import Any

import pytest

from chat.models import AnswerReview, Message
from chat.review.records import answers_catch_up, answers_record
from feedback.models import Rating
from tests.factories import DocumentFactory, MessageFactory, RatingFactory, SourceFactory

pytestmark = pytest.mark.django_db
WEAK = [{"sentence": "Ten.", "start": 0, "end": 4, "markers": [1], "score": 0.1, "supported": False, "reason": ""}]


def recorded(**fields: Any) -> AnswerReview:
    answer = MessageFactory(**fields)
    answers_record([answer.pk])
    return AnswerReview.objects.get(message=answer)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"decision": "NO_ANSWER"}, "no_answer"),
        ({"grounding": WEAK}, "weak"),
        ({"degraded": [{"step": "rerank", "reason": "late"}]}, "degraded"),
        ({"usage": {"total_ms": 31_000}}, "slow"),
        ({"status": "interrupted"}, "cut"),
        ({"status": "failed"}, "cut"),
    ],
)
def test_an_answer_stands_in_the_queue_of_its_reason(fields: dict[str, Any], reason: str) -> None:
    row = recorded(**fields)
    reasons = {"badly_rated", "no_answer", "weak", "degraded", "slow", "cut", "flagged"}
    assert {name for name in reasons if getattr(row, name)} == {reason}
    assert row.severity > 0


def test_a_good_answer_has_no_reason() -> None:
    assert recorded().severity == 0


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


def test_made_again_a_row_keeps_what_people_added() -> None:
    row = recorded()
    AnswerReview.objects.filter(pk=row.pk).update(state="resolved", note="Fine.")
    assert answers_record([row.message_id]) == 1
    row.refresh_from_db()
    assert (row.state, row.note) == ("resolved", "Fine.")


def test_answers_from_before_the_desk_are_taken_in_oldest_first() -> None:
    answers = [MessageFactory() for _ in range(3)]
    MessageFactory(question=True)
    MessageFactory(status=Message.Status.STREAMING)
    assert answers_catch_up(most=2, within_s=9) == 2
    assert list(AnswerReview.objects.order_by("pk").values_list("message", flat=True)) == [a.pk for a in answers[:2]]
    assert answers_catch_up(most=9, within_s=9) == 1
    assert answers_catch_up(most=9, within_s=9) == 0


def test_a_row_knows_the_collections_asked_and_found() -> None:
    asked, found = DocumentFactory(), DocumentFactory()
    answer = MessageFactory(request={"collection_ids": [str(asked.collection_id), "not an id"]})
    SourceFactory(message=answer, document_id=found.pk)
    SourceFactory(message=answer)  # of a document that is gone
    SourceFactory(message=answer, web=True)
    answers_record([answer.pk])
    collections = AnswerReview.objects.get(message=answer).collections.values_list("collection", flat=True)
    assert set(collections) == {asked.collection_id, found.collection_id}
