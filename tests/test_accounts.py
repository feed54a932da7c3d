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


def test_sign_up_makes_an_account_and_signs_in(client: Client) -> None:
    response = client.post("/accounts/signup/", NEW)
    assert response.status_code == 302 and response.headers["Location"] == "/"
    assert client.session["_auth_user_id"] == str(User.objects.get(username="mei").pk)


def test_sign_up_goes_on_to_an_address_of_ours_only(client: Client) -> None:
    ours = client.post("/accounts/signup/", NEW | {"next": "/documents/"})
    assert ours.headers["Location"] == "/documents/"
    client.logout()
    theirs = client.post("/accounts/signup/", NEW | {"username": "lin", "next": "https://evil.example/"})
    assert theirs.headers["Location"] == "/"


def test_a_weak_password_is_refused_with_the_reason_at_the_field(client: Client) -> None:
    page = client.post("/accounts/signup/", NEW | {"password1": "12345678", "password2": "12345678"})
    assert page.status_code == 200 and "too common" in page.content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize("method", ["get", "post"])
def test_closed_sign_up_says_so_and_makes_no_account(client: Client, settings: Any, method: str) -> None:
    settings.SIGNUP_OPEN = False
    page = getattr(client, method)("/accounts/signup/", NEW)
    assert page.status_code == 403 and "an administrator makes the accounts" in page.content.decode()
    assert not User.objects.exists()


def test_the_sign_in_page_offers_no_account_where_sign_up_is_closed(client: Client, settings: Any) -> None:
    settings.SIGNUP_OPEN = False
    assert "/accounts/signup/" not in client.get("/accounts/login/").content.decode()


@pytest.mark.parametrize("away", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_sign_in_never_leads_to_another_site(client: Client, away: str) -> None:
    user = UserFactory()
    response = client.post("/accounts/login/", {"username": user.username, "password": PASSWORD, "next": away})
    assert response.headers["Location"] == "/"


def test_sign_in_returns_to_the_page_that_asked_for_it(client: Client) -> None:
    user = UserFactory()
    response = client.post("/accounts/login/", {"username": user.username, "password": PASSWORD, "next": "/documents/"})
    assert response.headers["Location"] == "/documents/"


def test_signing_out_takes_a_post(client: Client) -> None:
    client.force_login(UserFactory())
    assert client.get("/accounts/logout/").status_code == 405
    client.post("/accounts/logout/")
    assert "_auth_user_id" not in client.session


def test_a_changed_password_is_the_one_that_counts(client: Client) -> None:
    user = UserFactory()
    client.force_login(user)
    new = "a quite different phrase"
    client.post("/accounts/password/", {"old_password": PASSWORD, "new_password1": new, "new_password2": new})
    user.refresh_from_db()
    assert user.check_password(new)


def test_a_token_is_given_without_a_csrf_token() -> None:
    user = UserFactory()
    response = ask_token(Client(enforce_csrf_checks=True), {"username": user.username, "password": PASSWORD})
    assert response.status_code == 200
    (token,) = ApiToken.objects.filter(user=user)
    assert token.key_hash == token_hash(response.json()["token"])


@pytest.mark.parametrize("scheme", ["Token", "Bearer"])
def test_the_token_opens_the_api(client: Client, scheme: str) -> None:
    user = UserFactory()
    token = ask_token(client, {"username": user.username, "password": PASSWORD}).json()["token"]
    assert client.get("/api/documents").status_code in (401, 403)
    assert client.get("/api/documents", headers={"Authorization": f"{scheme} {token}"}).status_code == 200


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


@pytest.mark.parametrize("body", ["no json", "[1]", "null", '"text"'])
def test_a_body_that_is_no_object_is_bad_input(client: Client, body: str) -> None:
    response = ask_token(client, body)
    assert response.status_code == 400 and response.json()["error"]["code"]


def test_guessing_is_stopped_for_that_name_alone(client: Client, settings: Any) -> None:
    victim, other = UserFactory(), UserFactory()
    for _ in range(settings.RAG.limits.login_failures):
        assert ask_token(client, {"username": victim.username, "password": "guess"}).status_code == 400
    stopped = ask_token(client, {"username": victim.username, "password": PASSWORD})
    assert stopped.status_code == 429 and int(stopped.headers["Retry-After"]) > 0
    assert stopped.json()["error"]["code"] == "rate_limited"
    assert ask_token(client, {"username": other.username, "password": PASSWORD}).status_code == 200


def test_guessing_on_the_page_is_stopped_too(client: Client, settings: Any) -> None:
    user = UserFactory()
    for _ in range(settings.RAG.limits.login_failures):
        client.post("/accounts/login/", {"username": user.username, "password": "guess"})
    page = client.post("/accounts/login/", {"username": user.username, "password": PASSWORD})
    assert page.status_code == 429 and int(page.headers["Retry-After"]) > 0
    assert "Too many wrong passwords" in page.content.decode()


def test_a_right_password_forgets_the_wrong_ones(client: Client, settings: Any) -> None:
    user = UserFactory()
    for _ in range(2):
        for _ in range(settings.RAG.limits.login_failures - 1):
            ask_token(client, {"username": user.username, "password": "guess"})
        assert ask_token(client, {"username": user.username, "password": PASSWORD}).status_code == 200
