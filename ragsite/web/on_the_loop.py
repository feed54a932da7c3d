"""Middleware of others that computes and waits for nothing, run where the request is: on the event loop.

Django hands every method of a middleware that is not async to a thread, twenty-two times for a request of ours; each
time costs more than what is done there. Six are left, beside what reads or writes the session's row: security, CSRF
and frame options stay Django's own, since `manage.py check --deploy` looks for them by name.
"""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.db import Error
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware import common, gzip, locale
from django.utils.deprecation import MiddlewareMixin
from django_prometheus import middleware as prometheus

from ragsite.models import LANGUAGE, THEME
from ragsite.web.language import account_choices_note, language_cookie_renew


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
    """With the account's language before the cookie's. A browser without a session is not asked for one."""

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        if _has_session(request):
            try:
                language, theme = await request.session.aget(LANGUAGE), await request.session.aget(THEME)
            except Error:  # the database is away: whoever needs it says so
                language, theme = None, None
            account_choices_note(request, language, theme)
        return await super().__acall__(request)

    def process_request(self, request: HttpRequest) -> None:
        if not self.async_mode and _has_session(request):
            try:
                language, theme = request.session.get(LANGUAGE), request.session.get(THEME)
            except Error:
                language, theme = None, None
            account_choices_note(request, language, theme)
        super().process_request(request)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        language_cookie_renew(request, response)
        return super().process_response(request, response)


def _has_session(request: HttpRequest) -> bool:
    return settings.SESSION_COOKIE_NAME in request.COOKIES


class CommonMiddleware(OnTheLoop, common.CommonMiddleware):
    pass


class GZipMiddleware(OnTheLoop, gzip.GZipMiddleware):
    """Pages alone, in which each secret is masked anew: neither streams, which must not wait, nor the API."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)


class AuthenticationMiddleware(OnTheLoop, auth.AuthenticationMiddleware):
    pass


class MessageMiddleware(OnTheLoop, messages.MessageMiddleware):
    def waits(self, request: HttpRequest) -> bool:
        """Messages that a cookie can't hold go into the session."""
        storage: Any = request._messages  # type: ignore[attr-defined]
        return bool(storage.used or storage.added_new)
