"""Tokens for the API: made, listed and revoked by their owner."""

from __future__ import annotations

import secrets
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from ragsite.accounts.auth import token_hash
from ragsite.core.errors import NotFoundError
from ragsite.core.wording import worded
from ragsite.models import ApiToken

TOKENS_PER_USER = 50  # API tokens; above, the one that was used least recently gives way

KEY_BYTES = 20
PREFIX_CHARS = 8


class TokenNotFoundError(NotFoundError):
    """Not there, or another user's."""

    message = worded("There is no such token, or it is not yours.")


@transaction.atomic
def token_create(*, user: User, name: str = "") -> str:
    """The key, which is shown this once. Over the limit of tokens, the one that was used least recently gives way."""
    User.objects.select_for_update().get(pk=user.pk)  # one at a time, so that the limit holds
    least_recent = token_list(user=user).order_by(Coalesce("last_used_at", "created_at").desc())[TOKENS_PER_USER - 1 :]
    ApiToken.objects.filter(pk__in=[token.pk for token in least_recent]).delete()
    key = secrets.token_hex(KEY_BYTES)
    ApiToken.objects.create(user=user, name=name, prefix=key[:PREFIX_CHARS], key_hash=token_hash(key))
    return key


def token_list(*, user: User) -> QuerySet[ApiToken]:
    """The latest first."""
    return ApiToken.objects.filter(user=user)


def token_revoke(*, user: User, token_id: UUID) -> None:
    """What it opened ends within seconds. Raises TokenNotFoundError."""
    deleted, _ = ApiToken.objects.filter(user=user, pk=token_id).delete()
    if not deleted:
        raise TokenNotFoundError
