"""What the site needs of another server: a gate before it, its errors as ours, and of a model server what each kind
implements (`ollama`, `openai`).

The gate says how many calls at once, and none while the server keeps failing. The circuit breaker follows Nygard,
"Release It!", 2007: closed → open after FAILURES failures in a row → after RESET_S one call is let through as a probe;
its success closes the circuit, its failure opens it again.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import httpx

from ragsite.core.messages import worded
from ragsite.core.text import shortened
from retrieval.engine.errors import (
    ModelError,
    ModelMissingError,
    ModelOutputError,
    ModelTimeoutError,
    ModelUnavailableError,
)

# ------------------------------------------------------------------------------------------------ gate
FAILURES = 3
RESET_S = 20.0


class CircuitBreaker:
    """Belongs to one event loop. The server may queue without limit, so `limit` bounds the calls at once."""

    def __init__(self, *, limit: int) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._failures = 0
        self._failed_at = 0.0
        self._probing = False
        self._reason = ""

    @property
    def is_open(self) -> bool:
        """Whether the server failed several times in a row and has not answered since."""
        return self._failures >= FAILURES

    @asynccontextmanager
    async def call(self, *, wait_s: float) -> AsyncIterator[None]:
        """One call; one that is cancelled tells nothing about the server.

        Raises ModelUnavailableError (circuit open), ModelTimeoutError (no slot within `wait_s`).
        """
        self._check()
        try:
            async with asyncio.timeout(wait_s):
                await self._slots.acquire()
        except TimeoutError as error:
            reason = worded("no model call was free for {wait_s:g} s", wait_s=wait_s)
            raise ModelTimeoutError(reason) from error
        try:
            self._check()  # once more: the calls before this one may have opened the circuit
            is_probe = self._probing = self.is_open
            try:
                yield
                self._failures = 0
            except ModelError as error:
                self._failures = self._failures + 1 if error.is_server_failure else 0
                self._failed_at = time.monotonic()
                self._reason = error.reason
                raise
            finally:
                self._probing = self._probing and not is_probe
        finally:
            self._slots.release()

    def _check(self) -> None:
        if self.is_open and (self._probing or time.monotonic() < self._failed_at + RESET_S):
            reason = worded(
                "{reason} (failed {failed} times in a row; trying again shortly)",
                reason=self._reason,
                failed=self._failures,
            )
            raise ModelUnavailableError(reason)


# ------------------------------------------------------------------------------------------------ other servers
MAX_ANSWER_BYTES = 1_000_000
LIST_BYTES = 8_000_000  # of a list of models, or of the details of one
MOST_MODELS = 500  # of a list: each is asked about


async def read_bounded(pieces: AsyncIterator[bytes], *, most_bytes: int, label: str) -> bytes:
    """A body while it comes: a server may send without an end. Raises ModelOutputError as soon as it is too large."""
    received = bytearray()
    async for piece in pieces:
        received += piece
        if len(received) > most_bytes:
            raise ModelOutputError(worded("the answer of {label} is too large", label=label))
    return bytes(received)


def address_of(url: httpx.URL) -> str:
    """Host and port for people; never the password of the URL."""
    return url.host if url.port is None else f"{url.host}:{url.port}"


@lru_cache(maxsize=1)
def tls_context() -> ssl.SSLContext:
    """Certifi's certificates, or those that SSL_CERT_FILE or SSL_CERT_DIR name; reading them takes longer than most
    calls."""
    return httpx.create_ssl_context(trust_env=True)


async def request(
    method: str, url: httpx.URL, *, limit_s: float, label: str, json: Any = None
) -> tuple[int, bytes]:
    """Status and body. Nothing but this host is called: no redirect is followed, no proxy of the environment used.

    Raises ModelTimeoutError, ModelUnavailableError; ModelOutputError as soon as the body is too large.
    """
    tls = await asyncio.to_thread(tls_context)
    try:
        async with (
            asyncio.timeout(limit_s),
            httpx.AsyncClient(
                timeout=limit_s, trust_env=False, verify=tls, follow_redirects=False
            ) as client,
            client.stream(method, url, json=json) as response,
        ):
            body = await read_bounded(
                response.aiter_bytes(), most_bytes=MAX_ANSWER_BYTES, label=label
            )
            return response.status_code, body
    except (TimeoutError, httpx.TimeoutException) as error:
        reason = worded("{label} timed out after {limit_s:g} s", label=label, limit_s=limit_s)
        raise ModelTimeoutError(reason) from error
    except httpx.HTTPError as error:
        reason = worded("{label} is not reachable at {server}", label=label, server=address_of(url))
        raise ModelUnavailableError(reason) from error


# ------------------------------------------------------------------------------------------------ model servers
CONNECT_TIMEOUT_S = 3.0  # until the connection stands
KEPT_S = 300.0  # an idle connection is kept: a new one takes 20 ms before the first word
LIST_TIMEOUT_S = 2.5  # asking for the list of models; of the other calls the callers watch the time
TEMPERATURE = 0.1  # of answers
DETAIL_CHARS = 160
Errors = tuple[type[Exception], ...]

Message = tuple[Literal["system", "human", "ai"], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """A model that a server lists. context_length: tokens it was trained for; 0: the server doesn't say."""

    name: str
    can_chat: bool = False
    can_embed: bool = False
    can_think: bool = False  # it writes thoughts before its answer unless told not to
    context_length: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCall:
    """What is asked of a chat model. max_tokens: of the reply. schema: JSON schema that the reply is held to.

    is_judgement: the likeliest token each time, and in one piece, as nobody reads the reply before it is whole.
    """

    messages: Sequence[Message]
    max_tokens: int
    schema: Mapping[str, Any] | None = None
    is_judgement: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatChunk:
    """A piece of a reply. end: "stop" or "length", with the last piece; counts and times (ms) come with it."""

    text: str = ""
    end: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prefill_ms: float | None = None
    generation_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullProgress:
    """How far the download of a model is. step: as the server says it. Bytes; total 0: not known yet."""

    step: str
    completed: int = 0
    total: int = 0


