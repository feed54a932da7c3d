"""A small HTTP server that speaks Ollama's protocol, for tests: real sockets, its own thread and event loop.

Under /v1 it speaks OpenAI's (`tests.openai_protocol`).

    def test_x(online):                                     # settings.RAG points at it
        online.reply(match="refund", text="Ask the bursar. [1]")
        online.reply(structured=True, json={"scores": []}, times=1)
        online.reply(match="slow", delay_s=0.1, stall_after=2)
        ...
        assert online.chats[0].body["options"]["num_ctx"] == 8192
        assert online.chats[0].wait_client_closed()

The first reply that matches serves, `times` times; without one, `tests.ollama_answers` judges by shared words.
"""

from __future__ import annotations

import asyncio
import json as jsonlib
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from retrieval.engine.providers.registry import HABITS
from tests import ollama_answers as answers
from tests import openai_protocol
from tests.model_connection import REASONS, ClientGoneError, Connection

CHAT_MODEL, EMBED_MODEL, EMBED_DIM = "test-chat:latest", "test-embed:latest", 256


@dataclass
class Model:
    name: str
    capabilities: tuple[str, ...] = ("completion",)
    dim: int = EMBED_DIM
    context_length: int = 32768


@dataclass(kw_only=True)
class Reply:
    """What to do with a request that fits. `*_after` count streamed pieces of the answer (or malformed lines)."""

    match: str | None = None  # regular expression over the whole prompt, or the texts to embed
    endpoint: str | None = "chat"  # chat, embed, tags, show, version; None: any
    structured: bool | None = (
        None  # True: only requests for a JSON object; False: only those for text
    )
    times: int | None = None  # how often it serves; None: always
    text: str | None = None
    pieces: Sequence[str] = ()  # the text as it is cut for the stream; by default at its words
    json: Any = None  # the answer is this object as JSON, or what this function makes of the prompt
    status: int = 200
    error: str = ""
    delay_s: float = 0.0  # before the response's first byte
    token_delay_s: float = 0.0
    stall_after: int | None = None  # then silence until the client goes
    disconnect_after: int | None = None
    error_after: int | None = None  # an {"error": …} line in the stream
    malformed_after: int | None = None  # a line that is not JSON
    missing_end: bool = False  # the stream ends properly, but without its `done` line
    endless: bool = False  # goes on until the client leaves, num_predict or not; in one piece: up to num_predict
    done_reason: str = "stop"
    body: Any = None  # embed, tags, show, version: the whole response


@dataclass
class RecordedRequest:
    """A request as it came. `client_closed`: the client went away before the answer was complete."""

    endpoint: str
    body: dict[str, Any]
    at: float = field(default_factory=time.monotonic)
    pieces_sent: int = 0
    client_closed: bool = False
    _ended: threading.Event = field(default_factory=threading.Event)

    @property
    def prompt(self) -> str:
        if self.endpoint == "embed":
            texts = self.body.get("input", "")
            return texts if isinstance(texts, str) else "\n".join(texts)
        return "\n".join(
            str(message.get("content", "")) for message in self.body.get("messages", [])
        )

    @property
    def is_structured(self) -> bool:
        return bool(self.body.get("format"))

    def wait_client_closed(self, timeout_s: float = 5.0) -> bool:
        """Block until this request has ended; True if the client closed it early. Async tests: in a thread."""
        self._ended.wait(timeout_s)
        return self.client_closed


class _WatchedProtocol(asyncio.StreamReaderProtocol):
    """Tells at once that the client has closed its side, also while nobody reads."""

    gone: asyncio.Event

    def eof_received(self) -> bool | None:
        self.gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        super().connection_lost(exc)


