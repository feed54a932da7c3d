"""The page /accounts/: a life from sign-up to deletion."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.test_journey import sign_up
from tests.running_site import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

OpenPage = Callable[..., Page]


def test_an_account_from_sign_up_to_its_deletion(open_page: OpenPage, tmp_path: Path) -> None:
    page, phone = open_page(DESKTOP), open_page(PHONE)
    sign_up(page)
    name = page.locator(".user-name").text_content() or ""
    phone.goto("/accounts/login/")
    phone.get_by_label("Username", exact=True).fill(name)
    phone.get_by_label("Password", exact=True).fill(PASSWORD)
    phone.get_by_role("button", name="Sign in", exact=True).tap()
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
    page.get_by_role("button", name="Sign in", exact=True).click()
    told = re.compile("is inactive|are not correct")  # closed at once, deleted by the worker
    expect(page.get_by_text(told)).to_be_visible()
