"""Authentication by `Authorization: Token …` or `Authorization: Bearer …`, over HTTP and WebSocket."""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Mapping
from datetime import timedelta
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.asgi import ASGIRequest
from django.db import DatabaseError
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.authentication import TokenAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from ragsite.models import ApiToken

logger = logging.getLogger(__name__)

SCHEMES = (b"token", b"bearer")
USE_NOTED_EVERY = timedelta(minutes=5)  # so that reading with a token does not write each time


def token_hash(key: str) -> str:
    """What the database keeps of a key: its SHA-256, 64 hexadecimal digits."""
    return hashlib.sha256(key.encode()).hexdigest()


def token_of_header(header: bytes) -> ApiToken | None:
    """The valid token of an `Authorization` header, with its user; None for every other header. Notes the use."""
    scheme, _, key = header.strip().partition(b" ")
    if scheme.lower() not in SCHEMES or not key.strip().isascii():
        return None
    return _token_of_key(key.strip().decode())


def _token_of_key(key: str) -> ApiToken | None:
    tokens = ApiToken.objects.select_related("user").filter(key_hash=token_hash(key), user__is_active=True)
    token = tokens.first()
    now = timezone.now()
    if token and (token.last_used_at is None or now - token.last_used_at > USE_NOTED_EVERY):
        try:
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
        except DatabaseError as error:  # noting the use may fail; the call itself may still succeed
            logger.warning("the use of a token was not noted: %s", error)
    return token


def is_signed_in(scope: Mapping[str, Any]) -> bool:
    """Whether an ASGI request comes with a valid token or session, before Django has read it."""
    if header := next((value for name, value in scope["headers"] if name == b"authorization"), b""):
        return token_of_header(header) is not None
    request = ASGIRequest(dict(scope), io.BytesIO())
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    return bool(key) and get_user(request).is_authenticated


class TokenOrBearerAuthentication(TokenAuthentication):
    """Sets `request.auth` to the ApiToken."""

    keyword = "Token"

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        header = get_authorization_header(request)
        if header.lower().startswith(b"bearer "):
            try:
                return self.authenticate_credentials(header[7:].strip().decode())
            except UnicodeDecodeError:
                return self.authenticate_credentials("")
        return super().authenticate(request)

    def authenticate_credentials(self, key: str) -> tuple[Any, Any]:
        token = _token_of_key(key)
        if token is None:
            raise AuthenticationFailed(_("This token is not valid; ask for a new one."))
        return token.user, token
