"""The forms of accounts. Too many guesses are an error of the form, as a wrong password is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, UserCreationForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _

from ragsite.accounts.sign_in_limits import attempt_begin, sign_up_count, sign_up_remember
from ragsite.core.errors import RateLimitedError
from ragsite.core.localized import localized


@contextmanager
def _refusal_as_form_error() -> Iterator[None]:
    try:
        yield
    except RateLimitedError as error:
        raise ValidationError(localized(error.message), code=error.code) from error


class SignInForm(AuthenticationForm):
    """Of the sign-in page."""

    def clean(self) -> dict[str, Any]:
        with _refusal_as_form_error():
            return super().clean()


class AdminSignInForm(AdminAuthenticationForm):
    """Of the administration."""

    def clean(self) -> dict[str, Any]:
        with _refusal_as_form_error():
            return super().clean()


class SignUpForm(UserCreationForm):
    """Of a new account; accounts made from one address are counted."""

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request = request

    def save(self, commit: bool = True) -> User:
        """Raises ValidationError where too many were made from this address, or the name was taken a moment ago."""
        with _refusal_as_form_error():
            sign_up_count(self._request)
        try:
            with transaction.atomic():
                user: User = super().save(commit=commit)
                if commit:
                    sign_up_remember(self._request, user)
                return user
        except IntegrityError as error:
            raise ValidationError({"username": _("A user with that username already exists.")}) from error


class ChangePasswordForm(PasswordChangeForm):
    """Guesses of the old password are counted too: somebody else may sit at an open browser."""

    old_password: forms.Field

    def __init__(self, user: User, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        self._request = request

    def clean_old_password(self) -> str:
        with _refusal_as_form_error():
            attempt = attempt_begin(self._request, username=self.user.get_username())
        old_password = super().clean_old_password()
        attempt.succeeded(self.user)
        return old_password
