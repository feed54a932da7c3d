from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth.models import User
from django.test import AsyncClient

from chat.runs.running import runs_shut_down
from ragsite.accounts.tokens import key_create, token_create
from ragsite.asgi import application
from ragsite.core.server_settings import MilvusSettings
from retrieval.compose import close_engine, get_engine
from retrieval.engine.reasons import Reason
from retrieval.engine.trace import Trace
from retrieval.engine.values import (
    Answer,
    AnswerSource,
    Clarification,
    Question,
    Scores,
    StoredChunk,
)
from retrieval.knowledge.index_sync.repair import index_repair
from retrieval.models import Collection
from tests.declared_shapes import check_event
from tests.factories import ChunkFactory, CollectionFactory, UserFactory

TEXT = "Undergraduates may borrow ten books [1]."


def source(marker: int = 1, **fields: Any) -> AnswerSource:
    chunk = StoredChunk(
        chunk_id=f"chunk-{marker}",
        document_id="8d8ac610-566d-4ef0-9c22-186b2a5ed793",
        collection_id="0b4c5d0e-1111-4a4a-8f8f-000000000000",
        seq=marker,
        title="Library loans",
        text="Undergraduates may borrow ten books for four weeks.",
        page=2,
        heading="Loans",
    )
    return AnswerSource(
        **{
            "marker": marker,
            "chunk": chunk,
            "scores": Scores(dense=0.7, final=0.9),
            "cited": True,
            **fields,
        }
    )


@dataclass
class ScriptedWorkflow:
    """A workflow that does what the test says. It waits for a permit of `gate`, if there is one, before each chunk."""

    chunks: Sequence[str] = ("Undergraduates may ", "borrow ten ", "books [1].")
    sources: tuple[AnswerSource, ...] = field(default_factory=lambda: (source(),))
    decision: str = "ANSWER"
    clarification: Clarification | None = None
    error: Exception | None = None
    partial: bool = False
    gate: asyncio.Semaphore | None = None
    questions: list[Question] = field(default_factory=list)
    cancelled: int = 0

    async def __call__(self, question: Question, *, workflow: str, trace: Trace) -> Answer:
        self.questions.append(question)
        try:
            return await self._answer(trace)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def _answer(self, trace: Trace) -> Answer:
        async with trace.step("retrieve") as step:
            step.summary = "1 candidate"
            await trace.sink.tool_called("search", "Searching the documents", step)
        async with trace.step("rerank") as step:
            step.degrade(Reason("model_failed", {"error": "the model is slow"}))
        await trace.sink.sources_chosen(self.sources)
        async with trace.step("generate"):
            for chunk in self.chunks:
                if self.gate:
                    await self.gate.acquire()
                await trace.emit_chunk(chunk)
            if self.gate:
                await self.gate.acquire()
        if self.error:
            raise self.error
        text = self.clarification.question if self.clarification else "".join(self.chunks)
        return Answer(
            decision=self.decision,
            text=text,
            sources=self.sources,
            clarification=self.clarification,
            model="test-chat",
            partial=self.partial,
        )

    def hold(self, permits: int = 0) -> None:
        """Let `permits` chunks pass, then wait."""
        self.gate = asyncio.Semaphore(permits)

    def go_on(self, permits: int = 100) -> None:
        assert self.gate is not None
        for _ in range(permits):
            self.gate.release()


@pytest.fixture
def workflow(monkeypatch: pytest.MonkeyPatch) -> ScriptedWorkflow:
    """Stands where the engine begins; everything of the chat is real."""
    scripted = ScriptedWorkflow()
    monkeypatch.setattr("chat.runs.run.answer_question", scripted)
    return scripted


@pytest.fixture(autouse=True)
async def _no_run_outlives_its_test(transactional_db: None) -> AsyncIterator[None]:
    yield
    await runs_shut_down()


@pytest.fixture
def limits(settings: Any) -> Any:
    """`limits(questions_per_minute=2)` sets limits for one test."""

    def set_limits(**values: Any) -> None:
        settings.RAG = settings.RAG.replace(limits=settings.RAG.limits.replace(**values))

    return set_limits


@pytest.fixture
def user(transactional_db: None) -> User:
    return UserFactory()


def program_key(user: User, *scopes: str, **values: Any) -> str:
    """An API key."""
    return key_create(user=user, name="program", scopes=scopes, **values)[1]


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[int]:
    """The port of this machine on which it is served, in this process."""
    server = uvicorn.Server(
        uvicorn.Config(
            app, port=0, http="ragsite.web.protocol:Protocol", lifespan="off", log_level="error"
        )
    )
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await serving


@pytest.fixture
async def site_url(transactional_db: None) -> AsyncIterator[str]:
    """The whole application."""
    async with served(application) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def stranger(transactional_db: None) -> User:
    return UserFactory()


