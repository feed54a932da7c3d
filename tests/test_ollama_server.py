"""The simulated server is tried with Ollama's own client, so that tests rest on the real protocol."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import Any

import httpx
import ollama as ollama_client
import pytest

from retrieval.steps.writing import marked_shape
from tests.ollama_server import CHAT_MODEL, EMBED_MODEL, OllamaServer, RagSettingsChanger

PASSAGES = (
    "[1] Tuition is refunded within 14 days.\n[2] The library opens at nine.\n\nQuestion: When is tuition refunded?"
)
SCHEMA = {
    "type": "object",
    "properties": {
        "scores": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "score": {"type": "number"}, "relevant": {"type": "boolean"}},
            },
        },
        "decision": {"enum": ["ANSWER", "REFINE", "CLARIFY", "NO_ANSWER"]},
        "clarify": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "queries": {"type": "array", "items": {"type": "string"}, "maxItems": 1},
    },
}
MARKED = marked_shape(may_ask_back=True)


async def ask(server: OllamaServer, text: str, **more: object) -> list[ollama_client.ChatResponse]:
    client = ollama_client.AsyncClient(host=server.url, timeout=5)
    messages = [{"role": "user", "content": text}]
    try:
        return [part async for part in await client.chat(CHAT_MODEL, messages, stream=True, **more)]
    finally:
        await client.close()


async def test_free_text_cites_the_passage_that_shares_most_words(ollama: OllamaServer) -> None:
    parts = await ask(ollama, PASSAGES)
    assert "".join(part.message.content for part in parts) == "Tuition is refunded within 14 days. [1]"
    assert len(parts) > 5
    assert parts[-1].done_reason == "stop"
    assert parts[-1].prompt_eval_count > 10


async def test_schema_is_filled_by_the_names_of_its_fields(ollama: OllamaServer) -> None:
    parts = await ask(ollama, PASSAGES, format=SCHEMA)
    filled = json.loads("".join(part.message.content for part in parts))
    assert filled == {
        "scores": [{"id": 1, "score": 1.0, "relevant": True}, {"id": 2, "score": 0, "relevant": False}],
        "decision": "ANSWER",
        "clarify": None,
        "queries": ["When is tuition refunded?"],
    }


async def test_chinese_question_finds_the_chinese_passage(ollama: OllamaServer) -> None:
    parts = await ask(ollama, "【1】图书馆九点开门。\n【2】学费可在十四天内退还。\n\n问题：学费什么时候退还？")
    assert "".join(part.message.content for part in parts) == "学费可在十四天内退还。 [2]"


async def test_scripted_replies_serve_in_order_and_as_often_as_said(ollama: OllamaServer) -> None:
    ollama.reply("tea", text="first", times=1)
    ollama.reply("tea", text="second")
    said = [(await ask(ollama, text))[0].message.content for text in ("tea", "tea", "tea")]
    assert said == ["first", "second", "second"]


async def test_embeddings_are_unit_length_and_near_for_shared_words(ollama: OllamaServer) -> None:
    client = ollama_client.AsyncClient(host=ollama.url, timeout=5)
    one, two, three = (
        await client.embed(EMBED_MODEL, ["refund of tuition", "tuition refunds", "library hours"])
    ).embeddings
    await client.close()
    assert sum(x * x for x in one) == pytest.approx(1)
    assert sum(a * b for a, b in zip(one, two, strict=True)) > 0.9
    assert abs(sum(a * b for a, b in zip(one, three, strict=True))) < 0.5


async def test_unknown_model_and_wrong_kind_answer_like_the_real_server(ollama: OllamaServer) -> None:
    client = ollama_client.AsyncClient(host=ollama.url, timeout=5)
    with pytest.raises(ollama_client.ResponseError, match="not found") as missing:
        await client.show("nothing")
    with pytest.raises(ollama_client.ResponseError, match="does not support chat") as wrong:
        await client.chat(EMBED_MODEL, [{"role": "user", "content": "x"}])
    await client.close()
    assert (missing.value.status_code, wrong.value.status_code) == (404, 400)


async def test_client_that_leaves_early_is_noticed(ollama: OllamaServer) -> None:
    ollama.reply(endless=True, token_delay_s=0.002)
    client = ollama_client.AsyncClient(host=ollama.url, timeout=5)
    async with aclosing(await client.chat(CHAT_MODEL, [{"role": "user", "content": "x"}], stream=True)) as parts:
        async for _ in parts:
            break
    assert await asyncio.to_thread(ollama.chats[0].wait_client_closed)
    await client.close()


async def test_stopped_server_is_down_and_comes_back_on_its_port(ollama: OllamaServer) -> None:
    async with httpx.AsyncClient(base_url=ollama.url, trust_env=False) as client:
        assert (await client.get("/api/version")).status_code == 200
        ollama.stop()
        with pytest.raises(httpx.TransportError):
            await client.get("/api/version")
        ollama.start()
        assert (await client.get("/api/tags")).json()["models"][0]["capabilities"] == ["completion", "tools"]


def test_online_points_the_settings_at_the_server_and_single_fields_can_be_changed(
    online: OllamaServer, rag_settings: RagSettingsChanger, settings: Any
) -> None:
    before = settings.RAG.search.max_top_k
    rag_settings(ollama={"num_ctx": 2048}, search={"top_k": 3})
    assert settings.RAG.ollama.base_url == online.url
    assert (settings.RAG.ollama.num_ctx, settings.RAG.search.top_k, settings.RAG.search.max_top_k) == (2048, 3, before)


def test_offline_switches_the_models_off(offline: None, settings: Any) -> None:
    assert settings.RAG.ollama.offline == "1"


@pytest.mark.parametrize(
    ("question", "filled"),
    [
        ("When is tuition refunded?", ["answer", "Tuition is refunded within 14 days. [1]"]),
        ("Who paints bicycles?", ["no_answer", "I cannot find this in the documents."]),
    ],
)
async def test_marked_reply_refuses_where_no_passage_shares_a_word(
    ollama: OllamaServer, question: str, filled: list[str]
) -> None:
    parts = await ask(ollama, PASSAGES.rpartition("Question:")[0] + f"Question: {question}", format=MARKED)
    assert json.loads("".join(part.message.content for part in parts)) == filled


async def test_scripted_text_is_an_answer_where_a_mark_is_asked_for(ollama: OllamaServer) -> None:
    ollama.reply(structured=False, text='Ask the "bursar".')
    parts = await ask(ollama, PASSAGES, format=MARKED)
    pieces = [part.message.content for part in parts if part.message.content]
    assert pieces == ['["answer", "Ask', " the", ' \\"bursar\\"."]']
