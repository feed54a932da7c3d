"""The language and theme of a reader: of their account, else of the cookie, else as the browser asks for."""

from __future__ import annotations

from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware import locale
from django.utils import translation

from ragsite.models import LANGUAGE, THEME

THEMES = ("system", "light", "dark")


def language_of(scope: Mapping[str, Any]) -> str:
    """Of a WebSocket: the cookie of the language switch, else `Accept-Language`. The pages keep the cookie right."""
    headers = {name: value.decode("latin-1") for name, value in scope.get("headers", ())}
    request = HttpRequest()
    request.META["HTTP_ACCEPT_LANGUAGE"] = headers.get(b"accept-language", "")
    try:
        cookies = SimpleCookie(headers.get(b"cookie", ""))
    except CookieError:
        cookies = SimpleCookie()
    if chosen := cookies.get(settings.LANGUAGE_COOKIE_NAME):
        request.COOKIES[settings.LANGUAGE_COOKIE_NAME] = chosen.value
    return translation.get_language_from_request(request)


class LocaleMiddleware(locale.LocaleMiddleware):
    """With the account's language before the cookie's. A browser without a session is not asked for one."""

    def process_request(self, request: HttpRequest) -> None:
        cookie = settings.LANGUAGE_COOKIE_NAME
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            try:
                language, theme = request.session.get(LANGUAGE), request.session.get(THEME)
            except DatabaseError:  # it is away: whoever needs it says so
                language, theme = None, None
            request.account_theme = theme if theme in THEMES else ""  # type: ignore[attr-defined]
            if language in dict(settings.LANGUAGES) and request.COOKIES.get(cookie) != language:
                request.COOKIES[cookie] = language  # as if this browser had sent it
                request.account_language = language  # type: ignore[attr-defined]
        super().process_request(request)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """The cookie is renewed where the account's language is another: this browser's sockets read it."""
        language = getattr(request, "account_language", None)
        if language and settings.LANGUAGE_COOKIE_NAME not in response.cookies:
            response.set_cookie(
                settings.LANGUAGE_COOKIE_NAME,
                language,
                max_age=settings.LANGUAGE_COOKIE_AGE,
                secure=bool(settings.LANGUAGE_COOKIE_SECURE),
                httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
                samesite="Lax",
            )
        return super().process_response(request, response)
