"""A site of the version before: its tokens and its signed-in browsers go on."""

from __future__ import annotations

import importlib
from datetime import timedelta

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone
from rest_framework.authtoken.models import Token

from ragsite.models import ApiToken
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
migration = importlib.import_module("ragsite.migrations.0002_carry_tokens_and_sessions_over")


def test_a_token_of_the_version_before_goes_on() -> None:
    old = Token.objects.create(user=UserFactory())
    migration.carry_tokens_over(apps, connection.schema_editor())
    assert Client().get("/api/auth/tokens", headers={"Authorization": f"Token {old.key}"}).status_code == 200
    assert ApiToken.objects.get().created_at == old.created and not Token.objects.exists()


def _session_of_the_version_before(user: User) -> str:
    """Signed in by Django's own session engine and backend."""
    store = SessionStore()
    store["_auth_user_id"] = str(user.pk)
    store["_auth_user_backend"] = "django.contrib.auth.backends.ModelBackend"
    store["_auth_user_hash"] = user.get_session_auth_hash()
    store.save()
    assert store.session_key
    return store.session_key


def test_a_browser_of_the_version_before_stays_signed_in(client: Client) -> None:
    client.cookies[settings.SESSION_COOKIE_NAME] = _session_of_the_version_before(UserFactory())
    migration.carry_sessions_over(apps, connection.schema_editor())
    assert client.get("/accounts/").status_code == 200


def test_expired_and_foreign_sessions_are_left_behind(client: Client) -> None:
    gone = UserFactory()
    keys = [_session_of_the_version_before(UserFactory()), _session_of_the_version_before(gone)]
    Session.objects.filter(pk=keys[0]).update(expire_date=timezone.now() - timedelta(seconds=1))
    gone.delete()
    migration.carry_sessions_over(apps, connection.schema_editor())
    for key in keys:
        client.cookies[settings.SESSION_COOKIE_NAME] = key
        assert client.get("/accounts/").status_code == 302
