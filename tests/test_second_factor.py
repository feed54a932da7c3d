"""Second factors: an app's codes, recovery codes; no door opens by the password alone."""

from __future__ import annotations

import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.clients import administrator, browser, client_of, is_in
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db


def code_of(secret: str) -> str:
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))


@pytest.fixture
def secret() -> str:
    return str(generate_totp_secret())


@pytest.fixture
def user_with_app(secret: str) -> User:
    """An account with an app and recovery codes."""
    user: User = UserFactory()
    TOTP.activate(user, secret)
    RecoveryCodes.activate(user)
    return user


def ask_token(user: User, **values: str) -> Any:
    body = {"username": user.username, "password": PASSWORD, **values}
    return Client().post("/api/auth/token", body, content_type="application/json")


def test_an_app_is_set_up_after_the_password_and_its_codes_open_the_door() -> None:
    user = UserFactory()
    client = browser(user)
    asked = client.get("/accounts/2fa/totp/activate/")
    assert asked.headers["Location"].startswith("/accounts/reauthenticate/")
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    form = client.get("/accounts/2fa/totp/activate/").context["form"]
    done = client.post("/accounts/2fa/totp/activate/", {"code": code_of(form.secret)})
    assert done.headers["Location"] == "/accounts/2fa/recovery-codes/"
    recovery = client.get("/accounts/2fa/recovery-codes/").context["unused_codes"]
    assert len(recovery) == 10
    for code, opens in ((code_of(form.secret), True), (recovery[0], True), (recovery[0], False)):
        again = browser(user)
        assert not is_in(again)
        again.post("/accounts/2fa/authenticate/", {"code": code})
        assert is_in(again) is opens


def test_the_password_alone_opens_no_door(user_with_app: User) -> None:
    client = browser(user_with_app)
    assert not is_in(client) and client.get("/api/documents").status_code in (401, 403)
    assert client.get("/accounts/2fa/totp/deactivate/").status_code == 302
    refused = ask_token(user_with_app)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "second_factor")
    assert not user_with_app.api_tokens.exists()


@pytest.mark.parametrize("with_recovery_codes", [False, True])
def test_where_a_passkey_is_the_second_factor_the_password_opens_no_door(
    with_recovery_codes: bool,
) -> None:
    user = UserFactory(is_staff=True, is_superuser=True)
    passkey = {"name": "key", "credential": {}}
    Authenticator.objects.create(user=user, type=Authenticator.Type.WEBAUTHN, data=passkey)
    if with_recovery_codes:
        RecoveryCodes.activate(user)
    client = browser(user)
    assert not is_in(client) and client.get("/admin/").status_code == 302
    body = {"name": "bot", "scopes": ["read"]}
    assert client.post("/api/keys", body, content_type="application/json").status_code == 401
    for code in ("", "000000"):
        assert ask_token(user, code=code).status_code == 403
    assert not user.api_tokens.exists()


def test_who_has_given_the_password_alone_makes_no_key(user_with_app: User) -> None:
    client = browser(user_with_app)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    answer = client.post(
        "/api/keys", {"name": "bot", "scopes": ["read"]}, content_type="application/json"
    )
    assert answer.status_code == 401 and client.get("/accounts/keys/new/").status_code == 302
    assert not user_with_app.api_tokens.exists()


def test_the_administration_asks_for_it_too(user_with_app: User, secret: str) -> None:
    User.objects.filter(pk=user_with_app.pk).update(is_staff=True, is_superuser=True)
    client = browser(user_with_app)
    assert client.get("/admin/").status_code == 302
    client.post("/accounts/2fa/authenticate/", {"code": code_of(secret)})
    assert client.get("/admin/").status_code == 200


def test_a_token_comes_by_password_and_code(user_with_app: User, secret: str) -> None:
    assert ask_token(user_with_app, code="000000").status_code == 403
    token = ask_token(user_with_app, code=code_of(secret)).json()["token"]
    assert (
        Client().get("/api/documents", headers={"Authorization": f"Token {token}"}).status_code
        == 200
    )


def test_who_does_not_know_the_password_does_not_learn_of_it(user_with_app: User) -> None:
    refused = ask_token(user_with_app, password="guess")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "bad_credentials")


def test_codes_cannot_be_guessed(user_with_app: User, secret: str) -> None:
    for _ in range(10):
        assert ask_token(user_with_app, code="000000").status_code == 403
    assert ask_token(user_with_app, code=code_of(secret)).status_code == 403
    client = browser(user_with_app)
    page = client.post("/accounts/2fa/authenticate/", {"code": code_of(secret)})
    assert page.status_code == 200 and not is_in(client)


def test_staff_take_it_away_from_who_has_lost_it_and_it_is_logged(user_with_app: User) -> None:
    administrator().post(
        "/admin/auth/user/",
        {"action": "take_second_factors", "_selected_action": [user_with_app.pk]},
    )
    assert is_in(browser(user_with_app))
    assert LogEntry.objects.filter(object_id=str(user_with_app.pk)).count() == 1


def test_only_an_administrator_takes_it_from_an_administrator(user_with_app: User) -> None:
    User.objects.filter(pk=user_with_app.pk).update(is_superuser=True)
    helper = UserFactory(is_staff=True)
    helper.user_permissions.add(
        *Permission.objects.filter(codename__in=["view_user", "change_user"])
    )
    client_of(helper).post(
        "/admin/auth/user/",
        {"action": "take_second_factors", "_selected_action": [user_with_app.pk]},
    )
    assert Authenticator.objects.filter(user=user_with_app).exists()


def test_secrets_of_second_factors_are_not_shown_in_the_administration() -> None:
    assert administrator().get("/admin/mfa/authenticator/").status_code == 404
