"""What an account's page offers: where one is signed in."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client

from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0"
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 "
    "Mobile/15E148 Safari/604.1"
)


def browser(user: Any, agent: str = FIREFOX) -> Client:
    client = Client(headers={"User-Agent": agent})
    client.post("/accounts/login/", {"username": user.username, "password": PASSWORD})
    return client


# ------------------------------------------------------------------------------------------------ signed-in browsers
def test_the_page_shows_each_browser_by_name_and_which_is_this() -> None:
    user = UserFactory()
    here = browser(user)
    browser(user, IPHONE)
    page = here.get("/accounts/").content.decode()
    assert "Firefox on Windows" in page and "Safari on iPhone" in page and page.count("this browser</span>") == 1
    assert not any(key in page for key in UserSession.objects.values_list("session_key", flat=True))


def test_all_others_are_signed_out_and_tokens_stay() -> None:
    user = UserFactory()
    here, phone = browser(user), browser(user, IPHONE)
    token = Client().post("/api/auth/token", {"username": user.username, "password": PASSWORD}, "application/json")
    assert here.post("/accounts/sessions/").headers["Location"] == "/accounts/"
    assert phone.get("/accounts/").status_code == 302 and here.get("/accounts/").status_code == 200
    headers = {"Authorization": f"Token {token.json()['token']}"}
    assert Client().get("/api/documents", headers=headers).status_code == 200


@pytest.mark.parametrize("name", ["王小明", "a" * 30, "山田・太郎"[:2], "anna.maria-von_der+heide@stadt"])
def test_names_of_any_script_and_length_sign_up_and_see_their_page(client: Client, name: str) -> None:
    response = client.post("/accounts/signup/", {"username": name, "password1": PASSWORD, "password2": PASSWORD})
    assert response.status_code == 302
    assert client.get("/accounts/").status_code == 200
