"""A cross-encoder server that scores passages against a query: `POST /rerank`.

Two shapes are in use, and the server tells by its answer which one it speaks:

    Text Embeddings Inference   {"query", "texts"}                       → [{"index", "score"}]
    Jina, Cohere, vLLM …        {"query", "documents", "top_n", "model"} → {"results": [{"index", "relevance_score"}]}

Source: Nogueira and Cho, "Passage Re-ranking with BERT", arXiv:1901.04085; seed 002 (rerank API, TopN and MinScore).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import httpx

from ragsite.core.messages import worded
from ragsite.core.search_settings import RerankSettings
from retrieval.engine.errors import ModelOutputError, ModelUnavailableError
from retrieval.engine.providers.server import CircuitBreaker, address_of, request

TIMEOUT_S = 10.0  # one call of that server
LABEL = "the reranker"
MAX_TEXT_CHARS = 4_000  # cross-encoders read 512 tokens, the larger ones a few thousand
AT_ONCE = 4
WRONG_SHAPE = (400, 404, 405, 415, 422)  # what servers say to fields that they do not know


class HttpReranker:
    """A cross-encoder. Belongs to one event loop."""

    def __init__(self, settings: RerankSettings) -> None:
        url = httpx.URL(settings.url)
        path = url.path.rstrip("/")
        self._url = url if path.endswith("rerank") else url.copy_with(path=f"{path}/rerank")
        self._breaker = CircuitBreaker(limit=AT_ONCE)
        self._shapes = ["texts", "documents"]  # the one that served last comes first

    @property
    def name(self) -> str:
        return f"cross-encoder at {address_of(self._url)}"

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """P(relevant), 0..1, in the texts' order; what the server leaves out gets 0. Raises ModelError."""
        async with self._breaker.call(wait_s=TIMEOUT_S):
            return await self._scores(query, [text[:MAX_TEXT_CHARS] for text in texts])

    async def _scores(self, query: str, texts: list[str]) -> list[float]:
        status = 0
        for shape in list(self._shapes):
            body = self._body(shape, query, texts)
            status, answer = await request(
                "POST", self._url, limit_s=TIMEOUT_S, label=LABEL, json=body
            )
            if status < 300:
                self._shapes.sort(key=lambda known: known != shape)
                return read_scores(answer, len(texts))
            if status not in WRONG_SHAPE:
                raise ModelUnavailableError(
                    worded("the reranker failed (HTTP {status})", status=status)
                )
        raise ModelOutputError(
            worded("the reranker refused the request (HTTP {status})", status=status)
        )

    def _body(self, shape: str, query: str, texts: list[str]) -> dict[str, Any]:
        if shape == "texts":
            return {"query": query, "texts": texts, "raw_scores": False, "truncate": True}
        return {"query": query, "documents": texts, "top_n": len(texts)}


def read_scores(body: bytes, count: int) -> list[float]:
    """Scores 0..1 in the texts' order. Values outside 0..1 are logits, and a sigmoid is laid over all of them.

    Raises ModelOutputError.
    """
    try:
        answer = json.loads(body)
        entries = answer if isinstance(answer, list) else answer["results"]
        scores = {
            int(entry["index"]): float(
                entry["score"] if "score" in entry else entry["relevance_score"]
            )
            for entry in entries
        }
    except (ValueError, KeyError, TypeError) as error:
        raise ModelOutputError(
            worded("the reranker sent something that could not be read")
        ) from error
    scores = {
        index: score
        for index, score in scores.items()
        if 0 <= index < count and math.isfinite(score)
    }
    if not scores:
        raise ModelOutputError(worded("the reranker scored none of the passages"))
    if not all(0.0 <= score <= 1.0 for score in scores.values()):
        scores = {
            index: 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit))))
            for index, logit in scores.items()
        }
    return [scores.get(index, 0.0) for index in range(count)]
