"""The staff's pages of the feedback loop on a phone: read, decided on, and taken back, as axe sees them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PASSWORD, PHONE, Site
from tests.browser.test_accessibility import ALL, CONTRAST, findings
from tests.browser.test_journey import QUESTION, ask, sign_up, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

OpenPage = Callable[..., Page]
ANSWER = "Undergraduates may borrow **ten** books for four weeks [1]."
REVISION = re.compile(r"^Revision \d+")
ROUND_WITHIN_S = 60.0  # a worker has to start for the first


@pytest.fixture(autouse=True)
def _writer(site: Site) -> None:
    site.ollama.reset()
    site.ollama.reply(structured=False, text=ANSWER)


def sign_in(page: Page) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Username", exact=True).fill("admin")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="What would you like to know?")).to_be_visible()


def a_reader_rates(page: Page, folder: Path) -> None:
    sign_up(page)
    upload(page, folder)
    page.goto("/")
    answer = ask(page, QUESTION)
    answer.get_by_role("button", name="Bad answer").click()
    answer.get_by_text("Outdated").click()
    answer.get_by_role("button", name="Save details").click()
    expect(page.locator("#toasts")).to_contain_text("stored")


def run_a_round(page: Page) -> None:
    page.goto("/review/ratings/")
    page.get_by_role("button", name="Run a round now").click()
    end = time.monotonic() + ROUND_WITHIN_S
    while page.get_by_role("link", name=REVISION).count() == 0:
        assert time.monotonic() < end
        time.sleep(0.3)
        page.reload()


def look(page: Page) -> None:
    page.wait_for_load_state()  # after a click that leads elsewhere
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, page.url
    page.emulate_media(color_scheme="light")
    assert findings(page, ALL) == [], page.url
    page.emulate_media(color_scheme="dark")
    assert findings(page, CONTRAST) == [], page.url


def decide(page: Page, button: str, now: str) -> None:
    page.get_by_label("Why").fill("A reason.")
    page.get_by_role("button", name=button, exact=True).click()
    expect(page.get_by_role("main").locator(".chip").first).to_have_text(now)


def test_staff_read_and_decide_on_a_phone(open_page: OpenPage, tmp_path: Path) -> None:
    a_reader_rates(open_page(DESKTOP), tmp_path)
    page = open_page(PHONE, bypass_csp=True)  # axe styles what it measures
    sign_in(page)
    run_a_round(page)
    look(page)
    page.get_by_role("link", name=REVISION).first.click()
    expect(page.get_by_role("heading", name="What it changes")).to_be_visible()
    look(page)
    decide(page, "Roll back", "Rolled back")
    page.goto("/admin/feedback/revisionevent/")
    expect(page.locator("#result_list")).to_contain_text("Revision rolled back")
