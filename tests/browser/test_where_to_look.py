"""Where a conversation looks: the menu ticks what is searched, and the choice is that conversation's alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, Site
from tests.browser.test_journey import ANSWER, QUESTION, OpenPage, ask, sign_up, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]


def test_what_is_chosen_holds_for_the_conversation(
    open_page: OpenPage, site: Site, tmp_path: Path
) -> None:
    site.ollama.reset()
    site.ollama.reply(structured=False, text=ANSWER)
    page = open_page(DESKTOP)
    sign_up(page)
    for name in ("loans", "fees"):
        page.goto("/documents/")
        page.get_by_role("button", name="New collection").click()
        page.get_by_label("Name").fill(name)
        page.get_by_role("button", name="Create").click()
        expect(page.locator("#page-title")).to_have_text(name)
    upload(page, tmp_path)
    page.goto("/")
    places, items = (
        page.locator("[data-collections]"),
        page.locator(".menu [role=menuitemcheckbox]"),
    )
    ticked = page.locator(".menu [aria-checked=true]")
    places.click()
    expect(items).to_have_count(3)
    expect(ticked).to_have_count(3)
    items.filter(has_text="loans").click()
    expect(ticked).to_have_count(1)
    page.keyboard.press("Escape")
    expect(places).to_contain_text("fees")
    answer = ask(page, QUESTION)
    expect(answer.get_by_role("button", name="Copy the answer")).to_be_visible(timeout=60_000)
    conversation = page.url
    page.goto("/")
    expect(places).to_contain_text("Those searched by default")
    page.goto(conversation)
    expect(places).to_contain_text("fees")
