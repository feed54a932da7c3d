"""The database calls of a request run in one thread, which is kept for the requests after it."""

from __future__ import annotations

from typing import Any

from ragsite.core.database import own_database_thread


class KeptDatabaseThread:
    """ASGI middleware around Django, whose handler would make a thread and a connection for each request."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        async with own_database_thread():
            await self._inner(scope, receive, send)
