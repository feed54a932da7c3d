"""Whose request something is done for, known to what is far from it: the log of what administrators change."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.utils.decorators import sync_and_async_middleware

acting_request: ContextVar[HttpRequest | None] = ContextVar("acting_request", default=None)


@sync_and_async_middleware
def remember_request(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware. Nobody is looked up: `request.user` is read by whoever needs it, after REST framework has put there
    the owner of a key."""
    if iscoroutinefunction(get_response):

        async def remember_async(request: HttpRequest) -> Any:
            token = acting_request.set(request)
            try:
                return await get_response(request)
            finally:
                acting_request.reset(token)

        return remember_async

    def remember(request: HttpRequest) -> Any:
        token = acting_request.set(request)
        try:
            return get_response(request)
        finally:
            acting_request.reset(token)

    return remember
