"""What an account's page offers: where one is signed in."""

from __future__ import annotations

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.clients import browser
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db
FIREFOX = {
    "User-Agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0"
}
IPHONE = {
    "User-Agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1"
}


# ------------------------------------------------------------------------------------------------ signed-in browsers
def test_the_page_shows_each_browser_by_name_and_which_is_this() -> None:
    user = UserFactory()
    here = browser(user, headers=FIREFOX)
    browser(user, headers=IPHONE)
    page = here.get("/accounts/").content.decode()
    assert (
        "Firefox on Windows" in page
        and "Safari on iPhone" in page
        and page.count("this browser</span>") == 1
    )
    assert not any(key in page for key in UserSession.objects.values_list("session_key", flat=True))


def test_browsers_are_read_at_once_without_those_whose_session_has_ended() -> None:
    user = UserFactory()
    here = browser(user, headers=FIREFOX)
    with CaptureQueriesContext(connection) as few:
        here.get("/accounts/")
    for _ in range(5):
        browser(user, headers=IPHONE)
    ended = (
        UserSession.objects.filter(user=user).exclude(session_key=here.session.session_key).first()
    )
    assert ended
    Session.objects.filter(session_key=ended.session_key).delete()
    with CaptureQueriesContext(connection) as many:
        page = here.get("/accounts/").content.decode()
    assert page.count("Safari on iPhone") == 4
    assert not UserSession.objects.filter(pk=ended.pk).exists()
    assert len(many) == len(few)


def test_all_others_are_signed_out_and_tokens_stay() -> None:
    user = UserFactory()
    here, phone = browser(user, headers=FIREFOX), browser(user, headers=IPHONE)
    token = Client().post(
        "/api/auth/token", {"username": user.username, "password": PASSWORD}, "application/json"
    )
    assert here.post("/accounts/sessions/").headers["Location"] == "/accounts/"
    assert phone.get("/accounts/").status_code == 302 and here.get("/accounts/").status_code == 200
    headers = {"Authorization": f"Token {token.json()['token']}"}
    assert Client().get("/api/documents", headers=headers).status_code == 200
