"""The questions that a new conversation offers: each has an answer that the reader may read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from chat.models import Assistant, Session
from chat.services.retention import conversations_over, sessions_erase
from chat.services.sessions import session_delete
from feedback.curation.golden import golden_save
from feedback.models import GoldenQuestion
from ragsite.accounts.personal_data import deletion_start, deletions_do
from retrieval.models import Document
from tests.factories import CollectionFactory, RatingFactory, UserFactory
from tests.feedback.rated import make_answer, passage
from tests.feedback.test_curated import save_answer

pytestmark = pytest.mark.django_db(transaction=True)


def offered(user: User, language: str = "en") -> str:
    client = Client(headers={"Accept-Language": language})
    client.force_login(user)
    return client.get("/").content.decode()


def test_a_checked_question_is_offered_to_who_may_read_all_that_its_answer_cites() -> None:
    owner = UserFactory(is_staff=True)
    chunk = passage("Ten.", collection=CollectionFactory(visibility="private", owner=owner))
    save_answer(owner, chunk, question="How many books may a guest borrow?", text="Ten [1].")
    assert "How many books may a guest borrow?" in offered(owner)
    stranger = offered(UserFactory())
    assert "How many books" not in stranger and "Upload documents" in stranger
    Document.objects.update(status="failed")
    assert "How many books" not in offered(owner)


@pytest.mark.parametrize(("score", "shown"), [(5, True), (3, False)])
def test_own_questions_are_offered_again_where_the_answer_was_rated_well(
    score: int, shown: bool
) -> None:
    answer = make_answer("When does the library close?", [passage("At ten.")])
    RatingFactory(message=answer, user=answer.session.user, score=score)
    assert ("When does the library close?" in offered(answer.session.user)) is shown
    assert "When does the library close?" not in offered(UserFactory())


def test_those_in_the_readers_language_stand_first() -> None:
    user: Any = UserFactory(is_staff=True)
    for question in ("How many books may a guest borrow?", "访客可以借多少本书？"):
        save_answer(user, passage("Ten."), question=question, text="Ten [1].")
    chinese = offered(user, "zh-hant")
    assert 0 < chinese.index("访客可以借") < chinese.index("How many books")
    english = offered(user)
    assert 0 < english.index("How many books") < english.index("访客可以借")


def test_a_test_question_is_offered_where_its_documents_are_read_and_no_other_person_asked_it() -> (
    None
):
    owner = UserFactory(is_staff=True)
    other = UserFactory()
    collection = CollectionFactory(visibility="private", owner=owner)
    document = passage("Ten.", collection=collection).document
    asked = make_answer("What did somebody else ask?", [passage("At ten.")])
    for text, message in (("How many books may a guest borrow?", None), ("Whose?", asked)):
        question = GoldenQuestion.objects.create(
            text=text, collection=collection, message=message, from_answer=message is not None
        )
        question.documents.add(document)
    GoldenQuestion.objects.create(text="Where is the moon?", collection=collection)
    page = offered(owner)
    assert "How many books may a guest borrow?" in page
    assert "Whose?" not in page and "moon" not in page
    assert "How many books" not in offered(other)


def _deleted_by_its_user(session: Session) -> None:
    async_to_sync(session_delete)(user=session.user, session_id=session.pk)


def _deleted_with_the_account(session: Session) -> None:
    deletion_start(user=session.user)
    deletions_do()


def _deleted_when_it_is_old(session: Session) -> None:
    later = timezone.now() + timedelta(days=1)
    assert sum(sessions_erase(lambda: conversations_over(later))) == 1


@pytest.mark.parametrize(
    "go", [_deleted_by_its_user, _deleted_with_the_account, _deleted_when_it_is_old]
)
def test_a_test_question_of_an_answer_that_has_gone_is_offered_to_nobody(
    go: Callable[[Session], None],
) -> None:
    curator = UserFactory(is_staff=True, is_superuser=True)
    chunk = passage("Ten.", collection=CollectionFactory(owner=None))
    asked = make_answer("May I borrow books while I am dismissed?", [chunk])
    golden_save(
        by=curator,
        text="May I borrow books while I am dismissed?",
        collection=chunk.document.collection,
        documents=[chunk.document],
        message=asked,
    )
    assert "while I am dismissed" in offered(asked.session.user)
    go(asked.session)
    assert GoldenQuestion.objects.get().message is None  # it is measured still
    assert "while I am dismissed" not in offered(UserFactory())
    assert "while I am dismissed" not in offered(curator)


def test_the_same_question_is_offered_once() -> None:
    user: Any = UserFactory(is_staff=True)
    chunk = passage("Ten.", collection=CollectionFactory(owner=user))
    save_answer(user, chunk, question="How many books may a guest borrow?", text="Ten [1].")
    answer = make_answer("how many books  may a guest borrow?", [chunk], user=user)
    RatingFactory(message=answer, user=user, score=5)
    golden_save(
        by=user,
        text="How many books may a guest borrow ?",
        collection=chunk.document.collection,
        documents=[chunk.document],
    )
    page = offered(user)
    assert page.lower().count("a guest borrow") == 1


def test_what_the_sites_default_assistant_does_not_look_into_is_not_offered() -> None:
    user: Any = UserFactory(is_staff=True)
    law, library = (passage("Ten.", collection=CollectionFactory(owner=None)) for _ in range(2))
    save_answer(user, library, question="How many books may a guest borrow?", text="Ten [1].")
    save_answer(user, law, question="How many days are there?", text="Ten [1].")
    Assistant.objects.create(
        name="House",
        visibility="public",
        is_default=True,
        collections=[str(law.document.collection_id)],
    )
    page = offered(user)
    assert "How many days" in page and "How many books" not in page


@pytest.mark.parametrize("goes", [False, True])
def test_a_checked_question_in_the_words_of_who_asked_is_offered_to_nobody_else(
    goes: bool,
) -> None:
    curator = UserFactory(is_staff=True)
    chunk = passage("Ten.", collection=CollectionFactory(owner=None))
    asked = make_answer("May I borrow books while I am dismissed?", [chunk])
    asker = asked.session.user
    given = {"text": "Ten [1].", "message": asked}
    answer = save_answer(
        curator, chunk, question="May I borrow books while I am dismissed", **given
    )
    assert "while I am dismissed" in offered(asker)
    if goes:
        asked.session.delete()
        answer.refresh_from_db()
    assert "while I am dismissed" not in offered(curator)
    save_answer(
        curator,
        chunk,
        question="May I borrow  books while I am dismissed?",
        answer=answer,
        text="Ten [1].",
    )
    assert "while I am dismissed" not in offered(curator)
    save_answer(curator, chunk, question="Who may borrow books?", answer=answer, text="Ten [1].")
    assert "Who may borrow books?" in offered(curator)


def test_nor_in_the_words_that_the_site_has_made_of_them() -> None:
    curator = UserFactory(is_staff=True)
    chunk = passage("Ten.", collection=CollectionFactory(owner=None))
    searched_for = "May somebody who is dismissed borrow books?"
    asked = make_answer("And while I am dismissed?", [chunk], searched_for=searched_for)
    saved = save_answer(curator, chunk, question=searched_for, text="Ten [1].", message=asked)
    assert saved.from_answer is True
    assert "who is dismissed" not in offered(curator)
