"""A reader of Chinese: signs up in Traditional Chinese, switches to Simplified, asks, reads sources, rates, reviews."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PASSWORD, PHONE, Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

HANDBOOK = """# 圖書館借閱規則

## 借閱冊數

大學部學生最多可借閱十冊圖書，借期四週。

## 逾期罰款

逾期歸還者每冊每日繳納 5 元。
"""
ANSWER = "大學部學生最多可借閱十冊圖書，借期四週 [1]。"
QUESTION = "大學部學生最多可借閱幾冊圖書，借期多久？"
ENGLISH = re.compile(r"[A-Za-z]{3,}(?: [A-Za-z]{2,}){2,}")  # three words in a row: a sentence of ours, forgotten

OpenPage = Callable[..., Page]


@pytest.fixture(autouse=True)
def _writer(site: Site) -> None:
    site.ollama.reset()
    site.ollama.reply(structured=False, text=ANSWER, token_delay_s=0.05)


def english_in(page: Page, *, but: str = "") -> list[str]:
    """Runs of English words that the page shows, other than those of `but`, a pattern."""
    found = ENGLISH.findall(page.locator("body").inner_text())
    return [text for text in found if not (but and re.search(but, text))]


def sign_up(page: Page) -> None:
    page.goto("/accounts/login/")
    page.get_by_role("link", name="註冊帳戶").click()
    expect(page.get_by_role("heading", name="註冊帳戶")).to_be_visible()
    page.locator("#id_username").fill(f"reader-{uuid.uuid4().hex[:8]}")
    page.locator("#id_password1").fill(PASSWORD)
    page.locator("#id_password2").fill(PASSWORD)
    page.get_by_role("button", name="註冊", exact=True).click()
    expect(page.get_by_role("heading", name="您想了解什麼？")).to_be_visible()


@pytest.mark.parametrize("device", [DESKTOP, PHONE], ids=["wide", "narrow"])
def test_a_whole_visit_in_chinese(open_page: OpenPage, tmp_path: Path, device: dict[str, object]) -> None:
    page = open_page(device, locale="zh-TW")
    page.goto("/accounts/login/")
    assert page.locator("html").get_attribute("lang") == "zh-hant"
    expect(page.get_by_role("button", name="登入")).to_be_visible()
    assert english_in(page) == []
    sign_up(page)

    file = tmp_path / "借閱規則.md"
    file.write_text(HANDBOOK, encoding="utf-8")
    page.goto("/documents/")
    page.get_by_label("要上傳的檔案").set_input_files(file)
    expect(page.locator(".doc .is-ready")).to_be_visible(timeout=60_000)
    expect(page.locator(".doc .is-ready")).to_contain_text("個段落")
    assert english_in(page, but="My documents|PDF") == []

    page.goto("/")
    page.get_by_label("您的問題").fill(QUESTION)
    page.keyboard.press("Enter")
    answer = page.locator(".answer").last
    expect(page.locator(".answer.is-live .live-step")).to_contain_text(re.compile("正在"))
    expect(answer.get_by_role("button", name="複製回答")).to_be_visible()
    expect(answer.locator(".path-toggle > summary")).to_contain_text("根據 1 個來源回答")
    answer.locator(".path-toggle > summary").click()
    expect(answer.locator('[data-step="retrieve"]').first).to_contain_text("個候選")
    assert english_in(page) == []
    answer.locator(".prose .citation").first.click()
    expect(page.locator("#source-panel")).to_contain_text("這個來源有幫助嗎？")
    assert english_in(page) == []
    page.keyboard.press("Escape")
    answer.get_by_role("button", name="回答得不好").click()
    expect(page.locator("#toasts")).to_contain_text("您的評價已儲存")

    if device is PHONE:
        page.get_by_role("button", name="選單").first.click()
    page.locator(".user-button").click()
    page.get_by_role("button", name="简体中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(page.locator(".answer .path-toggle > summary")).to_contain_text("根据 1 个来源回答")
    page.locator(".answer .path-toggle > summary").click()
    expect(page.locator('[data-step="retrieve"]').first).to_contain_text("个候选")
    assert english_in(page) == []
    page.goto("/accounts/")
    expect(page.get_by_role("heading", name="账户", exact=True)).to_be_visible()
    assert english_in(page, but="API") == []
    page.goto("/memory/")
    expect(page.get_by_text("记住我的回答")).to_be_visible()
    assert english_in(page) == []


def test_the_review_of_a_conversation_is_in_chinese(open_page: OpenPage) -> None:
    page = open_page(DESKTOP, locale="zh-TW")
    page.goto("/accounts/login/")
    page.locator("#id_username").fill("admin")
    page.locator("#id_password").fill(PASSWORD)
    page.get_by_role("button", name="登入").click()
    expect(page.get_by_role("heading", name="您想了解什麼？")).to_be_visible()
    page.get_by_label("您的問題").fill("您好")
    page.keyboard.press("Enter")
    expect(page.locator(".answer").last.get_by_role("button", name="複製回答")).to_be_visible()
    page.goto("/admin/chat/session/")
    page.locator("#result_list tbody th a").first.click()
    expect(page.get_by_text("決策路徑", exact=False).first).to_be_visible()
    page.locator(".review-message details > summary").first.click()
    assert english_in(page, but="django|Django") == []
