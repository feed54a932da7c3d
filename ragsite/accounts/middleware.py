"""What the limits on guessing tell the client: status 429 with Retry-After, and the cookie of a known browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from ragsite.accounts.sign_in_limits import DEVICE_COOKIE, NEW_DEVICE, ORIGIN_KEPT, WAIT_S


class SignInLimitsMiddleware:
    """A form that was refused is shown with its error, as always; only its status and a header come from here."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
        if self._is_async:
            return self._acall(request)
        return _with_headers(request, self.get_response(request))

    async def _acall(self, request: HttpRequest) -> HttpResponse:
        return _with_headers(request, await self.get_response(request))


def _with_headers(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if wait_s := request.META.get(WAIT_S):
        response.status_code = 429
        response["Retry-After"] = str(wait_s)
    if device := request.META.get(NEW_DEVICE):
        response.set_cookie(
            DEVICE_COOKIE,
            device,
            max_age=ORIGIN_KEPT,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response
