"""Answers that a curator has checked: who gets them, for which questions, and when they go."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.utils import timezone

from feedback.curation.curated import (
    CuratedPassage,
    LiveCuratedAnswers,
    curated_end,
    curated_outdated,
    curated_save,
)
from feedback.models import CuratedAnswer
from ragsite.core.errors import ConflictError
from retrieval.engine.values import CuratedMatch as Given
from retrieval.knowledge.scopes import scope_for
from retrieval.models import Chunk
from tests.factories import ChunkFactory, CollectionFactory, UserFactory
from tests.feedback.rated import passage

QUESTION = "How many books may I borrow?"
TEXT = "You may borrow ten books [1]."


@pytest.fixture
def chunk(db: None) -> Chunk:
    return passage("Students may borrow ten books.")


@pytest.fixture
def curator(db: None) -> User:
    user: User = UserFactory(username="mei", is_staff=True, first_name="Mei", last_name="Lam")
    return user


def save_answer(curator: User, *chunks: Chunk, **fields: Any) -> CuratedAnswer:
    given = {"question": QUESTION, "text": TEXT} | fields
    passages = [
        CuratedPassage(chunk.document_id, chunk.document.title, chunk.text) for chunk in chunks
    ]
    return curated_save(by=curator, passages=passages, **given)


def find_answer(question: str, user: User) -> Given | None:
    async def look() -> Given | None:
        return await LiveCuratedAnswers().find(question, await sync_to_async(scope_for)(user=user))

    return async_to_sync(look)()


# ------------------------------------------------------------------------------------------------ who gets it
def test_who_may_not_read_a_cited_passage_never_gets_it(curator: User, chunk: Chunk) -> None:
    owner = UserFactory()
    secret = passage(
        "Ten, and twelve for staff.",
        collection=CollectionFactory(visibility="private", owner=owner),
    )
    save_answer(owner, chunk, secret, text="Ten [1], twelve for staff [2].")
    assert find_answer(QUESTION, owner) is not None
    assert find_answer(QUESTION, UserFactory()) is None


# ------------------------------------------------------------------------------------------------ when it goes
def test_an_expired_or_withdrawn_one_is_not_given(curator: User, chunk: Chunk) -> None:
    reader = UserFactory()
    answer = save_answer(curator, chunk, expires_at=timezone.now() + timedelta(hours=1))
    assert find_answer(QUESTION, reader) is not None
    CuratedAnswer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert find_answer(QUESTION, reader) is None
    CuratedAnswer.objects.update(expires_at=None)
    curated_end(answer=answer, by=curator)
    assert find_answer(QUESTION, reader) is None
    with pytest.raises(ConflictError):
        curated_end(answer=answer, by=curator)


def test_it_is_given_as_long_as_its_passage_stands_somewhere_in_its_document(
    curator: User, chunk: Chunk
) -> None:
    answer, reader = save_answer(curator, chunk), UserFactory()
    moved = ChunkFactory(document=chunk.document, seq=7, text=chunk.text)
    chunk.delete()
    given = find_answer(QUESTION, reader)
    assert given is not None and given.passages[0].chunk_id == str(moved.pk)
    assert curated_outdated([answer]) == set()
    Chunk.objects.update(text="Students may borrow twelve books.")
    assert find_answer(QUESTION, reader) is None
    assert curated_outdated([answer]) == {answer.pk}
    moved.document.delete()
    assert find_answer(QUESTION, reader) is None


def test_one_is_changed_and_two_for_one_question_are_refused(curator: User, chunk: Chunk) -> None:
    first = save_answer(curator, chunk)
    with pytest.raises(ConflictError):
        save_answer(curator, chunk, question="how many books may I borrow")
    with pytest.raises(ConflictError):
        save_answer(
            curator, chunk, question="What is the limit?", wordings=["how many books may I borrow"]
        )
    save_answer(curator, chunk, text="Ten books [1], see there.", answer=first)
    given = find_answer(QUESTION, UserFactory())
    assert given is not None and given.text == "Ten books [1], see there."
