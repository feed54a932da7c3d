"""A reader of Chinese from sign-up to export, by roles and names alone: what a screen reader knows of the pages."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import DESKTOP, PHONE, Site
from tests.retrieval.knowledge.ingest.files import pdf_bytes
from tests.running_site import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.timeout(500)]

RULES = (
    "# 圖書館借閱規則\n本規則自公布日起施行，由圖書館負責解釋。",
    "# 借閱冊數\n大學部學生最多可借閱十冊圖書，借期四週。\n# 逾期罰款\n逾期歸還者每冊每日繳納五元。",
)
LOANS, FINES = "大學部學生最多可借閱十冊圖書，借期四週 [1]。", "逾期歸還者每冊每日繳納五元 [1]。"
QUESTION, EDITED = "大學部學生最多可借閱幾冊圖書？", "逾期歸還要繳納多少錢？"
LONG = "大學部學生借閱圖書的冊數、借期和逾期罰款是多少？"
CUT_AT = "大學部學生最多可借閱十冊圖書，借期四週。逾期歸還者每冊"
ENGLISH = re.compile(
    r"[A-Za-z]{3,}(?: [A-Za-z]{2,}){2,}"
)  # three words in a row: a sentence of ours, forgotten

OpenPage = Callable[..., Page]


def no_english(page: Page) -> None:
    """Fails where the page shows a run of English words, or a control has one as its name."""
    assert ENGLISH.findall(page.locator("body").inner_text()) == []
    assert ENGLISH.findall(page.locator("body").aria_snapshot()) == []


def sign_up(page: Page) -> None:
    page.get_by_role("link", name="註冊帳戶").click()
    no_english(page)
    page.get_by_role("textbox", name="使用者名稱").fill(f"讀者{uuid.uuid4().hex[:8]}")
    page.get_by_role("textbox", name="密碼", exact=True).fill(PASSWORD)
    page.get_by_role("textbox", name="密碼(再次輸入)").fill(PASSWORD)
    page.get_by_role("button", name="註冊", exact=True).click()


def newcomer(open_page: OpenPage, size: Any) -> Page:
    """A new user's first page, after the language was chosen on the English one."""
    page = open_page(size, locale="en-GB")
    page.goto("/")
    page.get_by_role("button", name="繁體中文").click()
    expect(page.get_by_role("heading", name="登入")).to_be_visible()
    assert page.locator("html").get_attribute("lang") == "zh-hant"
    sign_up(page)
    expect(page.get_by_role("heading", name="您想了解什麼？")).to_be_visible()
    return page


def attach_rules(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "圖書館借閱規則.pdf"
    file.write_bytes(pdf_bytes(RULES))
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="附加檔案").click()
    chooser.value.set_files(file)
    expect(page.get_by_role("button", name="圖書館借閱規則.pdf 的選項")).to_be_visible(
        timeout=60_000
    )


def answered(page: Page, text: str) -> Locator:
    """The last answer, once it is done and says this."""
    answer = page.get_by_role("article", name="回答").last
    expect(answer).to_contain_text(text)
    expect(answer.get_by_role("button", name="複製回答")).to_be_visible()
    return answer


def ask(page: Page, question: str) -> None:
    page.get_by_role("textbox", name="您的問題").fill(question)
    page.get_by_role("button", name="送出問題").click()


def test_a_whole_visit_in_chinese(open_page: OpenPage, site: Site, tmp_path: Path) -> None:
    site.ollama.reset()
    site.ollama.reply(match="写到一半中断|Go on where the answer ends", text="每日繳納五元 [1]。")
    site.ollama.reply(structured=False, text=LOANS, times=1)
    site.ollama.reply(structured=False, text=FINES, times=1)
    site.ollama.reply(structured=False, text=CUT_AT, done_reason="length", times=1)

    page = newcomer(open_page, DESKTOP)
    attach_rules(page, tmp_path)
    ask(page, QUESTION)
    answer = answered(page, "借期四週")
    no_english(page)

    answer.get_by_role("button", name=re.compile(r"^來源 \d：")).first.click()
    panel = page.get_by_role("complementary", name="圖書館借閱規則")
    expect(panel.get_by_role("img", name="《圖書館借閱規則》第 2 頁")).to_be_visible()
    expect(panel).to_contain_text("第 2 頁")
    expect(
        panel.locator(".is-drawn .page-mark").first
    ).to_be_visible()  # a mark on a picture has no role
    no_english(page)
    panel.get_by_role("button", name="段落").click()
    expect(panel.get_by_role("mark")).to_contain_text("大學部學生最多可借閱十冊圖書")
    panel.get_by_role("button", name="關閉來源").click()

    question = page.get_by_role("article", name="問題").first
    question.hover()
    question.get_by_role("button", name="修改問題").click()
    question.get_by_role("textbox", name="修改問題").fill(EDITED)
    page.keyboard.press("Enter")
    answered(page, "每冊每日繳納五元")
    expect(question.get_by_role("group", name="第 2 個版本，共 2 個")).to_be_visible()
    question.get_by_role("button", name="上一個版本").click()
    answered(page, "借期四週")
    question.get_by_role("button", name="下一個版本").click()
    answered(page, "每冊每日繳納五元")

    ask(page, LONG)
    answer = page.get_by_role("article", name="回答").last
    expect(answer).to_contain_text("已達長度上限")
    no_english(page)
    answer.get_by_role("button", name="繼續").click()
    answered(page, "每日繳納五元")
    expect(page.get_by_role("article", name="回答")).to_have_count(2)

    page.get_by_role("button", name="對話選項").click()
    page.get_by_role("menuitem", name="分享…").click()
    people = page.get_by_role("region", name="本站的人")
    people.get_by_role("button", name="建立連結").click()
    address = people.get_by_role("textbox", name="網址").input_value()
    no_english(page)
    page.get_by_role("button", name="關閉", exact=True).click()
    page.get_by_role("button", name="對話選項").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="匯出為 Markdown").click()
    exported = download.value.path().read_text(encoding="utf-8")
    assert EDITED in exported and "圖書館借閱規則，第 2 頁" in exported
    assert QUESTION not in exported  # another question by now, and the title with it

    colleague = open_page(PHONE, locale="zh-TW")
    colleague.goto(address)
    sign_up(colleague)  # leads to where they were going
    expect(colleague.get_by_role("article", name="回答").first).to_contain_text("每冊每日繳納五元")
    expect(colleague.get_by_text("無權閱讀的文件").first).to_be_visible()
    expect(colleague.get_by_text("圖書館借閱規則")).to_have_count(0)
    no_english(colleague)
    assert colleague.evaluate("document.documentElement.scrollWidth <= innerWidth")
