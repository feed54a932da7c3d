"""The page /accounts/: tokens are revoked by hand and keyboard, and signing out everywhere reaches the other tabs."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PASSWORD, PHONE, Site
from tests.browser.test_journey import sign_up

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

OpenPage = Callable[..., Page]


def test_a_token_is_revoked_with_the_keyboard(open_page: OpenPage, site: Site) -> None:
    page = open_page(DESKTOP)
    sign_up(page)
    name = page.locator(".user-name").text_content()
    body = {"username": name, "password": PASSWORD, "name": "laptop"}
    key = httpx.post(f"{site.url}/api/auth/token", json=body).json()["token"]
    page.goto("/accounts/")
    page.get_by_role("button", name="Revoke laptop").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No program has access to your account.")).to_be_visible()
    assert httpx.get(f"{site.url}/api/auth/tokens", headers={"Authorization": f"Token {key}"}).status_code == 401


def test_signing_out_everywhere_reaches_the_other_tab(open_page: OpenPage, site: Site) -> None:
    page = open_page(PHONE)
    sign_up(page)
    chat = page.context.new_page()
    with chat.expect_websocket():
        chat.goto("/")
    page.goto("/accounts/")
    page.get_by_role("button", name="Sign out everywhere").tap()
    page.get_by_role("dialog").get_by_role("button", name="Sign out everywhere").tap()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(chat.get_by_text("You have been signed out.")).to_be_visible()
