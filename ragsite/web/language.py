"""The language of who is at the other end of a call."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.utils import translation


def language_of(scope: Mapping[str, Any]) -> str:
    """The cookie of the language switch, else `Accept-Language`, of an ASGI scope."""
    return translation.get_language_from_request(ASGIRequest({"method": "GET", **scope}, io.BytesIO()))
