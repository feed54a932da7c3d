"""`/api/keys`: a person's API keys. No key opens it (`scope`): a key can't make others, nor can a token."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from allauth.account.decorators import reauthentication_required
from allauth.core.exceptions import ReauthenticationRequired
from django.http import HttpRequest
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.accounts.auth import ScopeError
from ragsite.accounts.tokens import key_create, key_list, key_revoke
from ragsite.core.api.fields import (
    DateTimeField,
    FlagField,
    ListField,
    StrictSerializer,
    TextField,
    checked,
)
from ragsite.core.api.pagination import Pages, page_of, page_parameters
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.errors import PermissionDeniedError
from ragsite.core.messages import worded
from ragsite.models import ApiToken
from retrieval.knowledge.api.collection_fields import ADDRESS, MAX_NAMES
from retrieval.knowledge.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.knowledge.scopes import scope_for
from retrieval.knowledge.selectors import collection_addresses


class NotAskedAgainError(PermissionDeniedError):
    """As on the page: a session that was left open makes nothing that outlives it."""

    code = "reauthentication_required"
    message = worded(
        "Confirm that it is you at /accounts/reauthenticate/, in the same session; then make the key."
    )


@reauthentication_required
def _was_asked_again(request: HttpRequest) -> None: ...


class KeyInputSerializer(StrictSerializer):
    name = TextField(max_length=100, help_text="What it is for.")
    scopes = ListField(
        child=serializers.ChoiceField(ApiToken.Scope.choices),
        allow_empty=False,
        max_length=len(ApiToken.Scope),
    )
    collections = ListField(
        child=TextField(max_length=MAX_ADDRESS_CHARS, help_text=ADDRESS),
        required=False,
        max_length=MAX_NAMES,
        help_text="The only ones that it sees. None: all that you see.",
    )
    expires_at = DateTimeField(
        required=False, allow_null=True, help_text="In the future; null: when it is revoked."
    )
    keeps_conversations = FlagField(
        required=False,
        default=False,
        help_text="Keep what is asked at /v1 and /mcp in your history.",
    )


class KeySerializer(serializers.Serializer[Any]):
    """Without the key itself, which is not stored in a form that could be read."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    prefix = serializers.CharField(help_text="How the key begins.")
    scopes = serializers.ListField(child=serializers.ChoiceField(ApiToken.Scope.choices))
    collections = serializers.SerializerMethodField(
        help_text="Addresses, or the id of one that is gone."
    )
    keeps_conversations = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="To the minute.")
    expires_at = serializers.DateTimeField(allow_null=True)

    def get_collections(self, key: ApiToken) -> list[str]:
        addresses = collection_addresses(key.collection_ids)
        return [addresses.get(row_id, row_id) for row_id in key.collection_ids]


class NewKeySerializer(KeySerializer):
    key = serializers.CharField(help_text="It is told this once.")


class KeysApi(APIView):
    scope = ""

    @extend_schema(
        operation_id="keys_list",
        parameters=page_parameters(Pages),
        responses={200: page_of("KeyPage", KeySerializer(many=True))},
        tags=["auth"],
    )
    def get(self, request: Request) -> Response:
        """Your API keys, the latest first."""
        rows = key_list(user=asking_user(request))
        return Pages().answer(rows, self, lambda page: KeySerializer(page, many=True).data)

    @extend_schema(
        operation_id="keys_create",
        request=KeyInputSerializer,
        responses={201: NewKeySerializer, **errors(409)},
        tags=["auth"],
    )
    def post(self, request: Request) -> Response:
        """A new key for `Authorization: Bearer …`, for people who are signed in on the site and have just given the
        password once more. Signing out everywhere and a new password leave it alone."""
        if request.auth is not None:
            raise ScopeError(worded("Sign in on the site to make a key; a token can't make one."))
        try:
            _was_asked_again(request._request)
        except ReauthenticationRequired as error:
            raise NotAskedAgainError from error
        user = asking_user(request)
        sent = checked(KeyInputSerializer, request.data)
        names = sent.pop("collections", ())
        bound = scope_for(user=user, names=names).ids if names else ()
        key, secret = key_create(user=user, collection_ids=bound, **sent)
        return Response({**KeySerializer(key).data, "key": secret}, status=201)


class KeyApi(APIView):
    scope = ""

    @extend_schema(operation_id="keys_delete", responses={204: None}, tags=["auth"])
    def delete(self, request: Request, key_id: UUID) -> Response:
        """Revoke it. What it has open ends within seconds."""
        key_revoke(user=asking_user(request), key_id=key_id)
        return Response(status=204)
