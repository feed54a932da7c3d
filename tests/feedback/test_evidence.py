"""Ratings in the database → evidence in the database."""

from __future__ import annotations

import pytest

from chat.models import Message
from feedback.models import Evidence, RatedQuestion
from feedback.rounds.evidence import evidence_gather
from tests.feedback.rated import make_answer, passage, rate

pytestmark = pytest.mark.django_db
QUESTION = "How many books may I borrow?"


def weights() -> list[float]:
    evidence_gather()
    return [round(row.weight, 3) for row in Evidence.objects.order_by("pk")]


def test_a_rating_becomes_evidence_on_the_passage_it_cites() -> None:
    chunk = passage("Undergraduates may borrow ten books.")
    message = make_answer(QUESTION, [chunk])
    rate(message, 5, "accurate")
    evidence_gather()
    row = Evidence.objects.select_related("passage", "question").get()
    assert (row.weight, row.document_weight, row.voter) == (1.0, 1.0, message.session.user)
    assert (row.passage.document_id, row.passage.chunk_id) == (chunk.document_id, chunk.pk)
    assert row.question.text == QUESTION


def test_a_source_that_the_answer_did_not_cite_is_rated_by_itself() -> None:
    chunks = [passage("Ten books."), passage("Late books cost a fee.")]
    rate(make_answer(QUESTION, chunks, text="Ten books [1]."), 1, "wrong_source", marker=2)
    evidence_gather()
    row = Evidence.objects.select_related("passage").get()
    assert (row.passage.chunk_id, row.weight < 0) == (chunks[1].pk, True)


def test_a_changed_rating_takes_its_old_evidence_back() -> None:
    message = make_answer(QUESTION, [passage("Ten books.")])
    rate(message, 5)
    assert weights() == [1.0]
    rate(message, 1, "wrong_source")
    assert weights() == [-1.0]


def test_a_follow_up_is_kept_as_it_was_searched_for() -> None:
    message = make_answer("And for Masters?", [passage("Masters may borrow twenty books.")])
    Message.objects.filter(pk=message.pk).update(searched_for="How many books may Masters borrow?")
    rate(message, 5)
    evidence_gather()
    assert RatedQuestion.objects.get().text == "How many books may Masters borrow?"


def test_a_round_that_breaks_off_loses_and_doubles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.evidence.BATCH", 2)
    chunk = passage("Ten books.")
    for _ in range(5):
        rate(make_answer(QUESTION, [chunk]), 5)

    class KilledError(BaseException):
        pass

    def killed() -> None:
        raise KilledError

    with pytest.raises(KilledError):
        evidence_gather(report=killed)
    assert Evidence.objects.count() == 2
    assert evidence_gather()[0] == 3
    assert Evidence.objects.count() == 5
