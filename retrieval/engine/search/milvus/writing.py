"""The right to write: one writer of a space at a time, across processes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class WriteRight(Protocol):
    """What the holder of the writer lock has in hand."""

    async def aensure(self) -> None:
        """Right before each write. Raises what its lock turns into IndexUnavailableError, once the lock is lost."""
        ...


WriterLock = Callable[[str], AbstractAsyncContextManager[WriteRight]]


class _OnlyWriter:
    async def aensure(self) -> None:
        """Holds no lock: no other writer exists."""


@contextlib.asynccontextmanager
async def only_writer(space_key: str) -> AsyncIterator[WriteRight]:
    """The writer lock for a collection whose name nobody else knows."""
    yield _OnlyWriter()
