"""Signing in with a passkey, which a browser alone can show."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESKTOP, PHONE, Site
from tests.browser.test_journey import sign_up
from tests.running_site import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]
OpenPage = Callable[..., Page]


SHARE = """text => {
  const form = document.createElement("form");
  Object.assign(form, { method: "post", action: "/share/" });
  const field = Object.assign(document.createElement("input"), { name: "text", value: text });
  form.append(field);
  document.body.append(form);
  form.submit();
}"""  # as a phone does from its sheet


def test_what_a_phone_shares_waits_in_the_tab_until_somebody_signed_in(open_page: OpenPage) -> None:
    page = open_page(PHONE)
    page.goto("/accounts/login/")
    page.evaluate(SHARE, "How many books?")
    page.wait_for_url("**/accounts/login/?next=/")
    sign_up(page)
    question = page.get_by_label("Your question")
    expect(question).to_have_value("How many books?")
    assert "books" not in page.url and page.locator(".message").count() == 0
    question.fill("")
    page.reload()
    expect(question).to_have_value("")


def test_with_a_passkey_alone(site: Site, browser: Browser) -> None:
    # by a name, as passkeys belong to one
    context = browser.new_context(base_url=site.url.replace("127.0.0.1", "localhost"), **DESKTOP)
    page = context.new_page()
    device = page.context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
    }
    options |= {"isUserVerified": True, "automaticPresenceSimulation": True}
    device.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    sign_up(page)
    page.goto("/accounts/2fa/webauthn/add/")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.get_by_label("Name").fill("my phone")
    page.get_by_label("Passwordless").check()
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("Security key added.")).to_be_visible()
    page.set_viewport_size(PHONE["viewport"])
    page.goto("/accounts/2fa/webauthn/")
    expect(page.get_by_role("heading", name="my phone")).to_be_visible()
    page.goto("/accounts/")
    page.get_by_role("button", name="Dark").click()
    page.reload()
    expect(page.locator("html[data-theme=dark]")).to_have_count(1)
    page.goto("/accounts/logout/")
    page.get_by_role("main").get_by_role("button", name="Sign Out").click()
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_label("Your question")).to_be_visible()
    context.close()
