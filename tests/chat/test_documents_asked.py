"""Whole documents, asked for by their ids: what is read, and what is refused."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chat.models import Message
from retrieval.models import Document
from tests.chat.conftest import Api, ScriptedWorkflow
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory


async def make_document(*texts: str, **fields: Any) -> Document:
    """A document with a chunk for each text."""

    def create() -> Document:
        document = DocumentFactory(chunk_count=len(texts), **fields)
        for seq, text in enumerate(texts):
            ChunkFactory(document=document, seq=seq, text=text)
        return document

    return await sync_to_async(create)()


async def private_of(api: Api) -> Any:
    return await sync_to_async(CollectionFactory)(owner=api.user, visibility="private")


async def test_a_document_is_summarised_by_its_id(api: Api, offline: None) -> None:
    guide = await make_document(
        "# Language\n\nTheses are in English.",
        "# Fees\n\nA resit costs EUR 55.",
        title="Thesis Guide",
    )
    answered = (await api.ask("Summarise it", task="summarise", documents=[str(guide.pk)])).json()
    assert answered["decision"] == "ANSWER"
    assert (
        "Theses are in English. [1]" in answered["answer"] and "EUR 55. [2]" in answered["answer"]
    )
    assert {source["document_id"] for source in answered["sources"]} == {str(guide.pk)}
    again = (
        await api.call("post", f"/api/messages/{answered['message_id']}/regenerate", {})
    ).json()
    assert again["answer"] == answered["answer"]


async def test_a_question_about_named_documents_searches_these_alone(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    own = await private_of(api)
    first, _ = await make_document("a", collection=own), await make_document("b", collection=own)
    await api.ask(documents=[str(first.pk)], collections=["elsewhere"])
    question = workflow.questions[0]
    assert question.task is None and question.filters.documents == (str(first.pk),)
    assert question.scope.ids == (str(own.pk),)


async def test_a_document_that_is_not_there_and_one_of_somebody_else_are_refused_alike(
    api: Api, other_api: Api
) -> None:
    secret = await make_document("a", collection=await private_of(other_api))
    told = []
    for key in (str(secret.pk), str(uuid.uuid4())):
        for task in ("summarise", None):
            refused = await api.ask(task=task, documents=[key])
            assert refused.status_code == 404
            told.append((refused.json()["error"]["code"], refused.json()["error"]["message"]))
    assert len(set(told)) == 1
    assert not await Message.objects.aexists()


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"task": "summarise"}, "documents"), ({"task": "compare", "documents": []}, "documents"),
        ({"task": "translate"}, "task"), ({"task": "summarise", "documents": ["no id"]}, "documents"),
        ({"documents": [str(uuid.uuid4())] * 11}, "documents"),
    ],
)  # fmt: skip
async def test_what_names_no_document_is_refused(
    api: Api, fields: dict[str, Any], named: str
) -> None:
    refused = await api.ask(**fields)
    assert (refused.status_code, list(refused.json()["error"]["fields"])) == (400, [named])
