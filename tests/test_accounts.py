"""Signing in and up, safe redirects, and tokens."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from ragsite.accounts.auth import token_hash
from ragsite.models import ApiToken
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db
NEW = {"username": "mei", "password1": PASSWORD, "password2": PASSWORD}


def ask_token(client: Client, body: Any) -> Any:
    return client.post("/api/auth/token", body, content_type="application/json")


@pytest.mark.parametrize(
    "name", ["mei", "王小明", "a" * 30, "山田", "anna.maria-von_der+heide@stadt"]
)
def test_sign_up_makes_an_account_and_signs_in(client: Client, name: str) -> None:
    response = client.post("/accounts/signup/", NEW | {"username": name})
    assert response.status_code == 302 and response.headers["Location"] == "/"
    assert client.session["_auth_user_id"] == str(User.objects.get(username=name).pk)
    assert client.get("/accounts/").status_code == 200


@pytest.mark.parametrize("method", ["get", "post"])
def test_closed_sign_up_says_so_and_makes_no_account(
    client: Client, settings: Any, method: str
) -> None:
    settings.SIGNUP = "0"
    page = getattr(client, method)("/accounts/signup/", NEW)
    assert (
        page.status_code == 403 and "an administrator creates the accounts" in page.content.decode()
    )
    assert not User.objects.exists()


@pytest.mark.parametrize("away", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_sign_in_never_leads_to_another_site(client: Client, away: str) -> None:
    user = UserFactory()
    response = client.post(
        "/accounts/login/", {"username": user.username, "password": PASSWORD, "next": away}
    )
    assert response.headers["Location"] == "/"


@pytest.mark.parametrize("scheme", ["Token", "Bearer"])
def test_the_token_opens_the_api(client: Client, scheme: str) -> None:
    user = UserFactory()
    door = Client(enforce_csrf_checks=True)  # a program has no form to take a token from
    token = ask_token(door, {"username": user.username, "password": PASSWORD}).json()["token"]
    assert ApiToken.objects.get().key_hash == token_hash(token)
    assert (
        client.get("/api/documents", headers={"Authorization": f"{scheme} {token}"}).status_code
        == 200
    )


def test_a_wrong_password_and_an_unknown_name_answer_alike(client: Client) -> None:
    user = UserFactory()
    wrong = ask_token(client, {"username": user.username, "password": "wrong"})
    unknown = ask_token(client, {"username": "nobody", "password": "wrong"})
    assert wrong.status_code == unknown.status_code == 400
    assert wrong.json() == unknown.json()
    assert wrong.json()["error"]["code"] == "bad_credentials"


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, {"username", "password"}),
        ({"username": "mei"}, {"password"}),
        ({"username": ["mei"], "password": "x"}, {"username"}),
        ({"username": "a\x00b", "password": "x"}, {"username"}),
    ],
)
def test_missing_or_odd_fields_are_named(client: Client, body: Any, fields: set[str]) -> None:
    response = ask_token(client, body)
    assert response.status_code == 400 and set(response.json()["error"]["fields"]) == fields


def test_a_name_is_taken_in_any_case(client: Client) -> None:
    UserFactory(username="Lin")
    assert ask_token(client, {"username": "lin", "password": PASSWORD}).status_code == 200


def test_staff_sign_in_to_the_administration_by_the_sites_own_door(client: Client) -> None:
    staff = UserFactory(is_staff=True)
    door = client.get("/admin/login/?next=/admin/auth/")
    assert (
        door.status_code == 302
        and door.headers["Location"] == "/accounts/login/?next=%2Fadmin%2Fauth%2F"
    )
    form = {"username": staff.username, "password": PASSWORD, "next": "/admin/"}
    answer = client.post(door.headers["Location"], form)
    assert answer.headers["Location"] == "/admin/" and client.get("/admin/").status_code == 200


def test_the_administrations_own_door_checks_no_password() -> None:
    staff, client = UserFactory(is_staff=True), Client()
    answer = client.post("/admin/login/", {"username": staff.username, "password": PASSWORD})
    assert (
        answer.headers["Location"].startswith("/accounts/login/")
        and "_auth_user_id" not in client.session
    )
