"""Middleware of others that computes and waits for nothing, run where the request is: on the event loop.

Django hands every method of a middleware that is not async to a thread, twenty-two times for a request of ours; each
time costs more than what is done there. Six are left, beside what reads or writes the session's row: security, CSRF
and frame options stay Django's own, since `manage.py check --deploy` looks for them by name.
"""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware import common, locale
from django.utils.deprecation import MiddlewareMixin
from django_prometheus import middleware as prometheus


class OnTheLoop(MiddlewareMixin):
    """Put before the middleware's own class. Under a synchronous server nothing changes."""

    def waits(self, request: HttpRequest) -> bool:
        """Whether `process_response` may have to wait for the database."""
        return False

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        own: Any = self
        response = own.process_request(request) if hasattr(own, "process_request") else None
        response = response or await own.get_response(request)
        if not hasattr(own, "process_response"):
            return response
        if self.waits(request):
            response = await sync_to_async(own.process_response)(request, response)
        else:
            response = own.process_response(request, response)
        return response


class PrometheusBeforeMiddleware(OnTheLoop, prometheus.PrometheusBeforeMiddleware):
    pass


class PrometheusAfterMiddleware(OnTheLoop, prometheus.PrometheusAfterMiddleware):
    async def process_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return super().process_view(request, *args, **kwargs)


class SessionMiddleware(OnTheLoop, sessions.SessionMiddleware):
    def waits(self, request: HttpRequest) -> bool:
        return request.session.modified


class LocaleMiddleware(OnTheLoop, locale.LocaleMiddleware):
    pass


class CommonMiddleware(OnTheLoop, common.CommonMiddleware):
    pass


class AuthenticationMiddleware(OnTheLoop, auth.AuthenticationMiddleware):
    pass


class MessageMiddleware(OnTheLoop, messages.MessageMiddleware):
    def waits(self, request: HttpRequest) -> bool:
        """Messages that a cookie can't hold go into the session."""
        storage: Any = request._messages  # type: ignore[attr-defined]
        return bool(storage.used or storage.added_new)
