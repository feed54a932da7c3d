"""`EMAIL_URL`: one address in place of the seven settings that Django has for sending e-mail."""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

CONSOLE = "console:"
BACKENDS = {
    "console": "django.core.mail.backends.console.EmailBackend",
    "smtp": "django.core.mail.backends.smtp.EmailBackend",
    "smtps": "django.core.mail.backends.smtp.EmailBackend",
}
PORTS = {"smtp": 587, "smtps": 465}
TIMEOUT_S = 20  # of connecting, and of each answer of the mail server
WRONG = "is not console:, smtp://user:password@host:587 or smtps://user:password@host:465"


def email_settings(url: str) -> dict[str, Any]:
    """Django's settings by name.

    console: letters are written to the log of the worker. smtp: STARTTLS, unless the address ends in `?tls=0`.
    smtps: TLS from the beginning. A character of user or password that means something in an address is written as %40
    and the like. Raises ValueError, whose message does not hold the address.
    """
    parts = _parts(url or CONSOLE)
    values: dict[str, Any] = {"EMAIL_BACKEND": BACKENDS[parts.scheme], "EMAIL_TIMEOUT": TIMEOUT_S}
    if parts.scheme == "console":
        return values
    return values | {
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or PORTS[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_USE_TLS": parts.scheme == "smtp" and parts.query != "tls=0",
    }


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        query, port = parse_qs(parts.query, strict_parsing=bool(parts.query)), parts.port
    except ValueError:
        raise ValueError(WRONG) from None
    is_server = parts.scheme in PORTS and bool(parts.hostname) and parts.path in ("", "/") and port != 0
    if not (is_server or url == CONSOLE) or query not in ({}, {"tls": ["0"]}, {"tls": ["1"]}):
        raise ValueError(WRONG)
    return parts
