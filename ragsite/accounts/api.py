"""`/api/auth/…`: tokens for programs."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.accounts.adapters import may_sign_in
from ragsite.accounts.tokens import token_create
from ragsite.core.api.fields import StrictSerializer, TextField, checked
from ragsite.core.api.rendering import rendered
from ragsite.core.api.schema import errors
from ragsite.core.errors import InvalidInputError, PermissionDeniedError
from ragsite.core.messages import worded


class BadCredentialsError(InvalidInputError):
    """The name, the password, or both are wrong; the answer does not tell which."""

    code = "bad_credentials"
    message = worded("Username and password do not match; check both and try again.")


class SecondFactorError(PermissionDeniedError):
    """The password is right. Keys that hold no code, such as passkeys, can't be sent here."""

    code = "second_factor"
    message = worded("This account has a second factor. Send its code as `code`, too.")


class UnconfirmedError(PermissionDeniedError):
    code = "email_not_confirmed"
    message = worded(
        "Confirm your e-mail address first: sign in on the site, and follow the link that is sent to it."
    )


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
    name = TextField(
        max_length=100, required=False, allow_blank=True, default="", help_text="What it is for."
    )


class TokenOutput(serializers.Serializer[Any]):
    token = serializers.CharField(help_text="The key. It is told this once.")


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
        token = token_create(user=user, name=sent["name"])
        return Response(rendered(TokenOutput, {"token": token}))


def _check_code(user: User, code: str) -> None:
    """Guesses are counted. Raises SecondFactorError."""
    form = AuthenticateForm(user=user, data={"code": code})
    if not form.is_valid():
        raise SecondFactorError
    form.authenticator.record_usage()
