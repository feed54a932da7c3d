"""How old the documents are that an answer cites: in each source, and below the answer where a review is overdue."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from chat.models import Message
from retrieval.knowledge.services.documents import document_supersede
from retrieval.models import Document
from tests.chat.conftest import Api, Handbook, events_of
from tests.clients import api_of, client_of, person
from tests.factories import (
    CollectionFactory,
    DocumentFactory,
    SessionFactory,
    SourceFactory,
    UserFactory,
    answered,
)

AGE = ("added_at", "version", "replaced", "policy_year", "review_due", "overdue")
UNKNOWN = {"added_at": None, "version": None, "replaced": False, "policy_year": None} | {
    "review_due": None,
    "overdue": False,
}


def cites(user: User, *documents: Document | None) -> Message:
    """An answer of the user's that cites them; None: one that is gone."""
    answer = answered(session=SessionFactory(user=user))
    for marker, document in enumerate(documents, 1):
        document_id = document.pk if document else uuid.uuid4()
        SourceFactory(message=answer, marker=marker, document_id=document_id)
    return answer


def read(user: User, answer: Message) -> dict[str, Any]:
    data: dict[str, Any] = api_of(user).get(f"/api/messages/{answer.pk}").json()
    return data


def ages(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: source[name] for name in AGE} for source in data["sources"]]


def test_a_source_says_date_version_and_that_its_review_was_due(user: User) -> None:
    yesterday = timezone.localdate() - timedelta(days=1)
    document = DocumentFactory(version=3, policy_year=2024, review_due=yesterday)
    data = read(user, cites(user, document))
    (age,) = ages(data)
    assert age == {
        "added_at": document.created_at.isoformat(),
        "version": 3,
        "replaced": False,
        "policy_year": 2024,
        "review_due": str(yesterday),
        "overdue": True,
    }
    assert data["overdue_sources"] == [1]


def test_what_was_replaced_since_is_not_overdue_but_replaced(user: User) -> None:
    document = DocumentFactory(review_due=timezone.localdate() - timedelta(days=1))
    document_supersede(document_id=document.pk)
    data = read(user, cites(user, document))
    assert (ages(data)[0]["replaced"], data["overdue_sources"]) == (True, [])


def test_of_what_is_gone_or_not_to_be_seen_any_more_nothing_is_said(user: User) -> None:
    private = DocumentFactory(
        collection=CollectionFactory(owner=UserFactory(), visibility="private"),
        review_due=timezone.localdate() - timedelta(days=1),
    )
    data = read(user, cites(user, private, None))
    assert (ages(data), data["overdue_sources"]) == ([UNKNOWN, UNKNOWN], [])


def test_what_is_only_looked_at_is_not_told_below_the_answer(user: User) -> None:
    answer = cites(user, DocumentFactory(review_due=timezone.localdate() - timedelta(days=1)))
    answer.sources.update(cited=False)
    data = read(user, answer)
    assert (ages(data)[0]["overdue"], data["overdue_sources"]) == (True, [])


async def test_an_answer_that_is_being_written_says_it_of_its_sources(
    api: Api, handbook: Handbook
) -> None:
    yesterday = timezone.localdate() - timedelta(days=1)
    await handbook()
    await Document.objects.all().aupdate(review_due=yesterday)
    events = [
        event
        async for event in events_of(
            await api.ask("How large is the deposit for a room in Lakeside hall?", stream=True)
        )
    ]
    shown = [event["sources"] for event in events if event["type"] == "sources"][-1]
    assert {(one["version"], one["review_due"], one["overdue"]) for one in shown} == {
        (1, str(yesterday), True)
    }


async def test_the_desk_sees_it_too(user: User) -> None:
    def desk() -> str:
        document = DocumentFactory(review_due=timezone.localdate() - timedelta(days=1))
        answer = cites(user, document)
        answer.save()
        client: Client = client_of(person("Reviewers"))
        return client.get(f"/api/review/answers/{answer.pk}").content.decode()

    assert '"overdue":true' in (await sync_to_async(desk)())
