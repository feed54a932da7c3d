"""What a reset has discarded, or a burst has set aside, stays so when the same rating is sent again."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from feedback.models import Burst, Evidence, Rating, RevisionEvent, SetAsideVote
from feedback.ratings.services import rating_delete, rating_set
from feedback.rounds.bursts import burst_decide
from feedback.rounds.evidence import evidence_gather
from feedback.rounds.passages import content_hash
from feedback.rounds.resets import reset_document, reset_rater, reset_undo
from feedback.rounds.round import feedback_round
from tests.factories import UserFactory
from tests.feedback.rated import answered, passage, rate, regular

pytestmark = pytest.mark.django_db
QUESTION = "How many books may I borrow?"
UP, DOWN = {"score": 5, "tags": ["accurate"]}, {"score": 1, "tags": ["wrong_source"]}


@pytest.fixture(autouse=True)
def no_questions_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)


@pytest.fixture
def staff() -> User:
    user: User = UserFactory(is_staff=True)
    return user


class Rated:
    """One user's rating of one answer from one passage, drawn and then discarded."""

    def __init__(self, staff: User, *, by: str) -> None:
        self.user, self.chunk = regular(), passage("Ten books.")
        self.message = answered(QUESTION, [self.chunk], user=self.user)
        self.send(**UP)
        feedback_round()
        if by == "document":
            reset_document(document=self.chunk.document, by=staff, why="It was rewritten.")
        else:
            reset_rater(rater=self.user, by=staff, why="Votes at random.")

    def send(self, **values: Any) -> None:
        rating_set(user=self.user, message_id=self.message.pk, **values)

    def take_back(self) -> None:
        rating_delete(user=self.user, message_id=self.message.pk)

    def counts(self) -> bool:
        evidence_gather()
        (row,) = Evidence.objects.filter(rating__message=self.message)
        return row.discarded_by is None


@pytest.fixture(params=["document", "rater"])
def discarded(request: pytest.FixtureRequest, staff: User) -> Rated:
    return Rated(staff, by=request.param)


def test_the_same_rating_again_stays_discarded(discarded: Rated) -> None:
    discarded.send(**UP)
    assert not discarded.counts()


def test_the_same_verdict_in_other_degrees_stays_discarded(discarded: Rated) -> None:
    discarded.send(score=4, tags=["helpful"])
    assert not discarded.counts()


def test_a_rating_that_is_taken_back_and_sent_again_stays_discarded(discarded: Rated) -> None:
    discarded.take_back()
    discarded.send(**UP)
    assert not discarded.counts()


def test_taken_back_with_a_round_in_between_it_stays_discarded(discarded: Rated) -> None:
    discarded.take_back()
    feedback_round()
    discarded.send(**UP)
    assert not discarded.counts()


def test_a_changed_opinion_counts_as_new(discarded: Rated) -> None:
    discarded.send(**DOWN)
    assert discarded.counts()


def test_turned_round_and_back_it_is_discarded_again(discarded: Rated) -> None:
    discarded.send(**DOWN)
    assert discarded.counts()
    discarded.send(**UP)
    assert not discarded.counts()


def test_a_verdict_that_says_nothing_in_between_does_not_bring_it_back(discarded: Rated) -> None:
    discarded.send(score=3)
    evidence_gather()
    discarded.send(**UP)
    assert not discarded.counts()


def test_rating_a_source_and_taking_that_back_does_not_bring_it_back(discarded: Rated) -> None:
    rating_set(user=discarded.user, message_id=discarded.message.pk, marker=1, **UP)
    evidence_gather()
    rating_delete(user=discarded.user, message_id=discarded.message.pk, marker=1)
    assert not discarded.counts()


def test_a_document_read_anew_does_not_bring_it_back(discarded: Rated) -> None:
    discarded.chunk.text = "Ten books. And magazines."
    discarded.chunk.save()
    discarded.message.sources.update(text=discarded.chunk.text)
    discarded.send(**UP)
    assert not discarded.counts()
    written = Evidence.objects.get(rating__message=discarded.message).passage
    assert written.content_hash == content_hash(discarded.chunk.text)


def test_another_answer_rated_after_the_reset_counts(discarded: Rated) -> None:
    rate(answered(QUESTION, [discarded.chunk], user=discarded.user), 5)
    evidence_gather()
    assert Evidence.objects.filter(discarded_by=None).count() == 1


def test_taking_the_reset_back_lets_it_count_again_also_where_it_was_turned_round(
    discarded: Rated, staff: User
) -> None:
    discarded.send(**DOWN)
    evidence_gather()
    reset = RevisionEvent.objects.get(action__startswith="reset")
    reset_undo(reset=reset, by=staff, why="A mistake.")
    assert not SetAsideVote.objects.exists()
    discarded.send(**UP)
    assert discarded.counts()


def test_a_deleted_account_leaves_nothing_set_aside(discarded: Rated) -> None:
    discarded.take_back()
    assert SetAsideVote.objects.count() == 1
    discarded.user.delete()
    assert not SetAsideVote.objects.exists()


def test_votes_of_a_rejected_burst_that_are_sent_again_stay_out(staff: User) -> None:
    chunk, attacker = passage("Ten books."), regular()
    for number in range(15):
        rate(answered(f"Question {number} on fees {number}?", [chunk], user=attacker), 1, "outdated")
    feedback_round()
    burst_decide(burst=Burst.objects.get(), accept=False, by=staff, why="An attack.")
    for rating in Rating.objects.all()[:10]:
        rating_delete(user=attacker, message_id=rating.message_id)
        rating_set(user=attacker, message_id=rating.message_id, score=1, tags=["outdated"])
    assert feedback_round().status == "unchanged"
    assert Evidence.objects.filter(burst__status="rejected").count() == 15
