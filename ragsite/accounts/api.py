"""`/api/auth/…`: tokens for programs; `/api/account/…`: what the account has chosen."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from allauth.account.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib.auth.models import User
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.accounts.adapters import may_sign_in
from ragsite.accounts.choices import account_of, choose
from ragsite.accounts.tokens import token_create, token_list, token_revoke
from ragsite.core.api.fields import StrictSerializer, TextField, checked
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.errors import InvalidInputError, PermissionDeniedError
from ragsite.core.wording import worded
from ragsite.models import Account, ApiToken


class BadCredentialsError(InvalidInputError):
    """The name, the password, or both are wrong; which one is not said."""

    code = "bad_credentials"
    message = worded("Username and password do not match; check both and try again.")


class SecondFactorError(PermissionDeniedError):
    """The password is right. Keys that hold no code, such as passkeys, can't be sent here."""

    code = "second_factor"
    message = worded("This account has a second factor: send a code of it, too, as `code`.")


class UnconfirmedError(PermissionDeniedError):
    code = "email_not_confirmed"
    message = worded("Confirm your e-mail address first: sign in on the site, and follow the link that is sent to it.")


class TokenInput(StrictSerializer):
    username = TextField(max_length=150)
    password = TextField(max_length=1024, trim_whitespace=False)
    code = TextField(
        max_length=20,
        required=False,
        allow_blank=True,
        default="",
        help_text="Of the authenticator app, or a recovery code, where the account has a second factor.",
    )
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
        responses={200: TokenOutput, **errors(403, 429)},
        auth=[],
        tags=["auth"],
    )
    def post(self, request: Request) -> Response:
        """A new token. Over 50 (by default) per account, the one that was used least recently gives way."""
        sent = checked(TokenInput, request.data)
        credentials = {"username": sent["username"], "password": sent["password"]}
        user = get_adapter(request._request).authenticate(request._request, **credentials)
        if not isinstance(user, User) or not user.is_active:
            raise BadCredentialsError
        if not may_sign_in(user):
            raise UnconfirmedError
        if is_mfa_enabled(user, [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]):
            _check_code(user, sent["code"])
        return Response({"token": token_create(user=user, name=sent["name"])})


def _check_code(user: User, code: str) -> None:
    """Guesses are counted. Raises SecondFactorError."""
    form = AuthenticateForm(user=user, data={"code": code})
    if not form.is_valid():
        raise SecondFactorError
    form.authenticator.record_usage()


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
        """Revoke one of your tokens; sockets and streams that it opened end within seconds."""
        token_revoke(user=asking_user(request), token_id=token_id)
        return Response(status=204)


class AccountSettingsInput(StrictSerializer):
    language = serializers.ChoiceField(choices=settings.LANGUAGES, required=False)
    theme = serializers.ChoiceField(choices=Account.Theme.choices, required=False)


class AccountSettingsOutput(serializers.Serializer[Any]):
    language = serializers.CharField(help_text="Empty: as the browser asks for.")
    theme = serializers.CharField(help_text="Empty: as each browser has it.")


class AccountSettingsApi(APIView):
    """What the account has chosen; all of its browsers follow, and its e-mails."""

    @extend_schema(operation_id="account_settings", responses=AccountSettingsOutput, tags=["account"])
    def get(self, request: Request) -> Response:
        return Response(_settings_data(account_of(asking_user(request))))

    @extend_schema(
        operation_id="account_settings_change",
        request=AccountSettingsInput,
        responses=AccountSettingsOutput,
        tags=["account"],
    )
    def patch(self, request: Request) -> Response:
        """Fields that are left out stay as they are."""
        sent = checked(AccountSettingsInput, request.data, partial=True)
        account = choose(
            user=asking_user(request),
            language=sent.get("language"),
            theme=sent.get("theme"),
            session=request.session if request.auth is None else None,
        )
        return Response(_settings_data(account))


def _settings_data(account: Account) -> dict[str, str]:
    return {"language": account.language, "theme": account.theme}
