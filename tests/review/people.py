"""People of every role, and clients that are signed in as them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, User
from django.test import Client

from tests.factories import UserFactory

ROLES = ("Reviewers", "Curators", "Administrators")


def person(role: str = "", **fields: Any) -> User:
    """Staff in the group `role`; without one, staff alone."""
    user: User = UserFactory(**{"is_staff": True, **fields})
    if role:
        user.groups.add(Group.objects.get(name=role))
    return user


def client_of(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client
