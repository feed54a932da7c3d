"""The connection to Milvus: opened at the first call, lost and found again, every call within its time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from ragsite.core.messages import worded
from ragsite.core.server_settings import MilvusSettings
from retrieval.engine.errors import IndexUnavailableError
from retrieval.engine.trace import note_index_wait

TIMEOUT_S = 20.0  # one search
CONNECT_TIMEOUT_S = 5.0  # until the connection stands
HUNG_S = 15.0  # for so long after a call that was not answered in time …
HUNG_TIMEOUT_S = 2.0  # … others wait no longer than this: an answer makes several, and has a way without the index
RESTART_WAIT_S = (
    6.0  # from the beginning of an outage: Milvus Lite is back 2 to 4 s after it was killed
)
RESTART_POLL_S = 0.25
MAX_LOADS = 2
MAX_RETRIES = 2  # of what the server says may succeed at another try: a node was lost, a channel is being moved
RETRY_PAUSE_S = 0.3

T = TypeVar("T")
logger = logging.getLogger(__name__)

MISSING_CODES = frozenset({100, 1600})  # no such collection, no such alias
RELEASED_CODE = 101  # Milvus Lite forgets at a restart which collections were loaded
CONNECT_FAILED_CODE = 2
MAX_RETIRED = 4
# Milvus that comes back is found again within a second, not after gRPC's default back-off of up to two minutes.
GRPC_OPTIONS = {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.min_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1_000,
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_permit_without_calls": 0,
}


class MissingCollectionError(Exception):
    """Milvus has no collection, or alias, of this name."""


class _ReleasedCollectionError(Exception):
    pass


class _ConnectionLostError(Exception):
    pass


class _PassingError(Exception):
    """The server says that the same call may succeed at another try."""


class NotSupportedError(Exception):
    """This kind of Milvus has no such call."""


class MilvusConnection:
    """One `AsyncMilvusClient` at a time. Belongs to one event loop.

    find_uri: asked whenever a connection is made; an empty answer means that no Milvus runs.
    """

    def __init__(self, settings: MilvusSettings, *, find_uri: Callable[[], str]) -> None:
        self._settings = settings
        self._find_uri = find_uri
        self._client: Any = None
        self._retired: list[Any] = []
        self._connecting = asyncio.Lock()
        self._has_answered = False
        self._hung_until = 0.0  # by the loop's clock
        self._away_since = (
            0.0  # by the loop's clock, of the first call that was lost; 0: the last call went well
        )

    async def call(
        self,
        run: Callable[[Any], Awaitable[T]],
        *,
        collection: str = "",
        load_options: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> T:
        """`run(client)`, which must do no harm when it is done twice; again on a new connection when the old one was
        lost, after loading `collection`, or where the server says that another try may succeed.

        While a server that has answered before is being restarted, it waits up to `RESTART_WAIT_S` for it; the running
        step of the decision path says so. Raises IndexUnavailableError, MissingCollectionError, NotSupportedError.
        """
        now = asyncio.get_running_loop().time
        limit_s = timeout_s or TIMEOUT_S
        if now() < self._hung_until:
            limit_s = min(limit_s, HUNG_TIMEOUT_S)
        try:
            async with asyncio.timeout(limit_s):
                return await self._patient_call(run, collection, load_options or {})
        except TimeoutError as error:
            self._hung_until = now() + HUNG_S
            raise IndexUnavailableError(
                worded("The search index did not answer in time; try again shortly.")
            ) from error

    async def _patient_call(
        self, run: Callable[[Any], Awaitable[T]], collection: str, load_options: Mapping[str, Any]
    ) -> T:
        """Raises IndexUnavailableError, MissingCollectionError, NotSupportedError."""
        now = asyncio.get_running_loop().time
        client = await self._connect()
        loads = 0
        load = False
        lost_at = 0.0
        retries = 0
        while True:
            try:
                if load:
                    await _translated(
                        lambda c: c.load_collection(collection, timeout=TIMEOUT_S, **load_options),
                        client,
                    )
                    load = False
                result = await _translated(run, client)
            except (MissingCollectionError, NotSupportedError):
                self._note_answer()
                raise
            except _PassingError as error:
                self._note_answer()
                if retries == MAX_RETRIES:
                    raise IndexUnavailableError from error
                retries += 1
                await asyncio.sleep(RETRY_PAUSE_S)
            except _ReleasedCollectionError as error:
                self._note_answer()
                if not collection or loads == MAX_LOADS:
                    raise IndexUnavailableError from error
                load = True
                loads = loads + 1
            except _ConnectionLostError as error:
                if lost_at and not self._may_be_restarting():
                    raise IndexUnavailableError from error
                if lost_at:
                    await asyncio.sleep(RESTART_POLL_S)
                lost_at = lost_at or now()
                self._away_since = self._away_since or lost_at
                client = await self._reconnect(client)
            else:
                self._note_answer()
                if lost_at and (waited_s := now() - lost_at) >= RESTART_POLL_S:
                    note_index_wait(waited_s)
                return result

    def _note_answer(self) -> None:
        """The server is there, whatever it said: the outage, if there was one, is over."""
        self._has_answered = True
        self._away_since = 0.0
        self._hung_until = 0.0

    def _may_be_restarting(self) -> bool:
        """In the first seconds after a server that has answered was lost."""
        return (
            self._has_answered
            and asyncio.get_running_loop().time() < self._away_since + RESTART_WAIT_S
        )

    async def define(self, change: Callable[[Any], None]) -> None:
        """Change schemas with a synchronous client: the async one waits by a call that Milvus Lite lacks.

        Raises IndexUnavailableError.
        """
        uri = self._uri()
        try:
            await asyncio.to_thread(_run_synchronously, change, uri, self._settings)
        except (
            _ConnectionLostError,
            _ReleasedCollectionError,
            _PassingError,
            MissingCollectionError,
        ) as error:
            raise IndexUnavailableError from error

    async def close(self) -> None:
        clients = [self._client, *self._retired]
        self._client = None
        self._retired = []
        for client in clients:
            if client is not None:
                await client.close()

    # ------------------------------------------------------------------------------------------------
    def _uri(self) -> str:
        if uri := self._find_uri():
            return uri
        raise IndexUnavailableError(
            worded(
                "No Milvus server is running: start the site with `make run`, or set MILVUS_URI."
            )
        )

    async def _connect(self) -> Any:
        if self._client is None:
            async with self._connecting:
                if self._client is None:
                    self._client = await self._new_client()
        return self._client

    async def _new_client(self) -> Any:
        uri = self._uri()
        client_class = await asyncio.to_thread(import_client)
        return client_class(**client_options(self._settings, uri), grpc_options=GRPC_OPTIONS)

    async def _reconnect(self, lost: Any) -> Any:
        """A new client in place of `lost`, which others may be waiting on still: it is closed later."""
        if self._client is lost:
            self._client = None
            self._retired.append(lost)
            while len(self._retired) > MAX_RETIRED:
                await self._retired.pop(0).close()
        return await self._connect()


def client_options(settings: MilvusSettings, uri: str) -> dict[str, Any]:
    """How a client, of either kind, finds the server and proves who it is. TLS follows from an `https://` address."""
    options: dict[str, Any] = {
        "uri": uri,
        "token": settings.token,
        "db_name": settings.database,
        "timeout": CONNECT_TIMEOUT_S,
        "dedicated": True,
    }
    if settings.client_certificate:  # pymilvus takes the authority from this name only then
        options["ca_pem_path"] = settings.ca_file
        options["client_pem_path"] = settings.client_certificate
        options["client_key_path"] = settings.client_key
    elif settings.ca_file:
        options["server_pem_path"] = settings.ca_file
    return options


def import_client() -> Any:
    """The client's class; takes a second the first time."""
    from pymilvus import AsyncMilvusClient

    # pymilvus sets up its own logger at import, and logs a traceback for failures that we handle.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    return AsyncMilvusClient


