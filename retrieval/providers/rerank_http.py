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

from ragsite.core.rag_settings import RerankSettings
from ragsite.core.wording import worded
from retrieval.errors import ModelError, ModelOutputError, ModelUnavailableError
from retrieval.providers.breaker import CircuitBreaker, Gate
from retrieval.providers.http_service import address_of, bounded, one_call, tls_context

TIMEOUT_S = 10.0  # one call of that server

LABEL = "the reranker"
MAX_ANSWER_BYTES = 1_000_000
MAX_TEXT_CHARS = 4_000  # cross-encoders read 512 tokens, the larger ones a few thousand
AT_ONCE = 4
WRONG_SHAPE = (400, 404, 405, 415, 422)  # what servers say to fields that they do not know


class HttpReranker:
    """Belongs to one event loop. Calls the configured host alone: no redirects, no proxies of the environment."""

    def __init__(self, settings: RerankSettings, *, failures: int = 3, reset_s: float = 20.0) -> None:
        self._settings = settings
        url = httpx.URL(settings.url)
        path = url.path.rstrip("/")
        self._url = url if path.endswith("rerank") else url.copy_with(path=f"{path}/rerank")
        self._server = address_of(url)
        self._gate = Gate(limit=AT_ONCE, breaker=CircuitBreaker(failures=failures, reset_s=reset_s))
        self._shapes = ["texts", "documents"]  # the one that served last comes first

    @property
    def name(self) -> str:
        return f"cross-encoder at {self._server}"

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """P(relevant), 0..1, in the texts' order; what the server leaves out gets 0. Raises ModelError."""
        async with one_call(self._gate, limit_s=TIMEOUT_S, label=LABEL, server=self._server):
            return await self._scores(query, [text[:MAX_TEXT_CHARS] for text in texts])

    async def _scores(self, query: str, texts: list[str]) -> list[float]:
        problem: ModelError = ModelOutputError(worded("the reranker knows neither form of the call"))
        limit_s, tls = TIMEOUT_S, await tls_context()
        async with httpx.AsyncClient(timeout=limit_s, trust_env=False, verify=tls) as client:
            for shape in list(self._shapes):
                status, body = await self._post(client, self._body(shape, query, texts))
                if status in WRONG_SHAPE:
                    problem = ModelOutputError(
                        worded("the reranker refused the request (HTTP {status})", status=status)
                    )
                    continue
                if status >= 300:
                    raise ModelUnavailableError(worded("the reranker failed (HTTP {status})", status=status))
                self._shapes.sort(key=lambda known: known != shape)
                return read_scores(body, len(texts))
        raise problem

    def _body(self, shape: str, query: str, texts: list[str]) -> dict[str, Any]:
        if shape == "texts":
            return {"query": query, "texts": texts, "raw_scores": False, "truncate": True}
        body: dict[str, Any] = {"query": query, "documents": texts, "top_n": len(texts)}
        return body | ({"model": self._settings.model} if self._settings.model else {})

    async def _post(self, client: httpx.AsyncClient, body: dict[str, Any]) -> tuple[int, bytes]:
        async with client.stream("POST", self._url, json=body, follow_redirects=False) as response:
            body_bytes = await bounded(response.aiter_bytes(), max_bytes=MAX_ANSWER_BYTES, label=LABEL)
            return response.status_code, body_bytes


def read_scores(body: bytes, count: int) -> list[float]:
    """Scores 0..1 in the texts' order. Values outside 0..1 are logits, and a sigmoid is laid over all of them.

    Raises ModelOutputError.
    """
    try:
        answer = json.loads(body)
        entries = answer if isinstance(answer, list) else answer["results"]
        given = {
            int(entry["index"]): float(entry["score"] if "score" in entry else entry["relevance_score"])
            for entry in entries
        }
    except (ValueError, KeyError, TypeError) as error:
        raise ModelOutputError(worded("the reranker sent something that could not be read")) from error
    given = {index: score for index, score in given.items() if 0 <= index < count and math.isfinite(score)}
    if not given:
        raise ModelOutputError(worded("the reranker scored none of the passages"))
    if not all(0.0 <= score <= 1.0 for score in given.values()):
        given = {index: _sigmoid(score) for index, score in given.items()}
    return [given.get(index, 0.0) for index in range(count)]


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, value))))
