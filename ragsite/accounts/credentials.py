"""Open connections end with what they were opened with: a browser's session, or a token.

A request is checked once, when it comes; a socket or a stream stays open for hours. So each process looks once a second
whether the sessions and tokens of all its open connections are still there: two queries, however many connections.
They end within two seconds of a sign-out, a changed password, a revoked token, a deactivated or deleted account.
While the database is away they stay open, and are checked when it is back.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async
from django.db import Error, connection
from django.utils import timezone

from ragsite.core.database import own_database_thread
from ragsite.core.errors import AppError
from ragsite.core.wording import worded
from ragsite.models import AccountSession, ApiToken

logger = logging.getLogger(__name__)

CHECK_EVERY_S = 1.0
KEYS_PER_QUERY = 500
Item = TypeVar("Item")
Ended = asyncio.Future[None]


class SignedOutError(AppError):
    """The session or token of an open connection has ended."""

    code = "not_authenticated"
    status = 401
    message = worded("You have been signed out; sign in again.")


@dataclass(frozen=True, slots=True)
class Credential:
    """What a connection was opened with. password: the account's stored hash as it was then; a session ends with it."""

    session_key: str = ""
    password: str = field(default="", repr=False)
    token_id: UUID | None = None


def credential_of(*, user: Any, auth: Any, session: Any) -> Credential | None:
    """`auth`: an ApiToken, or None where the session's cookie was used. None: there is nothing that could end."""
    if isinstance(auth, ApiToken):
        return Credential(token_id=auth.pk)
    if session is not None and session.session_key and user.is_authenticated:
        return Credential(session_key=session.session_key, password=user.password)
    return None


def credential_of_request(request: Any) -> Credential | None:
    """Of a REST framework request."""
    return credential_of(user=request.user, auth=request.auth, session=getattr(request, "session", None))


def credential_of_scope(scope: Mapping[str, Any]) -> Credential | None:
    """Of a WebSocket's scope with its `user`, and its `token` or `session`."""
    return credential_of(user=scope["user"], auth=scope.get("token"), session=scope.get("session"))


# ------------------------------------------------------------------------------------------------ for connections
@contextmanager
def watched(credential: Credential) -> Iterator[Ended]:
    """A future that is done once the credential has ended."""
    checker = _checker()
    ended = checker.add(credential)
    try:
        yield ended
    finally:
        checker.remove(credential, ended)


async def while_signed_in(events: AsyncIterator[Item], credential: Credential | None) -> AsyncIterator[Item]:
    """The events, as long as the credential holds. Raises SignedOutError, also in the middle of waiting for one."""
    try:
        if credential is None:
            async for event in events:
                yield event
            return
        with watched(credential) as ended:
            while True:
                try:
                    event = await _unless(ended, anext(events))
                except StopAsyncIteration:
                    return
                yield event
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()


async def unless_signed_out(work: Awaitable[Item], credential: Credential | None) -> Item:
    """What the work gives. Raises SignedOutError when the credential ends before."""
    if credential is None:
        return await work
    with watched(credential) as ended:
        return await _unless(ended, work)


async def _unless(ended: Ended, work: Awaitable[Item]) -> Item:
    """In the caller's own task, which is interrupted as `asyncio.timeout` does it: this runs for every event."""
    task = asyncio.current_task()
    assert task is not None
    waiting, interrupted, before = True, False, task.cancelling()

    def interrupt(_: Ended) -> None:
        nonlocal interrupted
        if waiting:  # what is scheduled can't be taken back
            interrupted = True
            task.cancel()

    ended.add_done_callback(interrupt)
    try:
        item = await work
    except asyncio.CancelledError:
        if interrupted and task.uncancel() <= before:
            raise SignedOutError from None
        raise
    finally:
        waiting = False
        ended.remove_done_callback(interrupt)
    if interrupted:  # the work had its result at the same moment, and passed the cancellation over
        task.uncancel()
    if ended.done():
        raise SignedOutError
    return item


# ------------------------------------------------------------------------------------------------ the check
class _Checker:
    """Looks after the open connections of one event loop, for as long as there are any."""

    def __init__(self) -> None:
        self._open: dict[Credential, set[Ended]] = {}
        self._task: asyncio.Task[None] | None = None
        self._failing = False

    def add(self, credential: Credential) -> Ended:
        ended: Ended = asyncio.get_running_loop().create_future()
        self._open.setdefault(credential, set()).add(ended)
        if self._task is None:
            # A fresh context: the database thread of the request ends with the request.
            self._task = asyncio.create_task(self._run(), context=contextvars.Context())
            _tasks.add(self._task)
            self._task.add_done_callback(_tasks.discard)
        return ended

    def remove(self, credential: Credential, ended: Ended) -> None:
        waiting = self._open[credential]
        waiting.discard(ended)
        if not waiting:
            del self._open[credential]
        if not self._open and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        await asyncio.sleep(CHECK_EVERY_S)  # most connections are closed before: they cost no thread
        async with own_database_thread():
            while True:
                await self._check()
                await asyncio.sleep(CHECK_EVERY_S)

    async def _check(self) -> None:
        held = tuple(self._open)
        try:
            valid = await sync_to_async(_valid)(held)
        except Error as error:
            if not self._failing:
                logger.warning("open connections cannot be checked and stay open; trying on: %s", error)
            self._failing = True
            return
        self._failing = False
        for credential in held:
            if credential not in valid:
                for ended in self._open.get(credential, ()):
                    if not ended.done():
                        ended.set_result(None)


_checkers: WeakKeyDictionary[asyncio.AbstractEventLoop, _Checker] = WeakKeyDictionary()
_tasks: set[asyncio.Task[None]] = set()  # asyncio itself holds them weakly


def _checker() -> _Checker:
    return _checkers.setdefault(asyncio.get_running_loop(), _Checker())


def _valid(held: Collection[Credential]) -> set[Credential]:
    """Those that still hold. Raises django.db.Error; the connection is closed then, and the next call makes one."""
    try:
        passwords = _passwords_of_sessions([item.session_key for item in held if item.token_id is None])
        tokens = _tokens_there([item.token_id for item in held if item.token_id is not None])
    except Error:
        connection.close()
        raise
    sessions = {item for item in held if item.token_id is None and passwords.get(item.session_key) == item.password}
    return sessions | {item for item in held if item.token_id in tokens}


def _passwords_of_sessions(keys: list[str]) -> dict[str, str]:
    """Key of each session that still holds → the stored password hash of its account."""
    passwords: dict[str, str] = {}
    for start in range(0, len(keys), KEYS_PER_QUERY):
        sessions = AccountSession.objects.filter(
            session_key__in=keys[start : start + KEYS_PER_QUERY],
            expire_date__gt=timezone.now(),
            account__is_active=True,
        )
        passwords.update(sessions.values_list("session_key", "account__password"))
    return passwords


def _tokens_there(ids: list[UUID]) -> set[UUID]:
    there: set[UUID] = set()
    for start in range(0, len(ids), KEYS_PER_QUERY):
        tokens = ApiToken.objects.filter(pk__in=ids[start : start + KEYS_PER_QUERY], user__is_active=True)
        there.update(tokens.values_list("pk", flat=True))
    return there
