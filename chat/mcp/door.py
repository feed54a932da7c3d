"""The ASGI application at `/mcp`: who comes in by a valid token or API key speaks with `chat.mcp.tools`.

Streamable HTTP without sessions: any process of the site answers any call.
"""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any
from weakref import WeakKeyDictionary

from django.conf import settings
from django.db import DatabaseError
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from chat.mcp.tools import server
from ragsite.accounts.auth import token_of_header
from ragsite.core.api.error_responses import as_app_error
from ragsite.core.database import database_call, own_database_thread
from ragsite.core.errors import AppError
from ragsite.core.messages import worded
from ragsite.web.handler import refusal

MOST_BYTES = 256 << 10  # of a call
SCHEMES = ("http", "https")


class NoKeyError(AppError):
    code = "not_authenticated"
    status = 401
    message = worded("Send a valid API key as `Authorization: Bearer …`.")


class NoStreamError(AppError):
    code = "method_not_allowed"
    status = 405
    message = worded("This address takes POST alone.")


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Nothing of a body is read before its sender is known. All calls into the database run in one thread.

    There is no GET, which would open a stream for messages of the server's own: it has none.
    """
    if scope["method"] != "POST":
        await _refuse(NoStreamError(), scope, send)
        return
    header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    async with own_database_thread():
        try:
            token = await database_call(token_of_header, header)
        except DatabaseError as error:
            if (refused := as_app_error(error)) is None:
                raise
        else:
            refused = None if token else NoKeyError()
        if refused is None:
            manager = await _manager()
            await manager.handle_request({**scope, "ragsite": token}, receive, send)
            return
        await _refuse(refused, scope, send)


async def _refuse(error: AppError, scope: dict[str, Any], send: Any) -> None:
    start, body = refusal(error, scope)
    if error.status == NoStreamError.status:
        start["headers"].append((b"allow", b"POST"))
    await send(start)
    await send({"type": "http.response.body", "body": body})


# ------------------------------------------------------------------------------------------------ the SDK's side
_running: WeakKeyDictionary[
    asyncio.AbstractEventLoop, asyncio.Task[StreamableHTTPSessionManager]
] = WeakKeyDictionary()
_lasting: set[asyncio.Task[None]] = set()


async def _manager() -> StreamableHTTPSessionManager:
    """The running loop's, begun by its first call; it ends with the loop."""
    loop = asyncio.get_running_loop()
    if loop not in _running:
        _running[loop] = loop.create_task(_begin(), context=contextvars.Context())
    return await asyncio.shield(_running[loop])


async def _begin() -> StreamableHTTPSessionManager:
    hosts = [form for host in settings.ALLOWED_HOSTS for form in (host, f"{host}:*")]
    origins = [f"{scheme}://{host}" for scheme in SCHEMES for host in hosts]
    server.streamable_http_app(
        stateless_http=True,
        max_request_body_size=MOST_BYTES,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[*origins, *settings.CSRF_TRUSTED_ORIGINS]
        ),
    )
    manager = server.session_manager
    begun = asyncio.Event()

    async def serve() -> None:
        async with manager.run():
            begun.set()
            await asyncio.Event().wait()  # until it is cancelled

    task = asyncio.create_task(serve())
    _lasting.add(task)
    task.add_done_callback(_lasting.discard)
    await begun.wait()
    return manager
