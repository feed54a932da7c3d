"""The one place that every checked password passes, with its request: sign-in page, administration, token API."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import BaseBackend, ModelBackend
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from ragsite.accounts.sign_in_limits import attempt_begin


class SignInBackend(BaseBackend):
    """Django's ModelBackend behind the limits on guessing. It comes first; ModelBackend itself answers permissions."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """Raises TooManyAttemptsError; PermissionDenied for a wrong password: no other backend is to try it."""
        if request is None or username is None or password is None:
            return None  # called by the site's own code, not by a visitor
        attempt = attempt_begin(request, username=username)
        user = ModelBackend().authenticate(request, username=username, password=password)
        if not isinstance(user, User):
            raise PermissionDenied
        attempt.succeeded(user)
        return user

    def get_user(self, user_id: Any) -> User | None:
        user = ModelBackend().get_user(user_id)
        return user if isinstance(user, User) else None
