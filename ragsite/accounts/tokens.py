"""Tokens and keys for the API: made, listed and revoked by their owner."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from ragsite.accounts.auth import token_hash
from ragsite.core.errors import ConflictError, InvalidInputError, NotFoundError
from ragsite.core.messages import worded
from ragsite.models import ApiToken

TOKENS_PER_USER = 50  # API tokens; above, the one that was used least recently gives way
KEYS_PER_USER = 50
KEY_BYTES = 20
KEY_MARK = "rsk_"  # by which people, and scanners for secrets, tell an API key
PREFIX_CHARS = 8  # without the mark


class KeyNotFoundError(NotFoundError):
    """Not there, or another user's."""

    message = worded("There is no such API key, or it is not yours.")


class TooManyKeysError(ConflictError):
    code = "too_many_keys"
    message = worded("You have as many API keys as is allowed. Revoke one first.")


@transaction.atomic
def token_create(*, user: User, name: str = "") -> str:
    """The key, which is shown this once. Over the limit of tokens, the one that was used least recently gives way."""
    User.objects.select_for_update().get(pk=user.pk)  # one at a time, so that the limit holds
    least_recent = token_list(user=user).order_by(Coalesce("last_used_at", "created_at").desc())[
        TOKENS_PER_USER - 1 :
    ]
    ApiToken.objects.filter(pk__in=[token.pk for token in least_recent]).delete()
    key = secrets.token_hex(KEY_BYTES)
    ApiToken.objects.create(
        user=user, name=name, prefix=key[:PREFIX_CHARS], key_hash=token_hash(key)
    )
    return key


def token_list(*, user: User) -> QuerySet[ApiToken]:
    """The latest first."""
    return ApiToken.objects.filter(user=user, scopes=[])


def key_list(*, user: User) -> QuerySet[ApiToken]:
    """API keys, the latest first."""
    return ApiToken.objects.filter(user=user).exclude(scopes=[])


@transaction.atomic
def key_create(
    *,
    user: User,
    name: str,
    scopes: Sequence[str],
    collection_ids: Sequence[str] = (),
    expires_at: datetime | None = None,
    keeps_conversations: bool = False,
) -> tuple[ApiToken, str]:
    """The row and the key, which is shown this once. collection_ids: of those that the user may see.

    Raises InvalidInputError, TooManyKeysError.
    """
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidInputError(fields={"expires_at": [worded("Give a time in the future.")]})
    if collection_ids and ApiToken.Scope.REVIEW in scopes:
        raise InvalidInputError(
            fields={
                "collections": [
                    worded(
                        "The review desk covers all collections. Choose the desk or collections, not both."
                    )
                ]
            }
        )
    User.objects.select_for_update().get(pk=user.pk)
    if key_list(user=user).count() >= KEYS_PER_USER:
        raise TooManyKeysError
    key = f"{KEY_MARK}{secrets.token_hex(KEY_BYTES)}"
    row = ApiToken.objects.create(
        user=user,
        name=name,
        prefix=key[: len(KEY_MARK) + PREFIX_CHARS],
        key_hash=token_hash(key),
        scopes=[scope for scope in ApiToken.Scope.values if scope in scopes],
        collection_ids=list(collection_ids),
        expires_at=expires_at,
        keeps_conversations=keeps_conversations,
    )
    return row, key


def keys_revoke(*, user: User) -> int:
    """All API keys of the account. Returns how many."""
    return key_list(user=user).delete()[0]


def key_revoke(*, user: User, key_id: UUID) -> None:
    """What it opened ends within seconds. Raises KeyNotFoundError, also for a token."""
    deleted, _ = key_list(user=user).filter(pk=key_id).delete()
    if not deleted:
        raise KeyNotFoundError
