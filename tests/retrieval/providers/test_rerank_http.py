"""Against a small HTTP server that speaks one shape of the call or the other."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.conf import settings

from retrieval.errors import ModelOutputError, ModelTimeoutError, ModelUnavailableError
from retrieval.providers import breaker, rerank_http
from retrieval.providers.rerank_http import HttpReranker, read_scores
from tests.constants import constants

Reply = Callable[[dict[str, Any]], tuple[int, Any]]


class RerankServer:
    def __init__(self) -> None:
        self.reply: Reply = lambda body: (500, {})
        self.asked: list[tuple[str, dict[str, Any]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append((self.path, body))
                status, answer = outer.reply(body)
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                if status == 302:
                    self.send_header("Location", "http://127.0.0.1:9/rerank")
                self.end_headers()
                with suppress(BrokenPipeError, ConnectionResetError):  # the client gave up
                    self.wfile.write(data)

            def log_message(self, *_: Any) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def server() -> Iterator[RerankServer]:
    server = RerankServer()
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.http.shutdown()
    thread.join()
    server.http.server_close()


def reranker(server: RerankServer, **fields: Any) -> HttpReranker:
    return HttpReranker(settings.RAG.rerank.replace(url=server.url, **fields))


def tei(body: dict[str, Any]) -> tuple[int, Any]:
    if "texts" not in body:
        return 422, {"error": "missing field texts"}
    return 200, [{"index": 1, "score": 0.9}, {"index": 0, "score": 0.2}]


def jina(body: dict[str, Any]) -> tuple[int, Any]:
    if "documents" not in body:
        return 422, {"detail": "documents: field required"}
    return 200, {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]}


@pytest.mark.parametrize("shape", [tei, jina])
async def test_either_shape_gives_scores_in_the_passages_order(server: RerankServer, shape: Reply) -> None:
    server.reply = shape
    assert await reranker(server).rerank("fee", ["one", "two"]) == [0.2, 0.9]
    assert {path for path, _ in server.asked} == {"/rerank"}


async def test_the_shape_that_served_is_used_from_then_on(server: RerankServer) -> None:
    server.reply = jina
    client = reranker(server)
    for _ in range(2):
        await client.rerank("fee", ["one", "two"])
    assert ["documents" in body for _, body in server.asked] == [False, True, True]
    assert server.asked[-1][1] == {"query": "fee", "documents": ["one", "two"], "top_n": 2}


def test_logits_are_brought_to_probabilities_and_missing_passages_get_none() -> None:
    scores = read_scores(b'[{"index": 0, "score": 4.0}, {"index": 2, "score": -4.0}, {"index": 9, "score": 1}]', 3)
    assert [round(score, 3) for score in scores] == [0.982, 0.0, 0.018]


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
async def test_a_bad_answer_is_a_model_error(server: RerankServer, status: int, answer: Any, error: type) -> None:
    server.reply = lambda body: (status, answer)
    with pytest.raises(error):
        await reranker(server).rerank("fee", ["one"])


async def test_a_slow_server_times_out_and_a_dead_one_opens_the_circuit(server: RerankServer) -> None:
    server.reply = lambda body: (time.sleep(0.15), (200, []))[1]  # type: ignore[func-returns-value]
    with constants(rerank_http, TIMEOUT_S=0.05), pytest.raises(ModelTimeoutError):
        await reranker(server).rerank("fee", ["one"])
    dead = HttpReranker(settings.RAG.rerank.replace(url="http://127.0.0.1:9"))
    for message in ("not reachable", "trying again"):
        with constants(breaker, FAILURES=1), pytest.raises(ModelUnavailableError, match=message):
            await dead.rerank("fee", ["one"])
