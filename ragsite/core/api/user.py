"""The signed-in user behind a request, of REST framework or of Django alone."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request


def asking_user(request: Request | HttpRequest) -> User:
    """For views that let only signed-in users through. Raises NotAuthenticated should one not be."""
    if not isinstance(request.user, User):
        raise NotAuthenticated
    return request.user
