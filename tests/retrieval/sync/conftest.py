"""Sources of a member of staff, and the servers that they read."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from django.contrib.auth.models import User
from dulwich.repo import Repo
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain
from rest_framework.test import APIClient

from ragsite.core.sealed import unseal
from retrieval.knowledge.sync import run
from retrieval.knowledge.sync.kinds import KINDS
from retrieval.models import SyncSource
from tests.clients import api_of
from tests.factories import UserFactory
from tests.retrieval.sync.looking import ADDRESS
from tests.web_server import WebServer


@pytest.fixture(autouse=True)
def _site(settings: Any, tmp_path: Path, queue: list[Any], uploads: None) -> None:
    inner, folders = ["127.0.0.1"], [str(tmp_path / "files")]
    settings.SITE = settings.SITE.model_copy(
        update={"inner_hosts": inner, "source_folders": folders}
    )
    (tmp_path / "files").mkdir()


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer() as running:
        yield running


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory(is_staff=True)


@pytest.fixture
def api(owner: User) -> APIClient:
    return api_of(owner)


@pytest.fixture
def make(api: APIClient) -> Callable[..., Any]:
    def source(kind: str, address: str | Path, **values: Any) -> Any:
        body = {
            "name": "a source",
            "kind": kind,
            "address": str(address),
            "collection": "synced",
            **values,
        }
        response = api.post(ADDRESS, body, format="json")
        assert response.status_code == 201, response.json()
        return response.json()["id"]

    return source


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources are looked at here, where a test can change what they stand on."""

    def source_here(row: SyncSource, *, check: Callable[[], None]) -> Any:
        folder = tempfile.mkdtemp()
        credentials = unseal(row.credentials) if row.credentials else {}
        return KINDS[row.kind](
            address=row.address, options=row.options, credentials=credentials, folder=folder
        )

    monkeypatch.setattr(run, "source_open", source_here)


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[tuple[Repo, str]]:
    repo = Repo.init_bare(str(tmp_path / "repo.git"), mkdir=True)
    server = make_server(
        "127.0.0.1", 0, make_wsgi_chain(DictBackend({"/repo.git": repo})), handler_class=_Quiet
    )
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
    ).start()
    yield repo, f"http://127.0.0.1:{server.server_port}/repo.git"
    server.shutdown()
    server.server_close()
    repo.close()
