from __future__ import annotations

import asyncio

import numpy as np
import pytest

from retrieval.engine.errors import EmbeddingUnavailableError
from retrieval.engine.ports import Embedder
from retrieval.engine.values import EmbeddingSpace
from tests.ollama_server import EMBED_DIM, EMBED_MODEL, OllamaServer
from tests.retrieval.engine.providers.conftest import RegistryMaker

SPACE = EmbeddingSpace(EMBED_MODEL, EMBED_DIM)


async def embedder(registry: RegistryMaker, **fields: object) -> Embedder:
    return await registry(**fields).embedder(SPACE)


async def test_documents_come_in_batches_in_order_and_unit_length(
    ollama: OllamaServer, registry: RegistryMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.engine.providers.embeddings.EMBED_BATCH_SIZE", 4)
    texts = [f"document{number} words" for number in range(10)]
    vectors = await (await embedder(registry)).embed_documents(texts)
    assert vectors.shape == (10, EMBED_DIM)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert [len(request.body["input"]) for request in ollama.embeds] == [4, 4, 2]
    alone = await (await embedder(registry)).embed_documents([texts[7]])
    assert np.allclose(alone[0], vectors[7])


async def test_all_query_variants_go_in_one_call_and_known_ones_in_none(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    model = await embedder(registry)
    first = await model.embed_queries(["refund", "tuition", "refund"])
    assert first.shape == (3, EMBED_DIM)
    again = (await model.embed_queries(["tuition"]))[0]
    assert np.array_equal(again, first[1])
    assert [request.body["input"] for request in ollama.embeds] == [["refund", "tuition"]]


async def test_searches_side_by_side_have_the_same_query_embedded_once(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(endpoint="embed", delay_s=0.1)
    model = await embedder(registry)
    one, other = await asyncio.gather(
        model.embed_queries(["refund"]), model.embed_queries(["refund"])
    )
    assert np.array_equal(one, other)
    assert len(ollama.embeds) == 1


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"status": 404}, "ollama pull test-embed"),
        ({"status": 500, "error": "out of memory"}, "out of memory"),
        ({"status": 503}, "too busy"),
        ({"delay_s": 30}, "timed out after 0.2 s"),
        ({"disconnect_after": 0}, "closed the connection"),
        ({"body": {"nonsense": 1}}, "gave 0 embeddings|could not be read"),
        ({"body": {"embeddings": [[1.0] * EMBED_DIM] * 3}}, "gave 3 embeddings for 1 texts"),
        (
            {"body": {"embeddings": [[1.0, 2.0]]}},
            "now gives 2 numbers per embedding, and the collection has 256",
        ),
        ({"body": {"embeddings": [[0.0] * EMBED_DIM]}}, "not a direction"),
    ],
)
async def test_every_failure_has_its_reason(
    ollama: OllamaServer, registry: RegistryMaker, reply: dict[str, object], reason: str
) -> None:
    ollama.reply(endpoint="embed", **reply)
    model = await embedder(registry, embed_timeout_s=0.2 if "delay_s" in reply else 20)
    with pytest.raises(EmbeddingUnavailableError, match=reason):
        await model.embed_queries(["text"])


async def test_queries_and_documents_get_the_prefixes_that_the_model_was_trained_with(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.add_model("nomic-embed-text", "embedding", dim=8)
    model = await registry().embedder(EmbeddingSpace("nomic-embed-text:latest", 8))
    await model.embed_queries(["refund"])
    await model.embed_documents(["refund"])
    assert [request.body["input"] for request in ollama.embeds] == [
        ["search_query: refund"],
        ["search_document: refund"],
    ]
