"""Against a small HTTP server that speaks one shape of the call or the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings

from retrieval.engine.errors import ModelOutputError, ModelTimeoutError, ModelUnavailableError
from retrieval.engine.providers import rerank_http
from retrieval.engine.providers import server as servers
from retrieval.engine.providers.rerank_http import HttpReranker
from tests.search_engine import SearchEngineServer

Reply = Callable[[dict[str, Any]], tuple[int, Any]]


def reranker(server: SearchEngineServer) -> HttpReranker:
    return HttpReranker(settings.RAG.rerank.replace(url=server.url))


def tei(body: dict[str, Any]) -> tuple[int, Any]:
    if "texts" not in body:
        return 422, {"error": "missing field texts"}
    return 200, [{"index": 1, "score": 0.9}, {"index": 0, "score": 0.2}]


def jina(body: dict[str, Any]) -> tuple[int, Any]:
    if "documents" not in body:
        return 422, {"detail": "documents: field required"}
    return 200, {
        "results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]
    }


@pytest.mark.parametrize("shape", [tei, jina])
async def test_either_shape_gives_scores_in_the_passages_order(
    search_engine: SearchEngineServer, shape: Reply
) -> None:
    search_engine.reply = shape
    assert await reranker(search_engine).rerank("fee", ["one", "two"]) == [0.2, 0.9]
    assert {path for path, _ in search_engine.queries} == {"/rerank"}


@pytest.mark.parametrize(
    ("status", "answer", "error"),
    [
        (500, {}, ModelUnavailableError),
        (302, {}, ModelUnavailableError),
        (422, {}, ModelOutputError),
        (200, b"<html>", ModelOutputError),
        (200, [], ModelOutputError),
        (200, {"results": [{"index": 0}]}, ModelOutputError),
        (200, b" " * 1_000_001, ModelOutputError),
    ],
)
async def test_a_bad_answer_is_a_model_error(
    search_engine: SearchEngineServer, status: int, answer: Any, error: type
) -> None:
    search_engine.status, search_engine.reply = status, answer
    search_engine.headers = {"Location": "http://127.0.0.1:9/rerank"} if status == 302 else {}
    with pytest.raises(error):
        await reranker(search_engine).rerank("fee", ["one"])


async def test_a_slow_server_times_out_and_a_dead_one_opens_the_circuit(
    search_engine: SearchEngineServer,
) -> None:
    search_engine.hangs = True
    with patch.multiple(rerank_http, TIMEOUT_S=0.05), pytest.raises(ModelTimeoutError):
        await reranker(search_engine).rerank("fee", ["one"])
    dead = HttpReranker(settings.RAG.rerank.replace(url="http://127.0.0.1:9"))
    for message in ("not reachable", "trying again"):
        with (
            patch.multiple(servers, FAILURES=1),
            pytest.raises(ModelUnavailableError, match=message),
        ):
            await dead.rerank("fee", ["one"])
