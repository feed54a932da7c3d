"""A document is something that can be asked: from its page, and two of them from the list."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Site
from tests.browser.test_journey import HANDBOOK, sign_up, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]


def test_a_document_is_summarised_and_compared(
    open_page: Callable[..., Page], tmp_path: Path, site: Site
) -> None:
    text = "Undergraduates may borrow up to ten books for four weeks."
    site.ollama.reset()
    site.ollama.reply(match="You summarise one document", text=text)
    page = open_page(PHONE)
    sign_up(page)
    upload(page, tmp_path)
    page.goto("/documents/?collection=documents")
    newer = tmp_path / "newer.md"
    newer.write_text(f"{HANDBOOK}\n\nA lost card costs EUR 12.\n", encoding="utf-8")
    page.get_by_label("Files to upload").set_input_files(newer)
    expect(page.locator(".doc .is-ready")).to_have_count(2, timeout=60_000)
    page.locator(".doc-title").first.click()
    page.get_by_role("link", name="Summarise").click()
    chips = page.get_by_label("Only these documents").get_by_role("listitem")
    expect(page.get_by_role("article", name="Question")).to_contain_text(
        "Summarise “Library loan regulations”."
    )
    expect(page.locator(".answer .source-card").first).to_be_visible()
    expect(chips).to_have_count(1)

    page.goto("/documents/?collection=documents")
    expect(page.locator(".doc-tick")).to_have_count(2)
    for tick in page.locator(".doc-tick").all():
        tick.check()
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("menuitem", name="Compare").click()
    expect(page.get_by_text("A lost card costs EUR 12.").first).to_be_visible()
    expect(chips).to_have_count(2)


def test_a_link_from_elsewhere_waits_for_the_readers_enter(
    open_page: Callable[..., Page], tmp_path: Path, site: Site
) -> None:
    page = open_page(PHONE)
    sign_up(page)
    upload(page, tmp_path)
    page.goto("/documents/?collection=documents")
    document = page.locator(".doc-title").first.get_attribute("href")
    assert document
    page.goto(f"/?documents={document.strip('/').split('/')[-1]}&task=summarise")
    expect(page.get_by_label("Your question")).to_have_value(
        "Summarise “Library loan regulations”."
    )
    expect(page.get_by_role("article", name="Question")).to_have_count(0)


def test_the_question_stays_in_view_while_a_long_answer_is_written(
    open_page: Callable[..., Page], tmp_path: Path, site: Site
) -> None:
    site.ollama.reset()
    site.ollama.reply(
        match="You summarise one document", text="\n\n".join(["A paragraph of the summary."] * 60)
    )
    page = open_page(PHONE)
    sign_up(page)
    upload(page, tmp_path)
    page.goto("/documents/?collection=documents")
    page.locator(".doc-title").first.click()
    page.get_by_role("link", name="Summarise").click()
    expect(page.locator(".answer-actions").first).to_be_attached(timeout=60_000)
    expect(page.get_by_role("article", name="Question")).to_be_in_viewport()
    expect(page.locator(".answer-actions").first).not_to_be_in_viewport()
