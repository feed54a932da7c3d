"""What goes beside a question's words: files of the conversation, filters, effort."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, Site
from tests.browser.test_journey import ANSWER, HANDBOOK, QUESTION, OpenPage, ask, sign_up

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]


def test_a_file_is_attached_asked_about_and_kept(
    open_page: OpenPage, site: Site, tmp_path: Path
) -> None:
    site.ollama.reset()
    site.ollama.reply(structured=False, text=ANSWER)
    file, picture = tmp_path / "library-loans.md", tmp_path / "sound.mp3"
    file.write_text(HANDBOOK, encoding="utf-8")
    picture.write_bytes(b"no picture")
    page = open_page(PHONE)
    sign_up(page)
    page.get_by_label("Files to attach").set_input_files([file, picture])
    expect(page.locator(".file-chip.is-failed")).to_contain_text("sound.mp3")
    expect(page.locator(".file-chip")).to_have_count(2)
    expect(page.locator(".file-chip").first).not_to_contain_text(re.compile("Uploading|Saving"))
    page.reload()
    expect(page.locator(".file-chip")).to_have_count(1)

    answer = ask(page, QUESTION)
    expect(answer.get_by_role("button", name="Copy the answer")).to_be_visible(timeout=60_000)
    expect(answer.locator(".source-card").first).to_contain_text("Library loan regulations")
    page.reload()
    page.get_by_role("button", name="Options of library-loans.md").click()
    page.get_by_role("menuitem", name="Keep in my documents").click()
    page.get_by_label("Collection").fill("loans")
    page.get_by_role("button", name="Keep", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("Kept in “loans”")
    expect(page.locator(".file-chip")).to_have_count(0)
