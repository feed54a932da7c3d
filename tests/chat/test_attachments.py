"""Files that belong to a conversation."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from chat.models import Message, Session
from chat.runs import attachments as waiting
from chat.services.attachments import MAX_FILES
from chat.services.sessions import session_delete
from retrieval.knowledge.scopes import scope_for, scope_for_all
from retrieval.knowledge.services.quotas import usage_of
from retrieval.models import Collection, Document
from tests.chat.conftest import Api, ScriptedWorkflow, eventually
from tests.clients import administrator, api_of
from tests.factories import CollectionFactory, DocumentFactory, UserFactory


@pytest.fixture(autouse=True)
def _no_broker(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEDIA_ROOT = tmp_path / "uploads"
    monkeypatch.setattr("celery.app.base.Celery.send_task", lambda *_, **__: None)


def attach(client: APIClient, *names: str, **fields: Any) -> Any:
    files = [
        SimpleUploadedFile(name, f"The text of {name}.".encode())
        for name in names or ("rules.txt",)
    ]
    return client.post("/api/attachments", {"file": files, **fields}, format="multipart")


def attached(
    user: User, *, status: str = "ready", conversation_id: uuid.UUID | None = None, **fields: Any
) -> Document:
    """A file of a conversation, whatever made it."""
    conversation_id = conversation_id or uuid.uuid4()
    collection = Collection.objects.filter(
        conversation_id=conversation_id
    ).first() or CollectionFactory(
        owner=user,
        visibility="private",
        conversation_id=conversation_id,
        name=f"conversation {conversation_id}",
    )
    return DocumentFactory(collection=collection, status=status, **fields)


# ------------------------------------------------------------------------------------------------ attaching
def test_files_are_attached_before_the_conversation_begins(user: User) -> None:
    client = api_of(user)
    first = attach(client, "one.txt")
    assert first.status_code == 202, first.json()
    session_id = first.json()["session_id"]
    assert attach(client, "two.txt", session_id=session_id).json()["session_id"] == session_id
    listed = client.get(f"/api/attachments?session_id={session_id}").json()
    assert [row["file_name"] for row in listed["documents"]] == ["one.txt", "two.txt"]
    assert not Session.objects.exists()


def test_attached_files_are_in_no_list_and_count_toward_the_quota(user: User) -> None:
    client = api_of(user)
    document = attach(client).json()["documents"][0]
    assert client.get("/api/documents").json()["count"] == 0
    assert client.get("/api/collections").json()["count"] == 0
    assert client.get(f"/api/documents?collection={document['collection_id']}").json()["count"] == 0
    assert client.get(f"/api/collections/{document['collection_id']}").status_code == 404
    assert client.get(f"/api/documents/{document['id']}").status_code == 200
    assert usage_of(user)["documents"]["used"] == 1


@pytest.mark.parametrize(
    "fields", [{}, {"is_staff": True}, {"is_staff": True, "is_superuser": True}]
)
def test_nobody_else_sees_an_attached_file(user: User, fields: Any) -> None:
    other = UserFactory(**fields)
    document, client = attached(user), api_of(other)
    conversation = document.collection.conversation_id
    assert client.get(f"/api/documents/{document.pk}").status_code == 404
    assert client.get(f"/api/documents/{document.pk}/chunks").status_code == 404
    assert client.get(f"/api/attachments?session_id={conversation}").status_code == 404
    assert client.delete(f"/api/documents/{document.pk}").status_code == 404
    assert attach(client, session_id=conversation).status_code == 404
    assert not scope_for(user=other).collections
    assert (
        client.post(
            "/api/search", {"query": "x", "collections": [str(document.collection_id)]}
        ).status_code
        == 404
    )


def test_a_file_is_kept_by_moving_it_to_a_collection(user: User) -> None:
    document, collection, client = (
        attached(user),
        CollectionFactory(owner=user, visibility="private"),
        api_of(user),
    )
    move = {"action": "move", "ids": [str(document.pk)], "collection": collection.name}
    assert (
        client.post("/api/documents/bulk", move, format="json").json()["results"][0]["outcome"]
        == "done"
    )
    assert [row["id"] for row in client.get("/api/documents").json()["results"]] == [
        str(document.pk)
    ]


def test_the_admin_shows_no_attached_file(user: User) -> None:
    document = attached(user, title="My contract of employment")
    admin = administrator()
    for page in ("collection", "document"):
        shown = admin.get(f"/admin/retrieval/{page}/")
        assert shown.status_code == 200
        assert document.title not in shown.content.decode()
        assert str(document.collection.conversation_id) not in shown.content.decode()
    assert admin.get(f"/admin/retrieval/document/{document.pk}/change/").status_code == 302


def test_commands_do_not_search_attached_files(user: User) -> None:
    attached(user)
    assert not scope_for_all().collections


def test_a_conversation_takes_so_many_files(user: User) -> None:
    document = attached(user)
    for n in range(MAX_FILES - 1):
        attached(
            user,
            conversation_id=document.collection.conversation_id,
            content_hash=f"{n}",
            file_name=f"{n}.txt",
        )
    response = attach(api_of(user), session_id=document.collection.conversation_id)
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_many_attachments")


# ------------------------------------------------------------------------------------------------ asking
async def test_the_first_question_makes_the_session_of_its_files(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    public = await sync_to_async(CollectionFactory)()
    document = await sync_to_async(attached)(api.user)
    conversation = document.collection.conversation_id
    answer = (await api.ask(session_id=str(conversation))).json()
    assert answer["session_id"] == str(conversation)
    await api.ask(session_id=str(conversation), collections=[str(public.pk)])
    await api.ask()
    both = {str(public.pk), str(document.collection_id)}
    assert [set(question.scope.ids) for question in workflow.questions] == [
        both,
        both,
        {str(public.pk)},
    ]


async def test_files_of_somebody_else_make_no_session(
    api: Api, stranger: User, workflow: ScriptedWorkflow
) -> None:
    document = await sync_to_async(attached)(stranger)
    assert (await api.ask(session_id=str(document.collection.conversation_id))).status_code == 404
    assert not await Session.objects.aexists()


async def test_a_question_waits_until_its_file_is_read(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    document = await sync_to_async(attached)(api.user, status="embedding", file_name="rules.txt")
    asking = asyncio.create_task(api.ask(session_id=str(document.collection.conversation_id)))
    await eventually(Message.objects.filter(status="streaming").aexists, within_s=20)
    await asyncio.sleep(0.3)
    assert not workflow.questions
    await Collection.objects.filter(pk=document.collection_id).aupdate(
        embedding_model="lexical", embedding_dim=8, version=7
    )
    await Document.objects.filter(pk=document.pk).aupdate(status="ready")
    answer = (await asking).json()
    (ref,) = workflow.questions[0].scope.collections
    assert (ref.version, ref.space is not None) == (7, True)
    first = answer["decision_path"][0]
    assert (first["name"], first["status"], first["summary"]) == (
        "retrieve",
        "ok",
        "waited until “rules.txt” was read",
    )


@pytest.mark.parametrize(
    ("status", "told"), [("embedding", "was not ready"), ("failed", "could not be read")]
)
async def test_what_is_not_read_is_said(
    api: Api, workflow: ScriptedWorkflow, monkeypatch: pytest.MonkeyPatch, status: str, told: str
) -> None:
    monkeypatch.setattr(waiting, "READ_WAIT_S", 2.0 if status == "embedding" else 60.0)
    looked_at = threading.Event()
    documents = waiting._documents

    def look(ids: Sequence[uuid.UUID]) -> list[Document]:
        looked_at.set()
        return documents(ids)

    monkeypatch.setattr(waiting, "_documents", look)
    document = await sync_to_async(attached)(api.user, status="queued", file_name="rules.txt")
    asking = asyncio.create_task(api.ask(session_id=str(document.collection.conversation_id)))
    assert await asyncio.to_thread(looked_at.wait, 20)
    await Document.objects.filter(pk=document.pk).aupdate(status=status)
    answer = (await asking).json()
    assert answer["status"] == "complete"
    assert answer["decision_path"][0]["detail"]["unread"] == ["rules.txt"]
    assert answer["degraded"][0]["reason"] == f"“rules.txt” {told}, and was not searched"


# ------------------------------------------------------------------------------------------------ the end
async def test_files_go_with_their_conversation(api: Api, workflow: ScriptedWorkflow) -> None:
    document = await sync_to_async(attached)(api.user)
    other = await sync_to_async(attached)(api.user)
    conversation = document.collection.conversation_id
    await api.ask(session_id=str(conversation))
    await session_delete(user=api.user, session_id=conversation)
    left = Document.objects.values_list("pk", flat=True)
    assert [key async for key in left] == [other.pk]
    assert not await Message.objects.aexists()
