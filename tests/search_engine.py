"""A small HTTP server in the place of a search engine or a reranker, that speaks, or misspeaks, as a test says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.web_server import Page, WebServer


class SearchEngineServer(WebServer):
    """reply: a JSON value, the bytes of a body, or what gives status and reply for JSON that was posted."""

    def __init__(self) -> None:
        super().__init__()
        self.status = 200
        self.reply: Any = {"results": []}
        self.headers: dict[str, str] = {}

    @property
    def queries(self) -> list[tuple[str, dict[str, str]]]:
        """Path and parameters of each request."""
        addresses = [urlsplit(path) for _, path, _, _ in self.requests]
        return [(address.path, dict(parse_qsl(address.query))) for address in addresses]

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Page:
        status, reply = (
            self.reply(json.loads(body)) if callable(self.reply) else (self.status, self.reply)
        )
        return (
            status,
            self.headers,
            reply if isinstance(reply, bytes) else json.dumps(reply).encode(),
        )


@pytest.fixture
def search_engine() -> Iterator[SearchEngineServer]:
    with SearchEngineServer() as server:
        yield server


def entry(number: int, **fields: Any) -> dict[str, Any]:
    """One entry as SearXNG gives it."""
    given = {
        "url": f"https://example.org/{number}",
        "title": f"Page {number}",
        "content": f"Text of page {number}.",
    }
    return given | fields
