"""Fixtures that every app's tests share."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections

pytest_plugins = ["tests.milvus", "tests.ollama_server", "tests.search_engine"]

LOOPBACK = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "")


@pytest.fixture(autouse=True)
def _only_loopback(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test leaves this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            raise RuntimeError(f"A test tried to reach {address[0]}: only loopback is allowed.")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """SQLite in a file, as on a real site: threads wait for its lock, where those of a shared memory database fail."""
    database = connections["default"].settings_dict
    if database["ENGINE"].endswith("sqlite3"):
        database["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")