class ModelServer(ABC):
    """Belongs to one event loop. Raises the `ModelError`s of `retrieval.engine.errors`, nothing else.

    label: its name for people; address: host and port for people, never a password.
    closed, away, refused: what its clients raise.
    """

    label: str
    address: str
    closed: ClassVar[Errors]
    away: ClassVar[Errors]
    refused: ClassVar[Errors]

    @abstractmethod
    def missing(self, name: str) -> ModelMissingError:
        """What to say where there is no model of this name, or ("") none that fits; with what mends it."""

    async def models(self) -> tuple[ServedModel, ...]:
        """All that it has. Raises ModelTimeoutError where it is too slow to list them."""
        async with self.in_time(LIST_TIMEOUT_S):
            with self.explained():
                return await self.listed()

    @asynccontextmanager
    async def in_time(self, limit_s: float) -> AsyncIterator[None]:
        """Raises ModelTimeoutError where the body takes longer."""
        try:
            async with asyncio.timeout(limit_s):
                yield
        except TimeoutError as error:
            raise self.timed_out(limit_s) from error

    def timed_out(self, limit_s: float) -> ModelTimeoutError:
        reason = worded("{label} timed out after {limit_s:g} s", label=self.label, limit_s=limit_s)
        return ModelTimeoutError(reason)

    @abstractmethod
    async def listed(self) -> tuple[ServedModel, ...]:
        """What `models` gives."""

    async def load(self, model: ServedModel) -> None:  # noqa: B027 - not every server can be told to
        """Load the model into memory, where the server can be told to."""

    def pull(self, name: str) -> AsyncGenerator[PullProgress, None]:
        """Download a model into the server, to its end; closing it breaks off, and the next pull goes on from there.
        Raises ModelError, also where the server can't be told to."""
        raise ModelOutputError(worded("{label} can't be told to download models", label=self.label))

    @abstractmethod
    def chat(self, model: ServedModel, call: ChatCall) -> AsyncGenerator[ChatChunk, None]:
        """The reply; closing it closes the connection, which stops the model. Its caller watches the time."""

    @abstractmethod
    async def embed(self, model: str, texts: list[str]) -> list[list[float]]:
        """One vector for each text, in order. Its caller watches the time."""

    @abstractmethod
    async def close(self) -> None: ...

    @abstractmethod
    def status_and_message(self, error: Any) -> tuple[int, str]:
        """HTTP status and message of a refusal; -1: it came in the stream."""

    @contextmanager
    def explained(self, model: str = "") -> Iterator[None]:
        """Raises ModelErrors in place of whatever the client raises."""
        label = self.label
        try:
            yield
        except self.closed as error:
            raise ModelUnavailableError(
                worded("{label} closed the connection", label=label)
            ) from error
        except self.away as error:
            reason = worded(
                "{label} is not reachable at {server}", label=label, server=self.address
            )
            raise ModelUnavailableError(reason) from error
        except self.refused as error:
            raise self._refusal(*self.status_and_message(error), model) from error
        except (ValueError, LookupError, AttributeError, TypeError) as error:
            raise ModelOutputError(
                worded("{label} sent something that could not be read", label=label)
            ) from error

    def _refusal(self, status: int, message: str, model: str) -> ModelError:
        label = self.label
        detail = shortened((message.strip().splitlines() or [""])[0], DETAIL_CHARS)
        match status:
            case 404:
                return self.missing(model)
            case 400 | 413 | 422:
                return ModelOutputError(
                    worded("{label} refused the request: {detail}", label=label, detail=detail)
                )
            case 429 | 503:
                return ModelUnavailableError(
                    worded("{label} is too busy: {detail}", label=label, detail=detail)
                )
            case -1:
                return ModelUnavailableError(
                    worded("{label} failed: {detail}", label=label, detail=detail)
                )
        reason = worded(
            "{label} failed (HTTP {status}): {detail}", label=label, status=status, detail=detail
        )
        return ModelUnavailableError(reason)


async def first_chunk(chunks: Any) -> tuple[Any, AsyncGenerator[Any, None]]:
    """The first chunk (None: there is none), and those that follow."""
    try:
        return await anext(chunks, None), chunks
    except BaseException:
        await chunks.aclose()
        raise


def canonical(name: str) -> str:
    """The same for all ways to write a model's name: one without a tag means `:latest`."""
    return name.lower().removesuffix(":latest")
