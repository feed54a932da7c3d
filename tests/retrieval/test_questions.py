"""The questions that a document is offered with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.core.files.base import ContentFile

from ragsite.core.rag_settings import MilvusSettings
from retrieval.engine import close_engine, get_engine
from retrieval.models import Collection, Document
from retrieval.selectors import scope_for
from retrieval.services import queueing
from retrieval.services.documents import document_create
from retrieval.services.ingest import document_ingest
from retrieval.services.questions import document_questions_make, suggested_questions
from retrieval.text.topics import topics
from retrieval.trace import Trace
from retrieval.values import Question
from retrieval.workflows import get_workflow
from tests.factories import CollectionFactory, DocumentFactory, UserFactory

HANDBOOK = """# Handbook of the Allotment Club

## 1 Introduction

Welcome to the club.

## 2 Watering in summer

Plots are watered before 9 am or after 7 pm from May to September. Hoses are allowed on Tuesdays and Fridays only.
Whoever waters at noon is warned once by the warden.

## 3 Keeping chickens

Up to four hens may be kept on a plot of 200 square metres or more. Cocks are not allowed. The hen house stands at
least 3 metres from the fence.
"""
SEATS = """图书馆座位管理办法

一、座位预约

读者通过应用程序预约座位，每天最多预约两次，每次最长4小时。预约以后应当在开始时间前后15分钟内扫码签到。

二、附则

本办法自公布之日起施行。
"""


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    messages: list[Any] = []
    monkeypatch.setattr(queueing, "_send", lambda *message: messages.append(message))
    return messages


@pytest_asyncio.fixture
async def site(
    rag_settings: Callable[..., None], milvus_settings: MilvusSettings, settings: Any, tmp_path: Path
) -> AsyncIterator[None]:
    settings.MEDIA_ROOT = tmp_path / "uploads"
    rag_settings(milvus=milvus_settings, ollama={"offline": "1", "embed_model": ""})
    yield
    await close_engine()


async def ingested(text: str, name: str, collection: Collection) -> Document:
    document = (
        await sync_to_async(document_create)(
            collection=collection, upload=ContentFile(text.encode(), name=name), file_name=name, queue=False
        )
    ).document
    assert await document_ingest(document.pk) == "ready"
    return document


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("text", "name", "questions"),
    [
        (
            HANDBOOK,
            "Allotment handbook.md",
            [
                "What does “Handbook of the Allotment Club” say about “Watering in summer”?",
                "What does “Handbook of the Allotment Club” say about “Keeping chickens”?",
            ],
        ),
        (SEATS, "座位办法.txt", ["《座位办法》对“座位预约”是怎么规定的？"]),
        ("no headings here, nothing to ask", "notes.txt", []),
    ],
)
async def test_its_questions_lead_to_answers(
    site: None, queued: list[Any], text: str, name: str, questions: list[str]
) -> None:
    user = await sync_to_async(UserFactory)()
    collection = await sync_to_async(CollectionFactory)(owner=user, visibility="private")
    document = await ingested(text, name, collection)
    assert ("retrieval.tasks.document_questions", str(document.pk)) in queued
    assert await document_questions_make(document.pk) == len(questions)
    offered = await sync_to_async(suggested_questions)(user)
    assert [question.question for question in offered] == questions
    scope = await sync_to_async(scope_for)(user=user)
    for question in questions:
        asked = Question(text=question, scope=scope)
        answer = await get_workflow("corrective").answer(asked, engine=get_engine(), trace=Trace())
        assert answer.decision == "ANSWER"


@pytest.mark.django_db(transaction=True)
async def test_a_document_that_has_gone_has_none(site: None) -> None:
    document = await sync_to_async(DocumentFactory)(status="parsing")
    assert await document_questions_make(document.pk) == 0


def of(owner: Any, *questions: str, **fields: Any) -> Document:
    collection = CollectionFactory(owner=owner, visibility="private", **fields)
    return DocumentFactory(collection=collection, questions=list(questions))


def test_own_documents_come_before_the_sites_and_strangers_see_none(db: None, queued: list[Any]) -> None:
    user = UserFactory()
    DocumentFactory(questions=["The site's?"])
    of(user, "Mine?", "Mine, too?")
    of(UserFactory(), "Theirs?")
    shown = [question.question for question in suggested_questions(user)]
    assert shown == ["Mine?", "Mine, too?", "The site's?"]
    assert [question.question for question in suggested_questions(None)] == ["The site's?"]
    assert len(suggested_questions(user, limit=2)) == 2


def test_files_of_a_conversation_are_not_suggested(db: None, queued: list[Any]) -> None:
    user = UserFactory()
    document = of(user, "Mine?")
    Collection.objects.filter(pk=document.collection_id).update(conversation_id=document.pk)
    assert suggested_questions(user) == []


def test_questions_that_are_not_made_yet_are_asked_for(db: None, queued: list[Any]) -> None:
    user = UserFactory()
    document = DocumentFactory(collection=CollectionFactory(owner=user, visibility="private"))
    assert suggested_questions(user) == []
    assert queued == [("retrieval.tasks.document_questions", str(document.pk))]


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("Rules › §3 Late return", "It costs 30 cents.", ["Late return"]),
        ("", "学籍\n\n第三章 休学与复学\n\n学生可以申请休学。", ["休学与复学"]),
        ("", "Guide\n\n4.2 Oral examination\n\nIt takes an hour.", ["Oral examination"]),
        ("", "| a | b |\n|---|---|\n\n- one\n\n* two\n\nA whole sentence.\n\n12345\n\nContents", []),
        ("", "x" * 100_000, []),
        ("", "", []),
    ],
)
def test_topics_are_headings_without_their_numbers(path: str, text: str, found: list[str]) -> None:
    assert topics("Rules", [(path, text)]) == found
