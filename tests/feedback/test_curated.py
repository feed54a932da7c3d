"""Answers that a curator has checked: who gets them, for which questions, and when they go."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.utils import timezone

from feedback.curation.curated import curated_check, curated_end, curated_save
from feedback.curation.curated_live import LiveCuratedAnswers
from feedback.models import CuratedAnswer, RevisionEvent
from ragsite.core.errors import ConflictError, InvalidInputError
from retrieval.models import Chunk
from retrieval.selectors import scope_for
from retrieval.values import CuratedAnswer as Given
from tests.factories import ChunkFactory, CollectionFactory, UserFactory
from tests.feedback.rated import answered, passage

QUESTION = "How many books may I borrow?"
TEXT = "You may borrow ten books [1]."


@pytest.fixture
def chunk(db: None) -> Chunk:
    return passage("Students may borrow ten books.")


@pytest.fixture
def curator(db: None) -> User:
    user: User = UserFactory(username="mei", is_staff=True, first_name="Mei", last_name="Lam")
    return user


def saved(curator: User, *chunks: Chunk, **fields: Any) -> CuratedAnswer:
    given = {"question": QUESTION, "text": TEXT} | fields
    return curated_save(by=curator, chunk_ids=[chunk.pk for chunk in chunks], **given)


def found(question: str, user: User) -> Given | None:
    async def look() -> Given | None:
        return await LiveCuratedAnswers().find(question, await sync_to_async(scope_for)(user=user))

    return async_to_sync(look)()


# ------------------------------------------------------------------------------------------------ who gets it
def test_who_may_not_read_a_cited_passage_never_gets_it(curator: User, chunk: Chunk) -> None:
    owner = UserFactory()
    secret = passage("Ten, and twelve for staff.", collection=CollectionFactory(visibility="private", owner=owner))
    saved(owner, chunk, secret, text="Ten [1], twelve for staff [2].")
    assert found(QUESTION, owner) is not None
    assert found(QUESTION, UserFactory()) is None


def test_a_curator_cites_only_what_he_may_read_or_what_the_reviewed_answer_was_given(curator: User) -> None:
    secret = passage("Twelve.", collection=CollectionFactory(visibility="private", owner=UserFactory()))
    with pytest.raises(InvalidInputError) as raised:
        saved(curator, secret)
    assert "sources" in raised.value.fields
    assert saved(curator, secret, message=answered(QUESTION, [secret])).sources.count() == 1


# ------------------------------------------------------------------------------------------------ when it goes
def test_an_expired_or_withdrawn_one_is_not_given(curator: User, chunk: Chunk) -> None:
    reader = UserFactory()
    answer = saved(curator, chunk, expires_at=timezone.now() + timedelta(hours=1))
    assert found(QUESTION, reader) is not None
    CuratedAnswer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert found(QUESTION, reader) is None
    CuratedAnswer.objects.update(expires_at=None)
    curated_end(answer=answer, by=curator)
    assert found(QUESTION, reader) is None
    with pytest.raises(ConflictError):
        curated_end(answer=answer, by=curator)


def test_a_passage_that_changed_withdraws_it_and_one_that_only_moved_does_not(curator: User, chunk: Chunk) -> None:
    answer, reader = saved(curator, chunk), UserFactory()
    moved = ChunkFactory(document=chunk.document, seq=7, text=chunk.text)
    chunk.delete()
    assert found(QUESTION, reader) is None  # until the ingest has told
    curated_check(moved.document_id)
    given = found(QUESTION, reader)
    assert given is not None and given.passages[0].chunk_id == str(moved.pk)
    Chunk.objects.update(text="Students may borrow twelve books.")
    assert found(QUESTION, reader) is None
    curated_check(moved.document_id)
    answer.refresh_from_db()
    assert (answer.end, answer.ended_by) == ("source_changed", None)
    assert RevisionEvent.objects.filter(action="curated_ended").count() == 1


def test_a_deleted_document_withdraws_it(curator: User, chunk: Chunk) -> None:
    answer = saved(curator, chunk)
    chunk.document.delete()
    answer.refresh_from_db()
    assert answer.end == "source_gone"


def test_a_newer_one_takes_its_place_and_two_for_one_question_are_refused(curator: User, chunk: Chunk) -> None:
    first = saved(curator, chunk)
    with pytest.raises(ConflictError):
        saved(curator, chunk, question="how many books may I borrow")
    with pytest.raises(ConflictError):
        saved(curator, chunk, question="What is the limit?", wordings=["how many books may I borrow"])
    second = saved(curator, chunk, text="Ten books [1], see there.", replaces=first)
    first.refresh_from_db()
    assert (first.end, second.ended_at) == ("replaced", None)


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"question": " "}, "question"), ({"question": "x" * 601}, "question"), ({"text": ""}, "text"),
     ({"text": "Ten books."}, "text"), ({"text": "Ten books [2]."}, "text"),
     ({"wordings": [f"why {n}?" for n in range(21)]}, "wordings"),
     ({"expires_at": timezone.now() - timedelta(days=1)}, "expires_at")],
)  # fmt: skip
def test_what_is_refused_is_named(curator: User, chunk: Chunk, fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        saved(curator, chunk, **fields)
    assert set(raised.value.fields) == {field}
    assert not CuratedAnswer.objects.exists()
