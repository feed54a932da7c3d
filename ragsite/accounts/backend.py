"""Checks names and passwords, for all doors: allauth's own backend, but for names that differ in case alone."""

from __future__ import annotations

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User


class SignInBackend(AuthenticationBackend):
    """allauth takes a name in any case, and where two accounts have it so, neither: the one spelt so comes first."""

    def _authenticate_by_username(self, username: str, password: str) -> AbstractBaseUser | None:
        exact = User.objects.filter(username=username).first()
        if exact is not None:
            return self._check_password(exact, password)
        return super()._authenticate_by_username(username, password)
