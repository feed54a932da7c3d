"""The rules of a rating, wherever it comes from."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from chat.models import Message
from feedback.models import Rating
from feedback.models.ratings import thumb_of
from feedback.ratings.services import rating_delete, rating_set
from retrieval.models import Memory
from tests.factories import MemoryFactory, MessageFactory, RatingFactory, SourceFactory


@pytest.mark.parametrize(("marker", "score", "left"), [(None, 2, 0), (None, 3, 1), (None, 5, 1), (1, 1, 1)])
def test_only_a_bad_rating_of_the_whole_answer_makes_its_memory_forgotten(
    answer: Message, marker: int | None, score: int, left: int
) -> None:
    SourceFactory(message=answer, marker=1)
    memory = MemoryFactory(user=answer.session.user)
    memory.origins.create(conversation_id=answer.session_id, answer_id=answer.pk)
    rating_set(user=answer.session.user, message_id=answer.pk, marker=marker, score=score)
    assert Memory.objects.count() == left


def test_the_next_rating_replaces_the_whole_earlier_one(answer: Message) -> None:
    rating_set(user=answer.session.user, message_id=answer.pk, score=1, tags=["outdated"], comment="Old rule.")
    rating_set(user=answer.session.user, message_id=answer.pk, score=5)
    rating = Rating.objects.get()
    assert (rating.score, rating.tags, rating.comment) == (5, [], "")


@pytest.mark.parametrize("status", ["stopped", "interrupted", "failed"])
def test_an_answer_that_ended_early_can_be_rated(db: None, status: str) -> None:
    message = MessageFactory(status=status)
    assert rating_set(user=message.session.user, message_id=message.pk, score=1).score == 1


def test_taking_a_source_rating_back_keeps_the_answers_own(answer: Message) -> None:
    source = SourceFactory(message=answer, marker=1)
    RatingFactory(message=answer)
    RatingFactory(message=answer, source=source)
    assert rating_delete(user=answer.session.user, message_id=answer.pk, marker=1) is True
    assert Rating.objects.get().source is None


@pytest.mark.parametrize(("score", "thumb"), [(1, "down"), (2, "down"), (3, None), (4, "up"), (5, "up")])
def test_a_score_points_one_way(score: int, thumb: str | None) -> None:
    assert thumb_of(score) == thumb


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("marker", [None, 1])
@pytest.mark.parametrize("scores", [(1, 2, 4, 5), (5, 5, 5, 5)])
def test_many_ratings_at_the_same_moment_leave_one_row(scores: tuple[int, ...], marker: int | None) -> None:
    message = MessageFactory()
    SourceFactory(message=message, marker=1)
    user, start, errors = message.session.user, threading.Barrier(len(scores)), []

    def rate(score: int) -> None:
        try:
            start.wait(5)
            rating_set(user=user, message_id=message.pk, marker=marker, score=score)
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=rate, args=(score,)) for score in scores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert Rating.objects.get().score in scores