def token_header(user: User) -> str:
    return f"Token {token_create(user=user)}"


async def cookie_headers(of: User | AsyncClient) -> list[tuple[bytes, bytes]]:
    """What this browser, or a new one of the user, sends with the opening of a socket."""
    client = of if isinstance(of, AsyncClient) else AsyncClient()
    if isinstance(of, User):
        await client.aforce_login(of)
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    return [(b"host", b"localhost"), (b"origin", b"http://localhost"), (b"cookie", cookie.encode())]


class Api:
    """Calls of one user with a token, as a program makes them."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.client = AsyncClient()
        self.headers = {"Authorization": token_header(user)}

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        arguments: dict[str, Any] = {"headers": self.headers | headers}
        if body is not None or method == "post":
            arguments |= {"data": b"" if body is None else body, "content_type": "application/json"}
        return await getattr(self.client, method)(path, **arguments)

    async def ask(self, message: str = "How many books may I borrow?", **fields: Any) -> Any:
        return await self.call("post", "/api/chat", {"message": message, **fields})

    async def begin(
        self, message: str = "How many books may I borrow?", **fields: Any
    ) -> dict[str, Any]:
        """Ask by SSE, read the `started` event, and go away."""
        response = await self.ask(message, stream=True, **fields)
        assert response.status_code == 200, response.content
        async for event in events_of(response):
            return event
        raise AssertionError("no event")


async def events_of(response: Any) -> AsyncIterator[dict[str, Any]]:
    """The JSON of an SSE response's events, checking that `id:` is the event's number."""
    async for part in response.streaming_content:
        fields = dict(
            line.split(": ", 1)
            for line in part.decode().strip().split("\n")
            if not line.startswith(":")
        )
        if fields:
            event = json.loads(fields["data"])
            assert fields["id"] == str(event["seq"])
            check_event(event)
            yield event


@pytest.fixture
def api(user: User) -> Api:
    return Api(user)


@pytest.fixture
def other_api(stranger: User) -> Api:
    return Api(stranger)


class Socket:
    """One open tab."""

    def __init__(
        self,
        user: User | None,
        path: str = "/ws/chat/",
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        given = list(headers)
        if user:
            given.append((b"authorization", token_header(user).encode()))
        self.communicator = WebsocketCommunicator(application, path, headers=given)

    async def open(self) -> Socket:
        connected, code = await self.communicator.connect()
        assert connected, code
        return self

    async def send(self, type_: str, **fields: Any) -> None:
        await self.communicator.send_json_to({"type": type_, **fields})

    async def receive(self) -> dict[str, Any]:
        text = await self.communicator.receive_from(timeout=10)
        event: dict[str, Any] = json.loads(text.encode())  # a real socket sends UTF-8
        return event

    async def until(self, *types: str) -> list[dict[str, Any]]:
        """Events up to the first of one of these types."""
        events = [await self.receive()]
        while events[-1]["type"] not in types:
            events.append(await self.receive())
        return events

    async def close(self) -> None:
        await self.communicator.disconnect()


@pytest.fixture
async def socket(user: User) -> AsyncIterator[Any]:
    """`await socket(path=…, user=…)` opens one; all are closed in the end."""
    opened: list[Socket] = []

    async def open_socket(path: str = "/ws/chat/", *, of: User | None = None) -> Socket:
        header = await asyncio.to_thread(Socket, of or user, path)
        opened.append(await header.open())
        return header

    yield open_socket
    for each in opened:
        await each.close()


async def eventually(condition: Any, *, within_s: float = 5.0) -> None:
    """Wait until an async condition holds."""
    async with asyncio.timeout(within_s):
        while not await condition():
            await asyncio.sleep(0.01)


def types(events: Sequence[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


# ------------------------------------------------------------------------------------------------ a real index
HANDBOOK_TEXTS = (
    "An undergraduate may borrow ten books for four weeks.",
    "The deposit for a room in Lakeside hall is EUR 300.",
    "Wi-Fi error E107 means that your password has expired.",
)

Handbook = Callable[[], Awaitable[Collection]]


@pytest.fixture
async def handbook(
    user: User, rag_settings: Any, milvus_settings: MilvusSettings
) -> AsyncIterator[Handbook]:
    """`await handbook()` indexes three documents in a collection of the user's, with the embedder of that moment."""
    rag_settings(milvus=milvus_settings)

    async def build() -> Collection:
        space = (await get_engine().models.default_embedder()).space
        embedded = {"embedding_model": space.model, "embedding_dim": space.dim}
        collection = await sync_to_async(CollectionFactory)(
            name="handbook", owner=user, visibility="private", **embedded
        )
        for text in HANDBOOK_TEXTS:
            await sync_to_async(ChunkFactory)(
                text=text, document__collection=collection, indexed=False
            )
        await index_repair()
        return collection

    yield build
    await close_engine()
