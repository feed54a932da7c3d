"""The page of models and its API: who may, what is tried, what is stored, where the key goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import aclosing
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from constance.models import Constance
from django.conf import settings as settings_of_site
from django.contrib.contenttypes.models import ContentType
from django.urls import reverse

from ragsite.operations.model_server import pulling
from ragsite.runtime import live_settings
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.knowledge.index_sync.reembedding import reembedding_run
from retrieval.models import Collection
from tests.clients import administrator, client_of
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory
from tests.ollama_server import CHAT_MODEL, EMBED_MODEL, OllamaServer

pytestmark = pytest.mark.django_db(transaction=True)
PAGE, API = "/settings/models/", "/api/model-server"
JSON = {"content_type": "application/json"}


@pytest.fixture(autouse=True)
def own_settings(settings: Any) -> Iterator[None]:
    """What is stored in a test ends with it; nothing is decided by the environment of the tests."""
    settings.ENVIRON, settings.RAG = {}, settings.RAG
    settings.OPERATORS_RAG = settings.RAG.replace(
        ollama=settings.RAG.ollama.replace(offline="auto")
    )
    settings.RAG = settings.OPERATORS_RAG
    ContentType.objects.clear_cache()
    live_settings._taken_up, live_settings._looked_at = ({}, {}), float("-inf")
    yield
    live_settings._taken_up, live_settings._looked_at = ({}, {}), float("-inf")
    ContentType.objects.clear_cache()


class KeyedServer(HTTPServer):
    """Speaks as little of OpenAI's protocol as a list of models takes, and notes the keys that it was sent."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        super().__init__(("127.0.0.1", 0), _Noting)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Noting(BaseHTTPRequestHandler):
    server: KeyedServer

    def do_GET(self) -> None:
        self.server.keys.append(self.headers.get("Authorization", ""))
        body = b'{"data": []}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Not into the output of the tests."""


@pytest.fixture
def keyed() -> Iterator[list[KeyedServer]]:
    servers = [KeyedServer(), KeyedServer()]
    for server in servers:
        Thread(target=server.serve_forever, daemon=True).start()
    yield servers
    for server in servers:
        server.shutdown()
        server.server_close()


# ------------------------------------------------------------------------------------------------ who may
def test_only_superusers_see_the_page_and_its_calls() -> None:
    staff = client_of(UserFactory(is_staff=True))
    reader = client_of(UserFactory())
    assert (
        administrator().get(PAGE).status_code,
        staff.get(PAGE).status_code,
        reader.get(PAGE).status_code,
    ) == (
        200,
        403,
        404,
    )
    for client in (staff, reader):
        assert client.get(API).status_code == 403
        assert client.patch(API, {"server": "ollama"}, **JSON).status_code == 403
        assert client.post(f"{API}/test", {}, **JSON).status_code == 403


def test_the_banner_leads_administrators_to_the_page_and_others_to_them() -> None:
    assert f'href="{PAGE}"' in administrator().get("/").text
    page = client_of(UserFactory()).get("/").text
    assert PAGE not in page and "Ask your administrator to connect one." in page


# ------------------------------------------------------------------------------------------------ trying
def test_a_test_says_what_answered_with_which_models_and_stores_nothing(
    ollama: OllamaServer,
) -> None:
    found = administrator().post(f"{API}/test", {"ollama_url": ollama.url}, **JSON).json()
    assert found["answered"] and found["label"] == "Ollama"
    assert {model["name"]: model["can_chat"] for model in found["models"]} == {
        CHAT_MODEL: True,
        EMBED_MODEL: False,
    }
    assert found["called"] == CHAT_MODEL and found["call_ms"] > 0 and found["ignoring_format"] == []
    assert not Constance.objects.exists()


def test_a_test_says_which_model_does_not_keep_to_a_form(ollama: OllamaServer) -> None:
    ollama.reply(text="Yes, I am ready.")
    found = administrator().post(f"{API}/test", {"ollama_url": ollama.url}, **JSON).json()
    assert found["ignoring_format"] == [CHAT_MODEL]


def test_a_model_that_fails_is_told_beside_the_list(ollama: OllamaServer) -> None:
    ollama.reply(status=500, error="out of memory")
    found = administrator().post(f"{API}/test", {"ollama_url": ollama.url}, **JSON).json()
    assert found["answered"] and found["call_ms"] is None and "out of memory" in found["reason"]


def test_a_server_that_is_not_there_is_said(ollama: OllamaServer) -> None:
    url = ollama.url
    ollama.stop()
    found = administrator().post(f"{API}/test", {"ollama_url": url}, **JSON).json()
    assert not found["answered"] and "not reachable" in found["reason"] and found["models"] == []


