"""A small HTTP server in the place of a search engine or a reranker, that speaks, or misspeaks, as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest


class SearchEngineServer:
    """`answer`: a JSON value, the bytes of a body, or what gives status and answer for JSON that was posted. `hold`:
    wait with it until `release` is set."""

    def __init__(self) -> None:
        self.status = 200
        self.answer: Any = {"results": []}
        self.headers: dict[str, str] = {}
        self.hold = False
        self.release = threading.Event()
        self.asked: list[tuple[str, dict[str, Any]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                address = urlsplit(self.path)
                outer.asked.append((address.path, {key: values[0] for key, values in parse_qs(address.query).items()}))
                self._answer(outer.answer)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append((self.path, body))
                if callable(outer.answer):
                    outer.status, answer = outer.answer(body)
                    self._answer(answer)
                else:
                    self._answer(outer.answer)

            def _answer(self, answer: Any) -> None:
                if outer.hold:
                    outer.release.wait(30)
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                with suppress(BrokenPipeError, ConnectionResetError):  # the client gave up
                    self.send_response(outer.status)
                    for name, value in {"Content-Length": str(len(data)), **outer.headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(data)

            def log_message(self, *_: Any) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def search_engine() -> Iterator[SearchEngineServer]:
    server = SearchEngineServer()
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.release.set()
    server.http.shutdown()
    thread.join()
    server.http.server_close()


def entry(number: int, **fields: Any) -> dict[str, Any]:
    """One entry as SearXNG gives it."""
    given = {"url": f"https://example.org/{number}", "title": f"Page {number}", "content": f"Text of page {number}."}
    return given | fields
