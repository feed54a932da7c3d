"""A server that speaks OpenAI's protocol serves as Ollama does; and models of several servers."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from pydantic import BaseModel

from ragsite.core.rag_settings import RagSettings
from ragsite.core.server_settings import OllamaSettings
from ragsite.core.settings_group import SettingsError
from retrieval.engine.errors import (
    ModelCutError,
    ModelError,
    ModelInterruptedError,
    ModelOutputError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from retrieval.engine.providers.registry import ModelRegistry
from retrieval.engine.trace import Trace
from tests.ollama_server import CHAT_MODEL, EMBED_DIM, EMBED_MODEL, OllamaServer
from tests.retrieval.engine.providers.conftest import RegistryMaker, answer, make_prompt

WORDS = "one two three four five six seven eight nine ten"


class Verdict(BaseModel):
    verdict: Literal["yes", "no"]


@pytest.fixture
def models(ollama: OllamaServer, registry: RegistryMaker) -> RegistryMaker:
    def make(**fields: object) -> ModelRegistry:
        return registry(**{"server": "openai", "url": f"{ollama.url}/v1", **fields})

    return make


async def test_an_answer_comes_piece_by_piece_and_its_tokens_are_counted(
    ollama: OllamaServer, models: RegistryMaker
) -> None:
    ollama.reply(text=WORDS)
    trace, model = Trace(), await models(max_answer_tokens=300).chat("answer")
    async with trace.step("generate") as step:
        pieces = [piece async for piece in model.stream(make_prompt())]
    assert ("".join(pieces), len(pieces)) == (WORDS, 10)
    assert (step.calls[0].model, step.calls[0].completion_tokens) == (CHAT_MODEL, 10)
    assert ollama.chats[0].body["max_tokens"] == 300


async def test_a_reply_is_held_to_its_schema(ollama: OllamaServer, models: RegistryMaker) -> None:
    ollama.reply(json={"verdict": "yes"})
    assert (
        await (await models().chat("fast")).complete_json(make_prompt(), Verdict)
    ).verdict == "yes"
    form = ollama.chats[0].body["response_format"]
    assert form["json_schema"]["schema"]["required"] == ["verdict"]
    assert ollama.chats[0].body["temperature"] == 0


async def test_a_server_that_knows_no_schemas_is_told_in_the_prompt(
    ollama: OllamaServer, models: RegistryMaker
) -> None:
    ollama.reply(structured=True, status=400, error="response_format is not supported")
    ollama.reply(text='```json\n{"verdict": "no"}\n```')
    model = await models().chat("fast")
    for _ in range(2):
        assert (await model.complete_json(make_prompt(), Verdict)).verdict == "no"
    assert ["format" in chat.body for chat in ollama.chats] == [True, False, False]
    assert '"verdict"' in ollama.chats[1].body["messages"][0]["content"]


@pytest.mark.parametrize(
    ("reply", "kind", "reason"),
    [
        (
            {"status": 404, "error": "no such model"},
            ModelUnavailableError,
            "has no model 'test-chat:latest'",
        ),
        ({"status": 400, "error": "too long"}, ModelOutputError, "refused the request: .*too long"),
        (
            {"status": 500, "error": "out of memory"},
            ModelUnavailableError,
            r"failed \(HTTP 500\): .*out of memory",
        ),
        ({"status": 503, "error": "full"}, ModelUnavailableError, "too busy"),
        ({"text": ""}, ModelOutputError, "empty answer"),
        ({"stall_after": 0}, ModelTimeoutError, "timed out after 0.3 s"),
        (
            {"text": WORDS, "stall_after": 4},
            ModelInterruptedError,
            "broke off: the model server timed out",
        ),
        (
            {"text": WORDS, "disconnect_after": 4},
            ModelInterruptedError,
            "broke off: the model server",
        ),
        (
            {"text": WORDS, "error_after": 4},
            ModelInterruptedError,
            "broke off: .*unexpectedly stopped",
        ),
        ({"text": WORDS, "malformed_after": 4}, ModelInterruptedError, "could not be read"),
        ({"text": WORDS, "missing_end": True}, ModelInterruptedError, "closed the connection"),
        ({"text": WORDS, "done_reason": "length"}, ModelCutError, "cut at its limit"),
    ],
)
async def test_every_failure_has_its_reason(
    ollama: OllamaServer,
    models: RegistryMaker,
    reply: dict[str, object],
    kind: type[ModelError],
    reason: str,
) -> None:
    ollama.reply(**reply)
    with pytest.raises(kind, match=reason):
        await answer(
            models(
                first_token_timeout_s=0.3 if "stall_after" in reply else 20,
                BETWEEN_TOKENS_TIMEOUT_S=0.3,
            )
        )


async def test_texts_are_embedded_whole_in_order_by_the_model_that_is_named(
    ollama: OllamaServer, models: RegistryMaker
) -> None:
    embedder = await models(embed_model=EMBED_MODEL).default_embedder()
    assert (embedder.space.model, embedder.space.dim) == (EMBED_MODEL, EMBED_DIM)
    vectors = await embedder.embed_documents(["refund", "tuition"])
    assert ollama.embeds[-1].body["input"] == ["refund", "tuition"]
    assert np.allclose(await embedder.embed_queries(["tuition"]), vectors[1])


async def test_models_may_come_from_several_servers(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    made = registry(server="openai", url="http://127.0.0.1:9/v1", embed_server="ollama")
    assert (await made.default_embedder()).space.model == EMBED_MODEL
    with pytest.raises(ModelUnavailableError, match=r"not reachable at 127\.0\.0\.1:9"):
        await made.chat("answer")
    assert not (await made.status()).reachable


@pytest.mark.parametrize(
    "environ",
    [
        {"RAG_MODEL_SERVER": "openai"},
        {"RAG_MODEL_SERVER": "vllm"},
        {"RAG_EMBED_SERVER": "http://a"},
    ],
)
def test_a_wrong_server_is_refused_at_start(environ: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=r"RAG_(MODEL_URL|MODEL_SERVER|EMBED_SERVER)"):
        RagSettings.from_env(environ)


def test_a_key_is_never_shown() -> None:
    assert "secret" not in repr(OllamaSettings(server="openai", url="http://a/v1", key="secret"))
