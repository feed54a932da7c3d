"""Signing in, walked through: by a provider of OpenID Connect, with an app's code, and with a passkey."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESKTOP, PHONE, Site
from tests.oidc_provider import provider
from tests.running_site import PASSWORD
from tests.test_second_factor import code_of

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def door(site: Site) -> Iterator[str]:
    """The site by a name, as passkeys belong to one, and a provider to sign in with."""
    url = site.url.replace("127.0.0.1", "localhost")
    with provider(site.oidc_port, f"{url}/accounts/oidc/login/callback/"):
        yield url


@pytest.fixture
def page(door: str, browser: Browser) -> Iterator[Page]:
    """Nothing may complain: no policy is broken on the way to the provider and back."""
    complaints: list[str] = []
    context = browser.new_context(base_url=door, **DESKTOP)
    page = context.new_page()
    page.on("console", lambda entry: complaints.append(entry.text) if "Security Policy" in entry.text else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == []


def sign_up(page: Page, name: str) -> None:
    page.goto("/accounts/signup/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password (again)").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    expect(page.locator(".user-name")).to_have_text(name)


def sign_out(page: Page) -> None:
    page.goto("/accounts/logout/")
    page.get_by_role("main").get_by_role("button", name="Sign Out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def begin(page: Page, path: str) -> None:
    """A page that asks for the password once more."""
    page.goto(path)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()


def test_by_a_provider_and_back_to_the_page_that_asked(page: Page, door: str) -> None:
    page.goto("/documents/")
    page.get_by_role("button", name="Sign in with Company").click()
    page.locator("#id_login").fill("mei")
    page.locator("#id_password").fill(PASSWORD)
    page.get_by_role("button", name="Sign In").click()
    page.wait_for_url(f"{door}/documents/")
    expect(page.locator(".user-name")).to_have_text("mei")


def test_with_recovery_codes_once_an_app_is_set_up(page: Page) -> None:
    sign_up(page, "ann")
    begin(page, "/accounts/2fa/totp/activate/")
    secret = page.get_by_label("Authenticator secret").input_value()
    page.get_by_label("Authenticator code").fill(code_of(secret))
    page.get_by_role("button", name="Activate").click()
    recovery = page.get_by_label("Unused codes").input_value().split()
    assert len(recovery) == 10
    for code in recovery[:2]:
        sign_out(page)
        page.get_by_label("Username").fill("ann")
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.get_by_label("Code").fill(code)
        page.get_by_role("button", name="Sign In").click()
        expect(page.locator(".user-name")).to_have_text("ann")


def test_with_a_passkey_alone(page: Page) -> None:
    device = page.context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    options |= {"isUserVerified": True, "automaticPresenceSimulation": True}
    device.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    sign_up(page, "lin")
    begin(page, "/accounts/2fa/webauthn/add/")
    page.get_by_label("Name").fill("my phone")
    page.get_by_label("Passwordless").check()
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("Security key added.")).to_be_visible()
    page.set_viewport_size(PHONE["viewport"])
    page.goto("/accounts/2fa/webauthn/")
    expect(page.get_by_role("heading", name="my phone")).to_be_visible()
    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_label("Your question")).to_be_visible()
