"""The page /accounts/: tokens are revoked by hand and keyboard, signing out reaches other tabs, and a life from sign-up
to deletion."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

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
    assert httpx.get(f"{site.url}/api/collections", headers={"Authorization": f"Token {key}"}).status_code == 401


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


def test_an_account_from_sign_up_to_its_deletion(open_page: OpenPage, tmp_path: Path) -> None:
    page, phone = open_page(DESKTOP), open_page(PHONE)
    sign_up(page)
    name = page.locator(".user-name").text_content() or ""
    phone.goto("/accounts/login/")
    phone.get_by_label("Username", exact=True).fill(name)
    phone.get_by_label("Password", exact=True).fill(PASSWORD)
    phone.get_by_role("button", name="Sign in").tap()
    expect(phone.get_by_role("heading", name="What would you like to know?")).to_be_visible()

    page.goto("/accounts/")
    page.get_by_role("button", name="Dark").click()
    page.reload()
    expect(page.locator("html[data-theme=dark]")).to_have_count(1)

    with page.expect_download() as download:
        page.get_by_role("button", name="Export my data").click()
    download.value.save_as(tmp_path / "data.zip")
    assert "auth/user.json" in zipfile.ZipFile(tmp_path / "data.zip").namelist()

    page.get_by_role("button", name="Sign out all others").click()
    expect(page.get_by_text("Signed out of all other sessions.")).to_be_visible()
    phone.reload()
    expect(phone.get_by_role("heading", name="Sign in")).to_be_visible()

    page.get_by_role("link", name="Delete my account").click()
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.get_by_role("button", name="Delete my account and everything in it").click()
    expect(page.get_by_role("heading", name="Your account is closed")).to_be_visible()
    page.goto("/accounts/login/")
    page.get_by_label("Username", exact=True).fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    told = re.compile("is inactive|are not correct")  # closed at once, deleted by the worker
    expect(page.get_by_text(told)).to_be_visible()
