"""The rules of a rating, wherever it comes from."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from chat.models import Message
from feedback.models import Rating
from feedback.ratings.services import rating_set
from retrieval.models import Memory
from tests.factories import MemoryFactory, MessageFactory, SourceFactory


@pytest.mark.parametrize(
    ("marker", "score", "left"), [(None, 2, 0), (None, 3, 1), (None, 5, 1), (1, 1, 1)]
)
def test_only_a_bad_rating_of_the_whole_answer_makes_its_memory_forgotten(
    answer: Message, marker: int | None, score: int, left: int
) -> None:
    SourceFactory(message=answer, marker=1)
    memory = MemoryFactory(user=answer.session.user)
    memory.origins.create(conversation_id=answer.session_id, answer_id=answer.pk)
    rating_set(user=answer.session.user, message_id=answer.pk, marker=marker, score=score)
    assert Memory.objects.count() == left


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("marker", [None, 1])
@pytest.mark.parametrize("scores", [(1, 2, 4, 5), (5, 5, 5, 5)])
def test_many_ratings_at_the_same_moment_leave_one_row(
    scores: tuple[int, ...], marker: int | None
) -> None:
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