def _run_synchronously(change: Callable[[Any], None], uri: str, settings: MilvusSettings) -> None:
    import grpc
    import pymilvus

    try:
        client = pymilvus.MilvusClient(**client_options(settings, uri))
        try:
            change(client)
        finally:
            client.close()
    except (pymilvus.MilvusException, grpc.RpcError, OSError) as error:
        raise _classified(error) from error


async def _translated(run: Callable[[Any], Awaitable[T]], client: Any) -> T:
    """`run(client)` with pymilvus' and gRPC's errors as ours."""
    import grpc
    from pymilvus import MilvusException

    try:
        return await run(client)
    except (MilvusException, grpc.RpcError, grpc.aio.UsageError, OSError) as error:
        raise _classified(error) from error


def _classified(error: Exception) -> Exception:
    code = getattr(error, "code", None)
    code = code() if callable(code) else code
    if code in MISSING_CODES:
        return MissingCollectionError(str(error))
    if code == RELEASED_CODE:
        return _ReleasedCollectionError(str(error))
    if isinstance(error, TimeoutError):
        return TimeoutError(str(error))
    name = getattr(code, "name", str(code))
    if name == "UNIMPLEMENTED":
        return NotSupportedError(str(error))
    if (
        code == CONNECT_FAILED_CODE
        or name in ("UNAVAILABLE", "CANCELLED")
        or isinstance(error, OSError)
    ):
        return _ConnectionLostError(str(error))
    if "UsageError" in type(error).__name__:  # the channel was closed under us
        return _ConnectionLostError(str(error))
    logger.warning("Milvus refused a call: %s", error)
    if getattr(error, "retriable", False):
        return _PassingError(str(error))
    if "no space left" in str(error).lower():
        return IndexUnavailableError(
            worded(
                "The disk of the search index is full; it continues by itself when there is space."
            )
        )
    return IndexUnavailableError()
