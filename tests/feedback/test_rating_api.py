"""`/api/messages/{id}/rating` and `/api/messages/{id}/sources/{marker}/rating`."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from chat.models import Message
from feedback.models import Rating
from feedback.rounds.evidence import evidence_gather
from tests.clients import api_of
from tests.factories import DocumentFactory, RatingFactory, SourceFactory, UserFactory


def rating_url(message: Message, marker: int | None = None) -> str:
    return (
        f"/api/messages/{message.pk}/rating"
        if marker is None
        else f"/api/messages/{message.pk}/sources/{marker}/rating"
    )


def test_put_answers_with_the_rating(client: APIClient, answer: Message) -> None:
    body = {"thumb": "down", "tags": ["outdated", "outdated"], "comment": " 规定已经改了 "}
    response = client.put(rating_url(answer), body)
    rating = Rating.objects.get()
    assert response.status_code == 200
    assert response.json() == {
        "score": 1, "thumb": "down", "tags": ["outdated"], "comment": "规定已经改了",
        "updated_at": rating.updated_at.isoformat().replace("+00:00", "Z"),
    }  # fmt: skip


def test_a_source_is_rated_by_its_marker(client: APIClient, answer: Message) -> None:
    source = SourceFactory(message=answer, marker=2)
    assert client.put(rating_url(answer, 2), {"score": 2}).status_code == 200
    assert Rating.objects.get().source == source


def test_an_answer_and_a_source_whose_document_was_deleted_can_be_rated(
    client: APIClient, answer: Message
) -> None:
    document = DocumentFactory()
    SourceFactory(message=answer, marker=1, document_id=document.pk)
    document.delete()
    answers = [
        client.put(rating_url(answer, marker), {"score": 5}).status_code for marker in (None, 1)
    ]
    assert answers == [200, 200]
    assert evidence_gather() == (2, 0)


def test_delete_takes_the_rating_back_and_can_be_repeated(
    client: APIClient, answer: Message
) -> None:
    RatingFactory(message=answer)
    assert [client.delete(rating_url(answer)).status_code for _ in range(2)] == [204, 204]
    assert not Rating.objects.exists()


@pytest.mark.parametrize("method", ["put", "delete"])
@pytest.mark.parametrize("marker", [None, 1])
def test_a_stranger_sees_the_same_as_where_nothing_is(
    answer: Message, method: str, marker: int | None
) -> None:
    SourceFactory(message=answer, marker=1)
    RatingFactory(message=answer)
    stranger = api_of(UserFactory())
    theirs = getattr(stranger, method)(rating_url(answer, marker), {"score": 1})
    nothing = getattr(stranger, method)(rating_url(Message(pk=uuid4()), marker), {"score": 1})
    assert theirs.status_code == nothing.status_code == 404
    assert theirs.json() == nothing.json()
    assert Rating.objects.get().score == 5


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "score"),
        ({"score": 0}, "score"),
        ({"score": 4.5}, "score"),
        ({"score": True}, "score"),
        ({"score": 10**30}, "score"),
        ({"thumb": "maybe"}, "thumb"),
        ({"score": 1, "thumb": "up"}, "thumb"),
        ({"score": 5, "tags": "helpful"}, "tags"),
        ({"score": 5, "tags": ["nonsense"]}, "tags"),
        ({"score": 5, "tags": ["helpful"] * 500}, "tags"),
        ({"score": 5, "comment": "长" * 2001}, "comment"),
        ({"score": 5, "comment": "a\x00b"}, "comment"),
        ([1, 2], "non_field_errors"),
    ],
)
def test_bad_input_is_400_and_names_the_field(
    client: APIClient, answer: Message, body: Any, field: str
) -> None:
    response = client.put(rating_url(answer), json.dumps(body), content_type="application/json")
    assert response.status_code == 400, response.content
    assert response.json()["error"]["code"] == "invalid"
    assert field in response.json()["error"]["fields"]
    assert not Rating.objects.exists()


@pytest.mark.parametrize("marker", [0, 7, 10**30])
def test_a_source_that_is_not_there_is_404(client: APIClient, answer: Message, marker: int) -> None:
    SourceFactory(message=answer, marker=1)
    assert client.put(rating_url(answer, marker), {"score": 5}).status_code == 404


def test_an_answer_being_written_is_409(client: APIClient, answer: Message) -> None:
    Message.objects.filter(pk=answer.pk).update(status="streaming")
    response = client.put(rating_url(answer), {"thumb": "up"})
    assert response.status_code == 409
    assert response.json()["error"]["code"] == "answer_not_finished"
