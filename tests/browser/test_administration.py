"""Administration in the browser: somebody is invited, comes in, and goes; a source's form follows its kind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PHONE, sign_in
from tests.running_site import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def test_somebody_is_invited_comes_in_and_is_deactivated(open_page: Callable[..., Page]) -> None:
    admin = open_page(DESKTOP)
    sign_in(admin)
    admin.goto("/administration/")
    admin.get_by_role("link", name="People", exact=True).click()
    admin.get_by_text("Invite somebody").click()
    admin.get_by_label("Username").fill("newcomer")
    admin.get_by_label("Role").select_option(label="Reviewer")
    admin.get_by_role("button", name="Create the link").click()
    if admin.get_by_label("Password", exact=True).is_visible():  # asked who it is
        admin.get_by_label("Password", exact=True).fill(PASSWORD)
        admin.get_by_role("button", name="Confirm").click()
    link = admin.locator("#invitation-link").inner_text()

    newcomer = open_page(PHONE)
    newcomer.goto(link)
    newcomer.get_by_label("New password", exact=True).fill(PASSWORD)
    newcomer.get_by_label("New password confirmation").fill(PASSWORD)
    newcomer.get_by_role("button", name="Set the password and sign in").click()
    expect(newcomer.get_by_role("textbox", name="Question")).to_be_visible()

    admin.goto("/administration/people/?search=newcomer")
    admin.get_by_role("link", name="Manage newcomer").click()
    admin.get_by_role("button", name="Deactivate").click()
    admin.get_by_role("dialog").get_by_role("button", name="Deactivate").click()
    expect(admin.get_by_text("deactivated")).to_be_visible()
    newcomer.goto("/documents/")
    expect(newcomer.get_by_role("button", name="Sign in", exact=True)).to_be_visible()


def test_the_form_of_a_source_shows_the_fields_of_its_kind(open_page: Callable[..., Page]) -> None:
    page = open_page(DESKTOP)
    sign_in(page, to="/documents/sources/")
    shown = {
        "folder": set(),
        "web": {"User name", "Password or token", "Depth of links", "Maximum pages"},
        "git": {"User name", "Password or token", "Branch"},
        "s3": {"Access key", "Secret key", "Region"},
        "webdav": {"User name", "Password or token"},
    }
    every = set.union(*shown.values())
    for kind, fields in shown.items():
        page.get_by_label("Kind").select_option(kind)
        for name in every:
            expect(page.locator(".source-form").get_by_text(name, exact=True)).to_be_visible(
                visible=name in fields
            )
