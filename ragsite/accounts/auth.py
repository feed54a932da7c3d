"""Authentication by `Authorization: Token …` or `Authorization: Bearer …`, over HTTP and WebSocket; what a key may do.

A key's user carries it (`key_of`). Its scopes are checked by `require_scope`, which each door calls once; the
collections that it is bound to are part of the queries (`retrieval.knowledge.selectors`, `chat.selectors`).
"""

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
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.authentication import TokenAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from ragsite.core.errors import PermissionDeniedError
from ragsite.core.messages import worded
from ragsite.models import ApiToken

logger = logging.getLogger(__name__)

SCHEMES = (b"token", b"bearer")
USE_NOTED_EVERY = timedelta(minutes=1)  # so that reading with a token does not write each time


def token_hash(key: str) -> str:
    """What the database keeps of a key: its SHA-256, 64 hexadecimal digits."""
    return hashlib.sha256(key.encode()).hexdigest()


def valid_tokens() -> QuerySet[ApiToken]:
    """Those that have not expired, of accounts that are open."""
    unexpired = Q(expires_at=None) | Q(expires_at__gt=Now())
    return ApiToken.objects.filter(unexpired, user__is_active=True)


def token_of_header(header: bytes) -> ApiToken | None:
    """The valid token of an `Authorization` header, with its user; None for every other header. Notes the use."""
    scheme, _, key = header.strip().partition(b" ")
    if scheme.lower() not in SCHEMES or not key.strip().isascii():
        return None
    token = (
        valid_tokens()
        .select_related("user")
        .filter(key_hash=token_hash(key.strip().decode()))
        .first()
    )
    if token is None:
        return None
    token.user.api_key = token if token.scopes else None  # type: ignore[attr-defined]
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > USE_NOTED_EVERY:
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

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        header = get_authorization_header(request)
        if header.partition(b" ")[0].lower() not in SCHEMES:
            return None
        token = token_of_header(header)
        if token is None:
            raise AuthenticationFailed(_("This token is not valid; ask for a new one."))
        return token.user, token


# ------------------------------------------------------------------------------------------------ what a key may do
class ScopeError(PermissionDeniedError):
    """403: the key is valid, but not for this."""

    code = "scope_missing"
    message = worded("An API key can't be used for this; sign in, or use a token.")


def key_of(user: Any) -> ApiToken | None:
    """The API key by which `user` came in; None for a session and for the token of a sign-in."""
    return getattr(user, "api_key", None)


def bound_to(user: Any) -> list[str] | None:
    """Ids of the only collections that the user's key sees; None: it is bound to none, or there is no key."""
    key = key_of(user)
    return key.collection_ids or None if key else None


def require_scope(user: Any, scope: str) -> None:
    """Raises ScopeError where the user came in by a key that has not this scope; `""`: where by any key."""
    key = key_of(user)
    if key is None or scope in key.scopes:
        return
    if not scope:
        raise ScopeError
    raise ScopeError(
        worded("This API key lacks the scope “{scope}”; create one that has it.", scope=scope)
    )


class KeyHasScope(BasePermission):
    """A view names the scope that its calls need, `scope`, and where those that change something need another one,
    `scope_to_change`. Without a scope no key opens it."""

    def has_permission(self, request: Request, view: Any) -> bool:
        scope = getattr(view, "scope", "")
        if request.method not in SAFE_METHODS:
            scope = getattr(view, "scope_to_change", scope)
        require_scope(request.user, scope)
        return True
