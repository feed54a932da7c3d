"""The desk's row of each answer."""

from __future__ import annotations

from typing import Any

import pytest

from chat.models import AnswerReview, AnswerTerms, Message
from chat.review.records import answers_catch_up, answers_record, answers_record_all
from chat.review.terms import wanted_terms, with_terms
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
    assert list(answers_record_all()) == [1]
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


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("Undergraduates may borrow ten books.", "borrowing book", True),
        ("Undergraduates may borrow ten books.", "borrow laptops", False),
        ("圖書館的逾期罰款是每天五元。", "逾期罚款", True),
        ("图书馆的逾期罚款是每天五元。", "逾期罰款", True),
        ("图书馆的逾期罚款是每天五元。", "借书证", False),
        ("津蓟高速的收费标准", "津蓟高速", True),
        ("図書館の延滞料金", "延滞料金", True),
        ("도서관 연체료", "연체료", True),
        ("It fails with ImagePullBackOff and ERR_42.", "ImagePullBackOff ERR_42", True),
        ("Die Gebühren der Bibliothek", "Gebühr", True),
    ],
)
def test_words_of_questions_and_answers_are_found(text: str, query: str, found: bool) -> None:
    row = recorded(text=text)
    assert with_terms(AnswerReview.objects.all(), wanted_terms(query)).filter(pk=row.pk).exists() is found


def test_stop_words_alone_want_nothing() -> None:
    assert wanted_terms("the of 的 !?") == []


@pytest.mark.parametrize("query", ['"', "a OR b*", "NEAR(x y)", "col:x", "'); DROP", "{}", "^x + y", "\x00 x"])
def test_a_query_is_no_syntax(query: str) -> None:
    recorded()
    if wanted := wanted_terms(query):
        assert not with_terms(AnswerReview.objects.all(), wanted).exists()


def test_what_is_searched_follows_the_answer() -> None:
    row = recorded(text="Alpha regulation.")
    Message.objects.filter(pk=row.message_id).update(text="Beta regulation.")
    answers_record([row.message_id])
    assert not with_terms(AnswerReview.objects.all(), [("alpha",)]).exists()
    assert with_terms(AnswerReview.objects.all(), [("beta",)]).exists()
    AnswerTerms.objects.all().delete()
    assert not with_terms(AnswerReview.objects.all(), [("beta",)]).exists()
