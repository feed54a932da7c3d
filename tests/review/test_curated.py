"""Checked answers at the desk: who may make them, and what the pages do."""

from __future__ import annotations

import pytest
from django.urls import reverse

from chat.models import Message
from chat.review.records import answers_record
from feedback.curation.curated import CuratedPassage, curated_save
from feedback.models import CuratedAnswer
from retrieval.models import Chunk
from tests.clients import client_of, person
from tests.feedback.rated import make_answer, passage

pytestmark = pytest.mark.django_db
QUESTION = "How many books may I borrow?"


@pytest.fixture
def chunks() -> list[Chunk]:
    return [passage("Opening hours."), passage("Students may borrow ten books.")]


@pytest.fixture
def answer(chunks: list[Chunk]) -> Message:
    return make_answer(QUESTION, chunks, text="Ten books [2].")


def test_an_answer_leads_to_the_form_which_cites_only_what_its_text_cites(
    answer: Message, chunks: list[Chunk]
) -> None:
    answers_record([answer.pk])
    client = client_of(person("Curators", username="mei"))
    address = f"{reverse('review_curated_new')}?answer={answer.pk}"
    assert address in client.get(reverse("review_answer", args=[answer.pk])).content.decode()
    page = client.get(address).content.decode()
    assert QUESTION in page and "Ten books [2]." in page
    response = client.post(
        address,
        {"question": QUESTION, "wordings": "book limit\n\nbook limit", "text": "Ten books [2]."},
    )
    assert response.status_code == 302
    made = CuratedAnswer.objects.get()
    assert (made.text, made.wordings, made.message_id) == (
        "Ten books [1].",
        ["book limit"],
        answer.pk,
    )
    assert [(one.marker, one.text) for one in made.sources.all()] == [(1, chunks[1].text)]
    assert "Checked answers" in client.get(reverse("review_curated")).content.decode()


def test_the_form_says_what_is_wrong_and_keeps_what_was_written(answer: Message) -> None:
    client = client_of(person("Curators"))
    address = f"{reverse('review_curated_new')}?answer={answer.pk}"
    response = client.post(address, {"question": QUESTION, "text": "Nine [9]."})
    assert (
        response.status_code == 400
        and "Use only numbers from the list" in response.content.decode()
    )
    assert "Nine [9]." in response.content.decode()
    past = client.post(
        address, {"question": QUESTION, "text": "Ten [2].", "expires_on": "2001-01-01"}
    )
    assert list(past.context["form"].errors) == ["expires_on"]
    assert list(
        client.post(address, {"question": QUESTION, "text": "Ten."}).context["form"].errors
    ) == ["text"]
    assert client.post(address, {"question": "", "text": ""}).status_code == 400
    assert client.get(f"{reverse('review_curated_new')}?answer=nonsense").status_code == 404
    assert not CuratedAnswer.objects.exists()


def test_one_is_changed_and_withdrawn(answer: Message, chunks: list[Chunk]) -> None:
    client = client_of(person("Curators"))
    shown = CuratedPassage(chunks[1].document_id, "Loans", chunks[1].text)
    first = curated_save(
        by=person("Curators"), question=QUESTION, text="Ten [1].", passages=[shown]
    )
    address = f"{reverse('review_curated_new')}?change={first.pk}"
    assert (
        client.post(address, {"question": QUESTION, "text": "Ten books a term [1]."}).status_code
        == 302
    )
    live = CuratedAnswer.objects.get(ended_at=None)
    assert (live.pk, live.text) == (first.pk, "Ten books a term [1].")
    withdraw = reverse("review_curated_withdraw", args=[live.pk])
    assert client.get(withdraw).status_code == 405
    assert client.post(withdraw).status_code == 302
    live.refresh_from_db()
    assert live.ended_at is not None
    assert QUESTION in client.get(reverse("review_curated") + "?state=ended").content.decode()
