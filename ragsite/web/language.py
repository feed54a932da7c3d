"""The language of who is at the other end of a WebSocket."""

from __future__ import annotations

from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation


def language_of(scope: Mapping[str, Any]) -> str:
    """The cookie of the language switch, else `Accept-Language`."""
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