@pytest.mark.parametrize(
    "address",
    [
        "ftp://models.example.org",
        "http://me:secret@127.0.0.1:11434",
        "http://169.254.169.254/latest",
        "127.0.0.1:1",
    ],
)
def test_an_address_where_no_model_server_can_be_is_refused(address: str) -> None:
    for answer in (
        administrator().post(f"{API}/test", {"ollama_url": address}, **JSON),
        administrator().patch(API, {"ollama_url": address}, **JSON),
    ):
        assert answer.status_code == 400 and "ollama_url" in answer.json()["error"]["fields"]
    assert not Constance.objects.exists()


# ------------------------------------------------------------------------------------------------ storing
def test_what_is_saved_counts_at_once_and_stands_in_the_log(
    settings: Any, ollama: OllamaServer
) -> None:
    client = administrator()
    saved = client.patch(
        API, {"ollama_url": ollama.url, "chat_models": [CHAT_MODEL, "other"]}, **JSON
    )
    assert saved.json()["chat_models"] == [CHAT_MODEL, "other"]
    assert (settings.RAG.ollama.base_url, settings.RAG.ollama.answer_model) == (
        ollama.url,
        CHAT_MODEL,
    )
    assert client.get("/api/status").json()["chat_model"] == CHAT_MODEL
    assert "OLLAMA_BASE_URL" in client.get(reverse("admin:constance_config_history")).text


def test_another_process_takes_the_server_up_when_a_page_asks_for_the_state(
    settings: Any, ollama: OllamaServer
) -> None:
    client = administrator()
    assert not client.get("/api/status").json()["online"]
    live_settings.store({"OLLAMA_BASE_URL": ollama.url})  # as another process does
    live_settings._looked_at = float("-inf")
    assert client.get("/api/status").json()["online"]


def test_what_is_as_the_operator_has_it_is_not_stored(settings: Any) -> None:
    client = administrator()
    client.patch(API, {"fast_model": "small"}, **JSON)
    client.patch(API, {"fast_model": ""}, **JSON)
    assert not Constance.objects.exists() and settings.RAG.ollama.fast_model == ""


def test_what_the_environment_decides_is_told_and_refused(settings: Any) -> None:
    settings.ENVIRON = {"RAG_CHAT_MODEL": "large"}
    client = administrator()
    assert client.get(API).json()["locked"] == ["chat_models"]
    refused = client.patch(API, {"chat_models": ["small"]}, **JSON)
    assert refused.status_code == 400 and "chat_models" in refused.json()["error"]["fields"]


# ------------------------------------------------------------------------------------------------ the key
def connect(client: Any, server: KeyedServer) -> None:
    changes = {"server": "openai", "openai_url": server.url, "key": "secret"}
    assert client.patch(API, changes, **JSON).json()["has_key"]


def test_a_key_is_stored_encrypted_and_never_told(keyed: list[KeyedServer]) -> None:
    client = administrator()
    connect(client, keyed[0])
    assert "secret" not in Constance.objects.get(key="RAG_MODEL_KEY").value
    assert "secret" not in client.get(API).text + client.get(PAGE).text
    client.post(f"{API}/test", {}, **JSON)
    assert keyed[0].keys == ["Bearer secret"]


def test_a_key_never_goes_to_another_server_than_its_own(
    settings: Any, keyed: list[KeyedServer]
) -> None:
    client = administrator()
    connect(client, keyed[0])
    client.post(f"{API}/test", {"openai_url": keyed[1].url}, **JSON)
    changed = client.patch(API, {"openai_url": keyed[1].url}, **JSON).json()
    client.post(f"{API}/test", {}, **JSON)
    assert not changed["has_key"] and not Constance.objects.filter(key="RAG_MODEL_KEY").exists()
    assert keyed[1].keys == ["Bearer none", "Bearer none"]


def test_a_stored_key_is_not_sent_where_the_environment_leads_later(
    settings: Any, keyed: list[KeyedServer]
) -> None:
    client = administrator()
    connect(client, keyed[0])
    operators = settings.RAG.ollama.replace(
        server="openai", url=keyed[1].url, key="", key_origin=""
    )
    settings.OPERATORS_RAG = settings.OPERATORS_RAG.replace(ollama=operators)
    settings.ENVIRON = {"RAG_MODEL_URL": keyed[1].url}
    live_settings._taken_up = ({}, {})
    live_settings.refresh(at_once=True)
    client.post(f"{API}/test", {}, **JSON)
    assert keyed[1].keys == ["Bearer none"]


def test_the_environments_key_binds_the_address(settings: Any, keyed: list[KeyedServer]) -> None:
    operators = settings.RAG.ollama.replace(server="openai", url=keyed[0].url, key="operators")
    settings.RAG = settings.OPERATORS_RAG = settings.RAG.replace(ollama=operators)
    settings.ENVIRON = {"RAG_MODEL_KEY": "operators"}
    client = administrator()
    assert client.post(f"{API}/test", {"openai_url": keyed[1].url}, **JSON).status_code == 400
    assert keyed[1].keys == []


