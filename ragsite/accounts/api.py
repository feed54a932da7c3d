"""`/api/auth/…`: tokens for programs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.accounts.tokens import token_create, token_list, token_revoke
from ragsite.core.api.fields import StrictSerializer, TextField, checked
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import worded
from ragsite.models import ApiToken


class BadCredentialsError(InvalidInputError):
    """The name, the password, or both are wrong; which one is not said."""

    code = "bad_credentials"
    message = worded("Username and password do not match; check both and try again.")


class TokenInput(StrictSerializer):
    username = TextField(max_length=150)
    password = TextField(max_length=1024, trim_whitespace=False)
    name = TextField(max_length=100, required=False, allow_blank=True, default="", help_text="What it is for.")


class TokenOutput(serializers.Serializer[Any]):
    token = serializers.CharField(help_text="The key. It is told this once.")


class TokenListItem(serializers.ModelSerializer[ApiToken]):
    class Meta:
        model = ApiToken
        fields = ["id", "name", "prefix", "created_at", "last_used_at"]
        read_only_fields = fields
        extra_kwargs = {
            "prefix": {"help_text": "The key's first characters."},
            "last_used_at": {"help_text": "To within five minutes; null: never."},
        }


class TokenApi(APIView):
    """A token for `Authorization: Token …`. It takes no session, so it needs no CSRF token."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        operation_id="auth_token",
        request=TokenInput,
        responses={200: TokenOutput, **errors(429)},
        auth=[],
        tags=["auth"],
    )
    def post(self, request: Request) -> Response:
        """A new token. Over 50 (by default) per account, the one that was used least recently gives way."""
        sent = checked(TokenInput, request.data)
        user = authenticate(request._request, username=sent["username"], password=sent["password"])
        if not isinstance(user, User):
            raise BadCredentialsError
        return Response({"token": token_create(user=user, name=sent["name"])})


class TokensApi(GenericAPIView[ApiToken]):
    queryset = ApiToken.objects.none()
    serializer_class = TokenListItem

    @extend_schema(operation_id="auth_tokens_list", responses=TokenListItem(many=True), tags=["auth"])
    def get(self, request: Request) -> Response:
        """Your tokens, the latest first. Keys are not told again."""
        page = self.paginate_queryset(token_list(user=asking_user(request)))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)


class TokenRevokeApi(APIView):
    @extend_schema(
        operation_id="auth_token_revoke",
        responses={204: OpenApiResponse(description="Revoked.")},
        tags=["auth"],
    )
    def delete(self, request: Request, token_id: UUID) -> Response:
        """Revoke one of your tokens; sockets and streams that it opened end within two seconds."""
        token_revoke(user=asking_user(request), token_id=token_id)
        return Response(status=204)
