"""What a person does with the site, in a real browser, on a whole running site."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import DESKTOP, Site
from tests.running_site import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

HANDBOOK = """# Library loan regulations

## Loans

Undergraduates may borrow up to ten books for four weeks.

## Fees

A reader who returns a book late pays 0.50 per day.
"""
ANSWER = (
    "Undergraduates may borrow **ten** books for four weeks [1]. <img src=x onerror=alert(1)> "
    + "So it is. " * 12
)
QUESTION = "How many books may undergraduates borrow?"
WELCOME = "What would you like to know?"

OpenPage = Callable[..., Page]


def sign_up(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="Create an account").click()
    page.get_by_label("Username", exact=True).fill(f"reader-{uuid.uuid4().hex[:8]}")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password (again)").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_role("heading", name=WELCOME)).to_be_visible()


def upload(page: Page, folder: Path, text: str = HANDBOOK) -> None:
    file = folder / "library-loans.md"
    file.write_text(text, encoding="utf-8")
    page.goto("/documents/")
    page.get_by_label("Files to upload").set_input_files(file)
    expect(page.locator(".doc .is-ready")).to_be_visible(timeout=60_000)


def ask(page: Page, question: str) -> Locator:
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    return page.locator(".answer").last


def test_sign_up_upload_ask_cite_and_rate(open_page: OpenPage, site: Site, tmp_path: Path) -> None:
    site.ollama.reset()
    site.ollama.reply(structured=False, text=ANSWER)
    page = open_page(DESKTOP)
    sign_up(page)
    upload(page, tmp_path)
    page.get_by_role("link", name="Chat", exact=True).click()
    expect(page.get_by_role("heading", name=WELCOME)).to_be_visible()  # the box works from then on

    answer = ask(page, QUESTION)
    expect(answer.get_by_role("button", name="Copy the answer")).to_be_visible()
    expect(page.locator(".visually-hidden[aria-live] p").last).to_have_text(
        "Answer ready, 1 source"
    )
    expect(answer.locator(".found")).to_have_text(
        re.compile("^Searched 1 document · .* answered from 1$")
    )
    expect(answer.locator(".prose strong")).to_have_text("ten")
    expect(answer.locator(".prose img")).to_have_count(0)

    before = (page.url, answer.inner_text(), page.locator("#toasts").inner_text())
    answer.locator(".prose .citation").first.click()
    panel = page.locator("#source-panel")
    expect(panel).to_contain_text("Undergraduates may borrow up to ten books for four weeks.")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    assert (page.url, answer.inner_text(), page.locator("#toasts").inner_text()) == before

    answer.locator(".path-toggle > summary").click()
    expect(answer.locator('[data-step="retrieve"]').first).to_be_visible()
    expect(answer.locator('[data-step="generate"]')).to_be_visible()

    answer.get_by_role("button", name="Bad answer").click()
    answer.get_by_text("Incomplete").click()
    answer.get_by_label("Comment").fill("What about postgraduates?")
    answer.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("Thanks, this will improve tomorrow's answers.")
    page.reload()
    expect(page.get_by_role("button", name="Bad answer")).to_have_attribute("aria-pressed", "true")

    page.emulate_media(media="print")
    expect(page.locator(".answer .prose")).to_be_visible()
    expect(page.locator("#composer")).to_be_hidden()
    expect(page.locator("#sidebar")).to_be_hidden()


def test_an_answer_is_read_while_written_goes_on_through_a_reload_and_can_be_stopped(
    open_page: OpenPage, site: Site, tmp_path: Path
) -> None:
    site.ollama.reset()
    site.ollama.reply(structured=False, text=ANSWER, token_delay_s=0.05, endless=True)
    page = open_page(DESKTOP)
    sign_up(page)
    upload(page, tmp_path)
    page.goto("/")
    ask(page, QUESTION)
    expect(page.locator(".is-live .prose")).to_contain_text("Undergraduates")
    page.reload()
    expect(page.locator(".is-live .prose")).to_contain_text("Undergraduates")
    page.get_by_role("button", name="Stop the answer").click()
    expect(page.locator(".answer")).to_contain_text("You stopped this answer; it can be continued.")
    expect(page.get_by_role("button", name="Send the question")).to_be_visible()
