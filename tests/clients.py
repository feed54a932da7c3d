"""People of every role, and clients that are signed in as them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, User
from django.test import Client
from rest_framework.test import APIClient

from tests.factories import PASSWORD, UserFactory

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


def administrator() -> Client:
    return client_of(UserFactory(is_superuser=True))


def api_of(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


def browser(user: User, **options: Any) -> Client:
    """After the password was given on the page."""
    client = Client(**options)
    client.post("/accounts/login/", {"username": user.username, "password": PASSWORD})
    return client


def sure(user: User) -> Client:
    """The same, and the password was given once more."""
    client = browser(user)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    return client


def is_in(client: Client) -> bool:
    return client.get("/accounts/").status_code == 200