class OllamaServer:
    def __init__(self) -> None:
        self.models: dict[str, Model] = {}
        self.add_model(CHAT_MODEL, "completion", "tools")
        self.add_model(EMBED_MODEL, "embedding")
        self.requests: list[RecordedRequest] = []
        self.most_at_once = 0
        self.port = 0
        self._running = 0
        self._replies: list[Reply] = []
        self._served: dict[int, int] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # ------------------------------------------------------------------------------------------ for tests
    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def chats(self) -> list[RecordedRequest]:
        return [request for request in self.requests if request.endpoint == "chat"]

    @property
    def embeds(self) -> list[RecordedRequest]:
        return [request for request in self.requests if request.endpoint == "embed"]

    def count(self, endpoint: str) -> int:
        return sum(request.endpoint == endpoint for request in self.requests)

    def reply(self, match: str | None = None, **what: Any) -> Reply:
        """Script a reply; see `Reply` for what can be said."""
        reply = Reply(match=match, **what)
        self._replies.append(reply)
        return reply

    def reset(self) -> None:
        """Forget scripted replies and recorded requests."""
        self._replies, self._served, self.requests, self.most_at_once = [], {}, [], 0

    def add_model(
        self,
        name: str,
        *capabilities: str,
        dim: int = EMBED_DIM,
        context_length: int = 32768,
    ) -> None:
        name = name if ":" in name else f"{name}:latest"
        self.models[name] = Model(name, capabilities or ("completion",), dim, context_length)

    def remove_model(self, name: str) -> None:
        del self.models[name if ":" in name else f"{name}:latest"]

    def start(self) -> None:
        """Listen; after a `stop` on the same port as before."""
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="ollama", daemon=True)
        self._thread.start()
        if not ready.wait(5):
            raise RuntimeError("the simulated Ollama server did not start")

    def stop(self) -> None:
        """Close the port and every connection: Ollama is down."""
        if self._loop and self._thread:
            self._loop.call_soon_threadsafe(self._halt.set)
            self._thread.join(5)
            self._loop = self._thread = None

    # ------------------------------------------------------------------------------------------ connections
    def _run(self, ready: threading.Event) -> None:
        asyncio.run(self._serve(ready))

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._halt = asyncio.get_running_loop(), asyncio.Event()
        server = await self._loop.create_server(self._protocol, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._halt.wait()
        server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _protocol(self) -> _WatchedProtocol:
        reader = asyncio.StreamReader(limit=2**24)
        protocol = _WatchedProtocol(reader, self._accept)
        protocol.gone = asyncio.Event()
        return protocol

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._connection(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(
            lambda _: writer.transport.abort()
        )  # one that was cancelled before its first step, too

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        protocol = writer.transport.get_protocol()
        assert isinstance(protocol, _WatchedProtocol)
        try:
            while head := await _read_head(reader):
                path, length = head
                body = jsonlib.loads(await reader.readexactly(length) or b"{}")
                connection = Connection(writer, protocol.gone)
                request = RecordedRequest(path.removeprefix("/api/"), body)
                if path in openai_protocol.ENDPOINTS:
                    connection = openai_protocol.OpenAIConnection(writer, protocol.gone)
                    request = RecordedRequest(
                        openai_protocol.ENDPOINTS[path], openai_protocol.as_ollama(path, body)
                    )
                self.requests.append(request)
                await self._respond(request, connection)
        except (ClientGoneError, ConnectionError, asyncio.IncompleteReadError):
            pass

    async def _respond(self, request: RecordedRequest, connection: Connection) -> None:
        self._running += request.endpoint in ("chat", "embed")
        self.most_at_once = max(self.most_at_once, self._running)
        try:
            await self._answer(request, connection)
        except (ClientGoneError, ConnectionError):
            request.client_closed = connection.gone.is_set() and not connection.cut_by_us
            raise
        finally:
            self._running -= request.endpoint in ("chat", "embed")
            request._ended.set()

    # ------------------------------------------------------------------------------------------ the protocol
    async def _answer(self, request: RecordedRequest, connection: Connection) -> None:
        reply = self._reply_for(request)
        await connection.wait(reply.delay_s)
        if reply.status != 200:
            await connection.send_json(
                {"error": reply.error or REASONS[reply.status]}, reply.status
            )
        elif reply.disconnect_after is not None and request.endpoint != "chat":
            connection.cut()
        elif reply.body is not None:
            await connection.send_json(reply.body)
        elif request.endpoint == "pull":
            await self._pull(request, reply, connection)
        elif (plain := self._plain(request)) is not None:
            await connection.send_json(*plain)
        else:
            await self._chat(request, reply, connection)

    def _plain(self, request: RecordedRequest) -> tuple[Any, int] | None:
        """The response of every endpoint but chat, and of a wrong model; None: a chat can go on."""
        if request.endpoint == "version":
            return {"version": "0.12.0"}, 200
        if request.endpoint == "tags":
            return {"models": [self._tag(model) for model in self.models.values()]}, 200
        if request.endpoint not in ("show", "chat", "embed"):
            return {"error": "not here"}, 404
        name = str(request.body.get("model", ""))
        model = self.models.get(name if ":" in name else f"{name}:latest")
        if model is None:
            hint = ", try pulling it first" if request.endpoint == "embed" else ""
            return {"error": f"model '{name}' not found{hint}"}, 404
        if request.endpoint == "show":
            info = {"general.architecture": "test", "test.context_length": model.context_length}
            if "embedding" in model.capabilities:
                info["test.embedding_length"] = model.dim
            about = {"model_info": info, "details": {"family": "test"}}
            return {"capabilities": list(model.capabilities), **about}, 200
        if request.endpoint == "embed":
            texts = request.body.get("input", [])
            texts = [texts] if isinstance(texts, str) else texts
            return {
                "model": name,
                "embeddings": [answers.embed(text, model.dim) for text in texts],
            }, 200
        if "completion" not in model.capabilities:
            return {"error": f'"{name}" does not support chat'}, 400
        if request.body.get("think") and "thinking" not in model.capabilities:
            return {"error": f'"{name}" does not support thinking'}, 400
        return None

    async def _pull(self, request: RecordedRequest, reply: Reply, connection: Connection) -> None:
        """Two files in four steps each; `stall_after` and `disconnect_after` count the steps."""
        name = str(request.body["model"])
        await connection.start_stream()
        await connection.line({"status": "pulling manifest"})
        if name.startswith("nowhere"):
            await connection.line({"error": "pull model manifest: file does not exist"})
            await connection.end_stream()
            return
        for file, size in (("sha256:aa", 4_000_000), ("sha256:bb", 1_000_000)):
            for part in range(5):
                if await self._breaks(request.pieces_sent, reply, connection):
                    return
                line = {
                    "status": f"pulling {file}",
                    "digest": file,
                    "total": size,
                    "completed": size * part // 4,
                }
                await connection.line(line)
                request.pieces_sent += 1
        self.add_model(name, "embedding" if "embed" in name else "completion")
        await connection.line({"status": "success"})
        await connection.end_stream()

    def _tag(self, model: Model) -> dict[str, Any]:
        tag = {"name": model.name, "model": model.name, "digest": f"d-{model.name}", "details": {}}
        return {**tag, "capabilities": list(model.capabilities)}

    def _reply_for(self, request: RecordedRequest) -> Reply:
        for number, reply in enumerate(self._replies):
            served = self._served.get(number, 0)
            if (
                (reply.endpoint is None or reply.endpoint == request.endpoint)
                and (reply.times is None or served < reply.times)
                and (reply.structured is None or reply.structured == request.is_structured)
                and (reply.match is None or re.search(reply.match, request.prompt))
            ):
                self._served[number] = served + 1
                return reply
        return Reply()

    async def _chat(self, request: RecordedRequest, reply: Reply, connection: Connection) -> None:
        thinks = (
            request.body.get("think") is not False
            and "thinking" in self._model(request).capabilities
        )
        limit = request.body.get("options", {}).get("num_predict")
        pieces, done_reason = list(reply.pieces) or self._pieces(request, reply), reply.done_reason
        if limit and limit > 0 and len(pieces) > limit:
            pieces, done_reason = pieces[:limit], "length"
        if request.body.get("stream") is False:
            await self._whole(request, reply, connection, pieces, done_reason)
            return
        await connection.start_stream()
        if thinks:
            await connection.line(self._line(request, "", thinking="Let me see."))
        async for piece in _paced(pieces, reply.endless):
            if await self._breaks(request.pieces_sent, reply, connection):
                return
            await connection.line(self._line(request, piece))
            request.pieces_sent += 1
            await connection.wait(reply.token_delay_s)
        if await self._breaks(request.pieces_sent, reply, connection):
            return
        if not reply.missing_end:
            end = self._end(request, pieces, done_reason)
            await connection.line({**self._line(request, ""), **end})
        await connection.end_stream()

    async def _whole(
        self,
        request: RecordedRequest,
        reply: Reply,
        connection: Connection,
        pieces: list[str],
        done_reason: str,
    ) -> None:
        """The same in one piece: nothing goes out before the last token is written."""
        if reply.endless:  # a runaway reply, as long as it may be
            limit = int(request.body.get("options", {}).get("num_predict", 1000))
            pieces, done_reason = (pieces + [" more"] * limit)[:limit], "length"
        for _ in pieces:
            if request.pieces_sent == reply.stall_after:
                await connection.wait(None)
            if request.pieces_sent == reply.disconnect_after:
                connection.cut()
            await connection.wait(reply.token_delay_s)
            request.pieces_sent += 1
        body = self._line(request, "".join(pieces))
        if reply.error_after is not None:
            await connection.send_json(
                {"error": reply.error or "model runner has unexpectedly stopped"}, 500
            )
        elif reply.malformed_after is not None:
            await connection.send_raw_json(b'{"message": {"content": "half')
        else:
            end = {} if reply.missing_end else self._end(request, pieces, done_reason)
            await connection.send_json({**body, **end})

    def _end(self, request: RecordedRequest, pieces: list[str], done_reason: str) -> dict[str, Any]:
        """What the last line tells."""
        counts = {
            "prompt_eval_count": len(answers.tokens(request.prompt)),
            "eval_count": len(pieces),
        }
        return {"done": True, "done_reason": done_reason, **counts}

    async def _breaks(self, sent: int, reply: Reply, connection: Connection) -> bool:
        """Do what the reply says about this place in the stream; True: the stream has ended."""
        if sent == reply.stall_after:
            await connection.wait(None)
        if sent == reply.disconnect_after:
            connection.cut()
        if sent == reply.malformed_after:
            await connection.raw_line(b'{"message": {"content": "half\n')
        if sent == reply.error_after:
            await connection.line({"error": reply.error or "model runner has unexpectedly stopped"})
            await connection.end_stream()
            return True
        return False

    def _model(self, request: RecordedRequest) -> Model:
        name = request.body["model"]
        return self.models[name if ":" in name else f"{name}:latest"]

    def _pieces(self, request: RecordedRequest, reply: Reply) -> list[str]:
        reading = answers.Reading.of(request.body.get("messages", []))
        schema = request.body.get("format")
        if reply.json is not None:
            value = reply.json(request.prompt) if callable(reply.json) else reply.json
            text = jsonlib.dumps(value, ensure_ascii=False)
        elif reply.text is not None:
            text = reply.text
        elif isinstance(schema, dict):
            text = jsonlib.dumps(answers.filled(schema, reading), ensure_ascii=False)
        else:
            text = "{}" if schema else reading.text
        return answers.tokens(text)

    def _line(
        self, request: RecordedRequest, content: str, *, thinking: str = ""
    ) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": content,
            **({"thinking": thinking} if thinking else {}),
        }
        return {
            "model": request.body["model"],
            "created_at": "2026-01-01T00:00:00Z",
            "message": message,
            "done": False,
        }


async def _read_head(reader: asyncio.StreamReader) -> tuple[str, int] | None:
    """Path and body length of the next request; None when the client has closed."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    length = re.search(r"^content-length:\s*(\d+)", head, re.IGNORECASE | re.MULTILINE)
    return head.split(" ", 2)[1].partition("?")[0], int(length[1]) if length else 0


async def _paced(pieces: list[str], endless: bool) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece
    while endless:
        yield " more"


# ------------------------------------------------------------------------------------------------ fixtures
RagSettingsChanger = Callable[..., None]


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    """A running server; the settings do not point at it (see `online`)."""
    HABITS.clear()  # a server before this one may have had its port
    server = OllamaServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def rag_settings(settings: Any) -> RagSettingsChanger:
    """Change fields of sections of `settings.RAG`: `rag_settings(ollama={"num_ctx": 2048}, search={"top_k": 3})`."""

    def change(**sections: Any) -> None:
        for name, fields in sections.items():
            value = (
                getattr(settings.RAG, name).replace(**fields)
                if isinstance(fields, dict)
                else fields
            )
            settings.RAG = settings.RAG.replace(**{name: value})

    return change


@pytest.fixture
def online(ollama: OllamaServer, rag_settings: RagSettingsChanger) -> OllamaServer:
    """The running server, with `settings.RAG` pointing at it."""
    rag_settings(
        ollama={
            "base_url": ollama.url,
            "offline": "auto",
            "chat_model": "",
            "fast_model": "",
            "embed_model": "",
        }
    )
    return ollama


@pytest.fixture
def offline(rag_settings: RagSettingsChanger) -> None:
    """RAG_OFFLINE=1: no model server is ever called."""
    rag_settings(ollama={"offline": "1"})
