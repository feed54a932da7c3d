"""The questions that a new conversation offers: each has an answer that the reader may read."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from feedback.models import GoldenQuestion
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
        question = GoldenQuestion.objects.create(text=text, collection=collection, message=message)
        question.documents.add(document)
    GoldenQuestion.objects.create(text="Where is the moon?", collection=collection)
    page = offered(owner)
    assert "How many books may a guest borrow?" in page
    assert "Whose?" not in page and "moon" not in page
    assert "How many books" not in offered(other)
