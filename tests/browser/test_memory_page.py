"""The page /memory/: what an answer left behind is there, found, taken off and kept, and switched off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, Site
from tests.browser.test_journey import QUESTION, ask, choose_workflow, sign_up, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

OpenPage = Callable[..., Page]
ANSWER = "Undergraduates may borrow up to ten books for four weeks [1]."
FACT = "The loan limit of undergraduates: ten books."


@pytest.fixture(autouse=True)
def _model(site: Site) -> None:
    site.ollama.reset()
    site.ollama.reply(match='"solves"', json={"score": 0.9, "solves": True})
    site.ollama.reply(match="condense a question", json={"fact": FACT})
    site.ollama.reply(structured=False, text=ANSWER)


def test_an_answer_is_remembered_found_and_erased(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(DESKTOP)
    sign_up(page)
    upload(page, tmp_path)
    page.goto("/")
    choose_workflow(page, "Thorough")
    expect(ask(page, QUESTION).get_by_role("button", name="Copy the answer")).to_be_visible()

    page.locator("summary.user-button").click()
    page.get_by_role("link", name="Account", exact=True).click()
    page.get_by_role("link", name="What is remembered").click()
    row = page.locator(".memory")
    expect(row).to_contain_text(QUESTION)
    page.get_by_role("searchbox").fill("zeppelin")
    page.keyboard.press("Enter")
    expect(page.locator(".empty")).to_contain_text("Nothing found")
    page.get_by_role("searchbox").fill("books")
    page.keyboard.press("Enter")
    expect(row).to_have_count(1)
    row.get_by_role("button", name="Delete this memory").click()
    expect(page.locator(".empty")).to_contain_text("No memories yet")
    assert page.request.get("/api/memory").json()["count"] == 0
