"""Ratings in the database → evidence in the database."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from feedback.models import Evidence, RatedQuestion, Rating
from feedback.ratings.services import rating_delete, rating_set
from feedback.rounds.evidence import evidence_gather
from retrieval.models import Chunk
from retrieval.steps.verify import check_by_words, claims_of
from retrieval.values import Answer, GroundedSentence, Scores, SentenceEvidence, Source
from tests.factories import DecisionStepFactory
from tests.feedback.rated import answered, passage, rate
from tests.retrieval.steps.fakes import chunk

pytestmark = pytest.mark.django_db
QUESTION = "How many books may I borrow?"


def weights() -> list[float]:
    evidence_gather()
    return [round(row.weight, 3) for row in Evidence.objects.order_by("pk")]


def test_a_rating_becomes_evidence_on_the_passage_it_cites() -> None:
    chunk = passage("Undergraduates may borrow ten books.")
    message = answered(QUESTION, [chunk])
    rate(message, 5, "accurate")
    evidence_gather()
    row = Evidence.objects.select_related("passage", "question").get()
    assert (row.weight, row.document_weight, row.voter) == (1.0, 1.0, message.session.user)
    assert (row.passage.document_id, row.passage.chunk_id) == (chunk.document_id, chunk.pk)
    assert row.question.text == QUESTION


LENT, KEPT = "Ten books may be borrowed [1].", "They can be kept for good [2]."


def grounded(*supported: bool | None) -> list[dict[str, object]]:
    """Of the sentences LENT and KEPT, as a message keeps it."""
    places = [(0, len(LENT)), (len(LENT) + 1, len(LENT) + 1 + len(KEPT))]
    return [
        GroundedSentence(
            sentence=text,
            start=start,
            end=end,
            markers=(marker,),
            supported=verdict,
            score=None if verdict is None else 0.5,
        ).as_dict()
        for marker, (text, (start, end), verdict) in enumerate(
            zip((LENT, KEPT), places, supported, strict=True), start=1
        )
    ]


@pytest.mark.parametrize(
    ("grounding", "expected"),
    [
        (grounded(True, True), {1: 0.5, 2: 0.5}),
        (grounded(True, False), {1: 1.0}),
        (grounded(False, True), {2: 1.0}),
        (grounded(True, None), {1: 0.5, 2: 0.5}),  # it could not be checked
        (grounded(False, False), {1: 0.5, 2: 0.5}),  # weak, as all are
        (None, {1: 0.5, 2: 0.5}),  # of before sentences were checked
        ([], {1: 0.5, 2: 0.5}),
    ],
)
def test_what_bears_no_sentence_out_is_given_no_credit(
    grounding: list[dict[str, object]] | None, expected: dict[int, float]
) -> None:
    chunks = [passage("Ten books may be borrowed."), passage("They may be kept for four weeks.")]
    rate(answered(QUESTION, chunks, text=f"{LENT} {KEPT}", grounding=grounding), 5, "accurate")
    evidence_gather()
    of_chunk = dict(Evidence.objects.values_list("passage__chunk_id", "weight"))
    assert {marker: of_chunk[chunk.pk] for marker, chunk in enumerate(chunks, 1) if chunk.pk in of_chunk} == expected


def test_the_passage_that_was_found_to_say_a_sentence_is_credited_for_it() -> None:
    chunks = [passage("Ten books may be borrowed."), passage("They may be kept for four weeks.")]
    sentence = GroundedSentence(
        sentence="Ten books may be borrowed [1][2].", start=0, end=33, markers=(1, 2), score=1.0, supported=True,
        evidence=(SentenceEvidence(1, 0, 26),),
    )  # fmt: skip
    rate(answered(QUESTION, chunks, text=sentence.sentence, grounding=[sentence.as_dict()]), 5, "accurate")
    assert weights() == [1.0]
    assert Evidence.objects.get().passage.chunk_id == chunks[0].pk


def test_an_answer_as_it_is_checked_credits_what_bears_its_sentences_out() -> None:
    texts = (
        "Undergraduates may borrow up to ten books at once.", "The library is open from nine to nine.",
        "A reader who returns a book late pays 0.50 euros a day.",
    )  # fmt: skip
    text = "Undergraduates may borrow up to ten books [1][2]. Late books cost 5 euros a day [3]."
    sources = [
        Source(marker=number, chunk=chunk(number, passage_text), scores=Scores(), cited=True)
        for number, passage_text in enumerate(texts, 1)
    ]
    answer = Answer(text=text, decision="ANSWER", sources=tuple(sources))
    checked = check_by_words(answer, claims_of(text), QUESTION, supported_score=0.5)
    chunks = [passage(passage_text) for passage_text in texts]
    message = answered(QUESTION, chunks, text=text, grounding=[sentence.as_dict() for sentence in checked])
    rate(message, 5, "accurate")
    assert weights() == [1.0]  # the opening hours say nothing of it, and the fine is another one
    rate(message, 1, "wrong_source")
    evidence_gather()
    debit = {row.passage.chunk_id: row.weight for row in Evidence.objects.select_related("passage")}
    assert debit[chunks[2].pk] < 2 * debit[chunks[0].pk] < 0
    assert chunks[1].pk not in debit


def test_a_changed_rating_takes_its_old_evidence_back() -> None:
    message = answered(QUESTION, [passage("Ten books.")])
    rate(message, 5)
    assert weights() == [1.0]
    rate(message, 1, "wrong_source")
    assert weights() == [-1.0]


def test_a_withdrawn_rating_takes_its_evidence_with_it() -> None:
    message = answered(QUESTION, [passage("Ten books.")])
    rate(message, 5)
    assert weights() == [1.0]
    rating_delete(user=message.session.user, message_id=message.pk)
    assert not Evidence.objects.exists()


def test_a_withdrawn_rating_of_a_source_gives_the_answers_share_back() -> None:
    message = answered(QUESTION, [passage("Ten books."), passage("Four weeks.")])
    rate(message, 5)
    rating_set(user=message.session.user, message_id=message.pk, marker=2, thumb="down", tags=["wrong_source"])
    assert sorted(weights()) == [-1.0, 0.5]
    rating_delete(user=message.session.user, message_id=message.pk, marker=2)
    assert weights() == [0.5, 0.5]


def test_evidence_goes_with_its_document() -> None:
    chunk = passage("Ten books.")
    rate(answered(QUESTION, [chunk]), 5)
    assert weights() == [1.0]
    chunk.document.delete()
    assert not Evidence.objects.exists()
    assert Rating.objects.exists()


def test_a_text_that_has_changed_since_gives_no_evidence() -> None:
    chunk = passage("Ten books.")
    message = answered(QUESTION, [chunk])
    Chunk.objects.filter(pk=chunk.pk).update(text="Twenty books.")
    rate(message, 5)
    assert weights() == []


def test_a_passage_that_was_joined_with_its_neighbour_counts_for_its_own_chunk() -> None:
    chunk = passage("Ten books.")
    message = answered(QUESTION, [chunk])
    message.sources.update(text="Who may borrow?\nTen  books. For four weeks.")
    rate(message, 5)
    assert weights() == [1.0]


def test_a_deleted_user_takes_evidence_and_questions_along() -> None:
    message = answered(QUESTION, [passage("Ten books.")])
    rate(message, 5)
    evidence_gather()
    message.session.user.delete()
    assert not Evidence.objects.exists()
    assert not RatedQuestion.objects.exists()


def test_a_question_that_others_rated_too_stays_when_one_of_them_goes() -> None:
    chunk = passage("Ten books.")
    first, second = answered(QUESTION, [chunk]), answered(QUESTION, [chunk])
    rate(first, 5)
    rate(second, 5)
    evidence_gather()
    first.session.user.delete()
    assert RatedQuestion.objects.count() == 1
    assert Evidence.objects.count() == 1


def test_a_follow_up_is_kept_as_it_was_searched_for() -> None:
    message = answered("And for Masters?", [passage("Masters may borrow twenty books.")])
    detail = {"queries": [{"kind": "original", "text": "How many books may Masters borrow?"}]}
    DecisionStepFactory(message=message, name="retrieve", detail=detail)
    rate(message, 5)
    evidence_gather()
    assert RatedQuestion.objects.get().text == "How many books may Masters borrow?"


def test_a_round_that_breaks_off_loses_and_doubles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.evidence.BATCH", 2)
    chunk = passage("Ten books.")
    for _ in range(5):
        rate(answered(QUESTION, [chunk]), 5)

    class KilledError(BaseException):
        pass

    def killed() -> None:
        raise KilledError

    with pytest.raises(KilledError):
        evidence_gather(report=killed)
    assert Evidence.objects.count() == 2
    assert evidence_gather().ratings == 3
    assert Evidence.objects.count() == 5


def test_votes_are_written_in_the_order_in_which_they_were_given() -> None:
    """The newest vote counts, and a day's first ones: their keys tell which these are."""
    chunk = passage("Ten books.")
    ratings = [rate(answered(QUESTION, [chunk]), 5) for _ in range(5)]
    for age, rating in enumerate(ratings):
        Rating.objects.filter(pk=rating.pk).update(updated_at=timezone.now() - timedelta(hours=age))
    evidence_gather()
    written = Evidence.objects.order_by("pk").values_list("rating", flat=True)
    assert list(written) == [rating.pk for rating in reversed(ratings)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("goes", ["document", "user"])
def test_what_is_deleted_while_a_round_gathers_does_not_stop_it(goes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The round remembers the passages and questions of earlier batches; between two of them they may go."""
    monkeypatch.setattr("feedback.rounds.evidence.BATCH", 1)
    gone, stays = passage("Ten books."), passage("Four weeks.")
    first = answered(QUESTION, [gone])
    for message in (first, answered(QUESTION, [gone]), answered(QUESTION, [stays])):
        rate(message, 5)
    deleted = []

    def between_batches() -> None:
        if not deleted:
            deleted.append((gone.document if goes == "document" else first.session.user).delete())

    assert evidence_gather(report=between_batches).ratings == 3
    left = {"document": [stays.pk], "user": [gone.pk, stays.pk]}[goes]
    assert sorted(row.passage.chunk_id for row in Evidence.objects.select_related("passage")) == sorted(left)
    assert RatedQuestion.objects.get().text == QUESTION


# ------------------------------------------------------------------------------------------------ documents read anew
