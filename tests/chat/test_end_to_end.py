"""A question through the whole house: real database, real Milvus Lite, and a server that speaks Ollama's protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chat.models import Message
from ragsite.core.server_settings import MilvusSettings
from retrieval.compose import close_engine
from retrieval.engine.providers import registry
from retrieval.knowledge.index_sync.repair import index_repair
from retrieval.models import Chunk, Memory
from tests.chat.conftest import Api, events_of, types
from tests.factories import ChunkFactory, CollectionFactory
from tests.ollama_server import CHAT_MODEL, EMBED_DIM, EMBED_MODEL, OllamaServer

TEXT = "Undergraduates may borrow ten books from the university library for four weeks."


@pytest.fixture
async def library(
    online: OllamaServer,
    rag_settings: Callable[..., None],
    milvus_settings: MilvusSettings,
    transactional_db: None,
) -> AsyncIterator[Chunk]:
    """One public document, embedded by the simulated server and indexed in Milvus Lite."""
    rag_settings(milvus=milvus_settings)
    collection = await sync_to_async(CollectionFactory)(
        embedding_model=EMBED_MODEL, embedding_dim=EMBED_DIM
    )
    document = {"document__title": "Library loans", "document__collection": collection}
    chunk: Chunk = await sync_to_async(ChunkFactory)(text=TEXT, indexed=False, **document)
    await index_repair()
    yield chunk
    await close_engine()


def _answer_with(online: OllamaServer, **reply: Any) -> None:
    online.reply(
        structured=False, text="Undergraduates may borrow ten books for four weeks [1].", **reply
    )


async def test_answer_cites_the_document_and_streams_as_the_model_writes(
    api: Api, online: OllamaServer, library: Chunk
) -> None:
    _answer_with(online)
    response = await api.ask(
        "How many books may undergraduates borrow from the library?", stream=True
    )
    events = [event async for event in events_of(response)]
    message = events[-1]["message"]
    assert (events[-1]["type"], message["decision"], message["status"]) == (
        "done",
        "ANSWER",
        "complete",
    )
    assert types(events).count("chunk") > 1
    assert (
        "".join(event["content"] for event in events if event["type"] == "chunk")
        == message["answer"]
    )
    assert [source["chunk_id"] for source in message["sources"] if source["cited"]] == [
        str(library.pk)
    ]
    assert message["usage"]["llm_calls"] >= 1
    assert {"retrieve", "generate"} <= {step["name"] for step in message["decision_path"]}


async def test_stop_closes_the_models_connection(
    api: Api, online: OllamaServer, library: Chunk
) -> None:
    _answer_with(online, stall_after=2)
    response = await api.ask(
        "How many books may undergraduates borrow from the library?", stream=True
    )
    async for event in events_of(response):
        if event["type"] == "chunk":
            break
    stopped = (await api.call("post", f"/api/messages/{event['message_id']}/stop")).json()
    generation = next(chat for chat in reversed(online.chats) if not chat.is_structured)
    assert stopped["status"] == "stopped"
    assert stopped["answer"]
    assert await sync_to_async(generation.wait_client_closed)()


@pytest.mark.parametrize(("workflow", "size"), [("corrective", 3), ("self_corrective", 400)])
async def test_what_a_model_thinks_in_its_answer_reaches_nobody(
    api: Api, online: OllamaServer, library: Chunk, size: int, workflow: str
) -> None:
    thoughts = "<think>The rules [2] say ten < twelve.\nShall I cite [1]?</think>\n\n"
    whole = thoughts + "Undergraduates may borrow ten books for four weeks [1]. Use them well [1]."
    online.reply(
        structured=False, pieces=[whole[at : at + size] for at in range(0, len(whole), size)]
    )
    response = await api.ask(
        "How many books may undergraduates borrow?", workflow=workflow, stream=True
    )
    events = [event async for event in events_of(response)]
    told = events[-1]["message"]
    stored = await Message.objects.aget(pk=events[-1]["message_id"])
    read = "".join(event["content"] for event in events if event["type"] == "chunk")
    assert read == told["answer"] == stored.text
    assert read == "Undergraduates may borrow ten books for four weeks [1]. Use them well."
    assert [source["marker"] for source in told["sources"] if source["cited"]] == [1]
    assert "twelve" not in json.dumps(told)


async def test_thoughts_that_have_reached_the_reader_are_withdrawn(
    api: Api, online: OllamaServer, library: Chunk
) -> None:
    said = "Undergraduates may borrow ten books for four weeks"
    online.reply(
        structured=False, text=f"They ask about books, as it seems to me. </think> {said} [1]."
    )
    response = await api.ask(
        "How many books may undergraduates borrow from the library?", stream=True
    )
    events = [event async for event in events_of(response)]
    message = events[-1]["message"]
    assert "withdrawn" in types(events)
    behind = events[types(events).index("withdrawn") :]
    assert (
        "".join(event["content"] for event in behind if event["type"] == "chunk")
        == message["answer"]
    )
    assert message["answer"] == f"{said} [1]."
    assert await Message.objects.filter(text__contains="as it seems to me").acount() == 0


async def test_the_dual_loop_remembers_for_the_one_who_asked_alone(
    api: Api, online: OllamaServer, library: Chunk
) -> None:
    online.reply(match='"solves"', json={"score": 0.9, "solves": True})
    _answer_with(online)
    question = "How many books may undergraduates borrow from the library?"
    response = await api.ask(question, workflow="dual_loop", stream=True)
    events = [event async for event in events_of(response)]
    message = events[-1]["message"]
    assert (message["status"], message["decision"]) == ("complete", "ANSWER")
    assert (
        "".join(event["content"] for event in events if event["type"] == "chunk")
        == message["answer"]
    )
    memory = await Memory.objects.aget()
    assert (memory.user_id, memory.question) == (api.user.pk, question)
    assert memory.text == "Undergraduates may borrow ten books for four weeks."


async def test_a_question_may_choose_the_model_that_writes(
    api: Api, online: OllamaServer, library: Chunk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "LISTED_EVERY_S", 0.0)
    online.add_model("other")
    _answer_with(online)
    message = (
        await api.ask("How many books may undergraduates borrow from the library?", model="other")
    ).json()
    assert (message["decision"], message["model"]) == ("ANSWER", "other:latest")
    written = [chat.body["model"] for chat in online.chats if not chat.is_structured]
    judged = [chat.body["model"] for chat in online.chats if chat.is_structured]
    assert set(written) == {"other:latest"}
    assert "other:latest" not in judged
    stored = await Message.objects.aget(pk=message["message_id"])
    assert stored.request["model"] == "other:latest"
    online.remove_model("other")
    again = await api.call("post", f"/api/messages/{message['message_id']}/regenerate", {})
    assert again.json()["model"] == CHAT_MODEL
