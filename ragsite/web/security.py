"""The Content-Security-Policy header: pages load nothing from elsewhere and run no inline script."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse

POLICY: dict[str, tuple[str, ...]] = {
    "default-src": ("'self'",),
    "script-src": ("'self'",),
    "style-src": ("'self'",),
    "img-src": ("'self'", "data:"),
    "font-src": ("'self'",),
    "connect-src": ("'self'",),
    "object-src": ("'none'",),
    "base-uri": ("'self'",),
    "form-action": ("'self'",),
    "frame-ancestors": ("'none'",),
}
EXCEPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    # Swagger UI writes style attributes while it draws; its scripts are files of ours.
    "/api/docs": {"style-src": ("'self'", "'unsafe-inline'")},
    # django-celery-beat's form for a periodic task explains its crontab with a script of its template. Staff only.
    "/admin/django_celery_beat/periodictask/": {"script-src": ("'self'", "'unsafe-inline'")},
}


def policy_for(request: HttpRequest) -> str:
    """The header's value for this address."""
    policy = dict(POLICY)
    for prefix, rules in EXCEPTIONS.items():
        if request.path.startswith(prefix):
            policy.update(rules)
    policy["connect-src"] += _sockets(request)
    return "; ".join(" ".join((name, *values)) for name, values in policy.items())


def _sockets(request: HttpRequest) -> tuple[str, ...]:
    """The site's own WebSocket address: not every browser counts it as 'self'."""
    try:
        host = request.get_host()
    except DisallowedHost:
        return ()
    return (f"{'wss' if request.is_secure() else 'ws'}://{host}",)


class ContentSecurityPolicyMiddleware:
    """Sets the header unless the view has set its own."""

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
        return self._with_header(request, self.get_response(request))

    async def _acall(self, request: HttpRequest) -> HttpResponse:
        return self._with_header(request, await self.get_response(request))

    @staticmethod
    def _with_header(request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response.headers.setdefault("Content-Security-Policy", policy_for(request))
        return response
