"""The language and theme of a reader: of their account, else of the cookie, else as the browser asks for."""

from __future__ import annotations

from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation

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


def account_choices_note(request: HttpRequest, language: Any, theme: Any) -> None:
    """What the account says comes before the cookie: as if this browser had sent it."""
    request.account_theme = theme if theme in THEMES else ""  # type: ignore[attr-defined]
    if language in dict(settings.LANGUAGES) and request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME) != language:
        request.COOKIES[settings.LANGUAGE_COOKIE_NAME] = language
        request.account_language = language  # type: ignore[attr-defined]


def language_cookie_renew(request: HttpRequest, response: HttpResponseBase) -> None:
    """Where the account's language was another than the cookie's: this browser's sockets read the cookie."""
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
