"""A conversation's versions, its long answers, its place in the list, and the colleague it is shared with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PHONE, Site
from tests.browser.test_journey import QUESTION, ask, sign_up, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

OpenPage = Callable[..., Page]
BEGINNING = "Undergraduates may borrow ten books for four weeks. A reader who returns a book late pays"
WHOLE = "Undergraduates may borrow ten books for four weeks."


def answered(page: Page) -> None:
    expect(page.locator(".answer.is-live")).to_have_count(0)
    expect(page.locator(".answer").last.get_by_role("button", name="Copy the answer")).to_be_visible()


def test_a_cut_answer_goes_on_and_an_edited_question_has_versions(
    open_page: OpenPage, site: Site, tmp_path: Path
) -> None:
    site.ollama.reset()
    site.ollama.reply(match="Go on where the answer ends", text="0.50 per day.", token_delay_s=0.05)
    site.ollama.reply(structured=False, text=BEGINNING, done_reason="length", times=1)
    site.ollama.reply(structured=False, text=WHOLE)
    page = open_page(DESKTOP)
    sign_up(page)
    upload(page, tmp_path)
    page.goto("/")
    first = ask(page, QUESTION)
    expect(first).to_contain_text("This answer reached its length limit; it can be continued.")
    first.get_by_role("button", name="Continue").click()
    answered(page)
    expect(first.locator(".prose")).to_contain_text("late pays 0.50 per day")
    expect(first.locator(".notice.is-cut")).to_have_count(0)
    ask(page, "What does a late book cost?")
    answered(page)

    question = page.locator(".question").first
    question.hover()
    question.get_by_role("button", name="Edit the question").click()
    editor = question.get_by_role("textbox", name="Edit the question")
    expect(editor).to_be_focused()
    editor.fill("For how long may undergraduates borrow books?")
    page.keyboard.press("Enter")
    expect(question.locator(".versions-at")).to_have_text("2/2")
    answered(page)
    expect(page.locator(".question")).to_have_count(1)
    question.get_by_role("button", name="Previous version").click()
    expect(page.locator(".question")).to_have_count(2)
    expect(page.locator(".question").first).to_contain_text(QUESTION)
    page.reload()
    expect(page.locator(".question").first.locator(".versions-at")).to_have_text("1/2")


def test_a_conversation_is_pinned_filed_and_shared_with_a_colleague(
    open_page: OpenPage, site: Site, tmp_path: Path
) -> None:
    site.ollama.reset()
    site.ollama.reply(structured=False, text=WHOLE)
    page = open_page(PHONE)
    sign_up(page)
    upload(page, tmp_path)
    page.goto("/")
    ask(page, QUESTION)
    answered(page)
    page.get_by_role("button", name="Conversation options").tap()
    page.get_by_role("menuitem", name="Pin").tap()
    page.get_by_role("button", name="Conversation options").tap()
    page.get_by_role("menuitem", name="Move to a folder…").tap()
    page.get_by_role("combobox", name="Folder").fill("Library")
    page.get_by_role("button", name="Move", exact=True).tap()
    page.get_by_role("button", name="Menu", exact=True).tap()
    sidebar = page.locator("#session-list")
    expect(sidebar.locator(".side-folder")).to_have_text("Library1")
    expect(sidebar.get_by_role("link", name=QUESTION)).to_be_visible()
    sidebar.get_by_role("button", name=f"Options for {QUESTION}").tap()
    page.get_by_role("menuitem", name="Share…").tap()
    people = page.get_by_role("region", name="People of this site")
    people.get_by_role("button", name="Make an address").tap()
    address = people.get_by_label("Address").input_value()
    expect(page.get_by_role("region", name="Anybody with a secret link")).to_contain_text("Switched off on this site")

    colleague = open_page(DESKTOP)
    sign_up(colleague)
    colleague.goto(address)
    expect(colleague.locator(".prose")).to_contain_text("ten books")
    expect(colleague.get_by_text("A document that you may not read")).to_be_visible()
    expect(colleague.get_by_text("Library loan regulations")).to_have_count(0)
    people.get_by_role("button", name="Revoke").tap()
    expect(people.get_by_role("button", name="Make an address")).to_be_visible()
    gone = colleague.request.get(address)
    assert gone.status == 404
