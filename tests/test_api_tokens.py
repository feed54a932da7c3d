"""Tokens: made with a name, listed by their prefix, revoked by their owner, ended with the password."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from ragsite.accounts.auth import token_hash
from ragsite.accounts.tokens import token_create
from ragsite.models import ApiToken
from tests.clients import administrator, client_of
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db
NEW_PASSWORD = "a quite different phrase"


@pytest.fixture
def user(client: Client) -> User:
    user: User = UserFactory()
    client.force_login(user)
    return user


def works(key: str) -> bool:
    return (
        Client().get("/api/collections", headers={"Authorization": f"Token {key}"}).status_code
        == 200
    )


def test_each_call_makes_a_token_of_its_own_name() -> None:
    user = UserFactory()
    keys = []
    for name in ("laptop", "script"):
        body = {"username": user.username, "password": PASSWORD, "name": name}
        keys.append(
            Client().post("/api/auth/token", body, content_type="application/json").json()["token"]
        )
    assert all(works(key) for key in keys)
    assert {token.name for token in user.api_tokens.all()} == {"laptop", "script"}


def test_another_users_token_answers_like_none(client: Client, user: User) -> None:
    token_create(user=UserFactory())
    theirs, none = ApiToken.objects.get().pk, uuid.uuid4()
    answers = [client.post(f"/accounts/tokens/{token_id}/revoke/") for token_id in (theirs, none)]
    assert [answer.status_code for answer in answers] == [404, 404] and ApiToken.objects.exists()


def test_over_the_limit_the_token_that_was_used_least_recently_gives_way(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragsite.accounts.tokens.TOKENS_PER_USER", 2)
    used, unused = token_create(user=user), token_create(user=user)
    assert works(used)
    token_create(user=user)
    assert works(used) and not works(unused)


def change_on_the_page(client: Client, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    form = {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert client.post("/accounts/password/change/", form).status_code == 302
    assert client.get("/accounts/").status_code == 200  # this browser stays signed in


def change_in_the_admin(client: Client, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    form = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD, "usable_password": "true"}
    assert (
        administrator()
        .post(reverse("admin:auth_user_password_change", args=[user.pk]), form)
        .status_code
        == 302
    )


def change_by_command(client: Client, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getpass", lambda prompt: NEW_PASSWORD)
    call_command("changepassword", user.username)


def make_unusable(client: Client, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    user.set_unusable_password()
    user.save()


def deactivate(client: Client, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    User.objects.get(pk=user.pk).is_active = False
    user.is_active = False
    user.save()


def delete(client: Client, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    user.delete()


@pytest.mark.parametrize(
    "end",
    [change_on_the_page, change_in_the_admin, change_by_command, make_unusable, deactivate, delete],
)
def test_tokens_and_other_sessions_end_with_it(
    client: Client, user: User, monkeypatch: pytest.MonkeyPatch, end: Any
) -> None:
    key, elsewhere = token_create(user=user), client_of(user)
    end(client, user, monkeypatch)
    assert not works(key) and not ApiToken.objects.exists()
    assert elsewhere.get("/accounts/").status_code == 302


def test_a_reactivated_account_has_no_old_session(client: Client, user: User) -> None:
    for is_active in (False, True):
        user.is_active = is_active
        user.save()
    assert client.get("/accounts/").status_code == 302


def test_sign_out_everywhere_ends_all_sessions_and_tokens(client: Client, user: User) -> None:
    key, elsewhere, stranger = token_create(user=user), client_of(user), client_of(UserFactory())
    assert client.post("/accounts/sign-out-everywhere/").headers["Location"] == "/accounts/login/"
    assert client.get("/accounts/").status_code == elsewhere.get("/accounts/").status_code == 302
    assert not works(key) and stranger.get("/accounts/").status_code == 200


def test_the_account_page_lists_tokens_and_revokes_them(client: Client, user: User) -> None:
    key = token_create(user=user, name="<b>laptop")
    token = ApiToken.objects.get()
    page = client.get("/accounts/").content.decode()
    assert key not in page and token_hash(key) not in page
    assert (
        "&lt;b&gt;laptop" in page
        and token.prefix in page
        and 'href="/accounts/password/change/"' in page
    )
    assert client.post(f"/accounts/tokens/{token.pk}/revoke/").headers["Location"] == "/accounts/"
    assert not ApiToken.objects.exists()
    assert client.post(f"/accounts/tokens/{token.pk}/revoke/").status_code == 404