# ------------------------------------------------------------------------------------------------ downloading
def pull(client: Any, model: str) -> list[dict[str, Any]]:
    """The events of a whole download."""
    answer = client.post(f"{API}/pulls", {"model": model}, **JSON)
    assert answer.status_code == 200, answer.content

    async def whole() -> str:
        return "".join([piece.decode() async for piece in answer])

    return [
        json.loads(event.removeprefix("data: "))
        for event in async_to_sync(whole)().split("\n\n")
        if event
    ]


def test_a_download_tells_how_far_it_is_and_its_model_answers_afterwards(
    online: OllamaServer,
) -> None:
    online.models.clear()
    client = administrator()
    assert not client.get("/api/status").json()["online"]
    events = pull(client, "fresh:1b")
    assert events[-1]["step"] == "success" and events[-1]["total"] == 5_000_000
    assert [event["completed"] for event in events] == sorted(
        event["completed"] for event in events
    )
    assert all(event["free"] > 0 for event in events)  # the server is on this machine
    assert client.get("/api/status").json()["chat_model"] == "fresh:1b"


def test_a_model_that_no_library_has_is_said(online: OllamaServer) -> None:
    assert "file does not exist" in pull(administrator(), "nowhere:1b")[-1]["error"]


def test_a_download_that_breaks_off_is_no_success(online: OllamaServer) -> None:
    online.reply(endpoint="pull", disconnect_after=3)
    events = pull(administrator(), "fresh:1b")
    assert events[-1]["error"] and "success" not in [event["step"] for event in events]


def test_a_model_for_which_there_is_no_room_is_not_downloaded(
    online: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulling, "space_left", lambda _: 2_000_000)
    online.reply(endpoint="pull", stall_after=3)
    events = pull(administrator(), "fresh:1b")
    assert "not enough room" in events[-1]["error"] and "fresh:1b" not in online.models


def test_who_leaves_breaks_the_download_off(online: OllamaServer) -> None:
    online.reply(endpoint="pull", stall_after=3)

    async def leave_at_the_first_byte() -> None:
        async with aclosing(
            pulling.pull_events("fresh:1b", settings_of_site.RAG.ollama, None)
        ) as lines:
            async for line in lines:
                if json.loads(line.removeprefix("data: "))["total"]:
                    return

    async_to_sync(leave_at_the_first_byte)()
    assert online.requests[-1].wait_client_closed()


def test_a_server_that_downloads_nothing_by_itself_is_not_asked_to(rag_settings: Any) -> None:
    rag_settings(ollama={"server": "openai", "url": "http://127.0.0.1:9/v1"})
    assert administrator().post(f"{API}/pulls", {"model": "x"}, **JSON).status_code == 409


# ------------------------------------------------------------------------------------------------ embedding again
@pytest.fixture
def apart() -> Collection:
    """A collection of one document that was embedded without a server."""
    collection: Collection = CollectionFactory(
        embedding_model=BUILTIN_SPACE.model, embedding_dim=BUILTIN_SPACE.dim
    )
    ChunkFactory(
        document=DocumentFactory(collection=collection, status="ready"),
        text="Books are lent for a month.",
    )
    return collection


def test_what_another_model_has_embedded_is_told_with_its_cost(
    online: OllamaServer, apart: Collection
) -> None:
    told = administrator().get(f"{API}/embedding").json()
    assert told["model"] == EMBED_MODEL and told["passages"] == 1 and told["estimated_s"] > 0
    (row,) = told["collections"]
    assert (row["address"], row["documents"], row["done"]) == (apart.address, 1, None)


def test_embedding_again_goes_to_a_worker_and_its_progress_is_told(
    online: OllamaServer, apart: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(
        "celery.app.base.Celery.send_task", lambda self, *args, **options: sent.append(args)
    )
    client = administrator()
    (row,) = client.post(f"{API}/embedding", {}, **JSON).json()["collections"]
    assert row["done"] == 0 and [arguments for _, arguments in sent] == [(str(apart.pk),)]
    client.post(f"{API}/embedding", {}, **JSON)
    assert len(sent) == 1  # it is under way


def test_a_collection_is_moved_and_nothing_is_left_to_be_told(
    online: OllamaServer, apart: Collection, milvus: Any
) -> None:
    async_to_sync(reembedding_run)(collection=apart)
    assert administrator().get(f"{API}/embedding").json()["collections"] == []
    apart.refresh_from_db()
    assert apart.embedding_model == EMBED_MODEL
