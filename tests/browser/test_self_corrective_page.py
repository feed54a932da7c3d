"""The page /self-corrective-rag: its five parts, and nodes that light up as they run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PHONE, Site
from tests.browser.test_journey import QUESTION, ask, sign_up, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

OpenPage = Callable[..., Page]
REASON = "the model says: relevant"


@pytest.fixture(autouse=True)
def _grader(site: Site) -> None:
    site.ollama.reset()
    site.ollama.reply(match="is_relevant", json={"is_relevant": True, "confidence": 9})


def test_nodes_light_up_as_they_run_and_the_answer_can_be_stopped(
    open_page: OpenPage, site: Site, tmp_path: Path
) -> None:
    site.ollama.reply(
        structured=False, text="Undergraduates may borrow ten books [1]. ", endless=True, token_delay_s=0.1
    )
    page = open_page(DESKTOP)
    sign_up(page)
    upload(page, tmp_path)
    page.get_by_role("link", name="Chat", exact=True).click()
    page.locator("[data-workflow]").click()
    page.get_by_role("menuitem", name="Advanced").click()
    page.get_by_role("menuitem", name="Self-corrective, step by step").click()
    expect(page.locator('[data-node="grade"]')).to_have_attribute("data-state", "idle")

    answer = ask(page, QUESTION)
    expect(page.locator('[data-node="generate"]')).to_have_attribute("data-state", "running")
    expect(page.locator("#node-now")).to_contain_text("Generate runs")
    for node in ("condense", "retrieve", "grade"):
        expect(page.locator(f'[data-node="{node}"]')).to_have_attribute("data-state", "done")
    expect(page.locator('[data-node="rewrite"]')).to_have_attribute("data-state", "idle")
    expect(page.locator("#grades .is-passed").first).to_contain_text(REASON)
    expect(page.locator('#path [data-step="assess"]')).to_be_visible()
    page.get_by_role("button", name="Stop the answer").click()
    expect(answer).to_contain_text("You stopped this answer; it can be continued.")
    expect(page.locator("#node-now")).to_have_text("You stopped the answer.")


def test_strict_settings_reach_the_run_and_stay(open_page: OpenPage, site: Site, tmp_path: Path) -> None:
    site.ollama.reply(structured=False, text="Undergraduates may borrow ten books [1].")
    page = open_page(DESKTOP)
    sign_up(page)
    upload(page, tmp_path)
    page.goto("/self-corrective-rag")
    page.get_by_text("Strict", exact=True).first.click()
    expect(page.get_by_label("Pass rate wanted")).to_have_value("0.8")
    page.get_by_label("Documents per search").press("ArrowRight")
    expect(page.locator('#settings input[value="custom"]')).to_be_checked()
    answer = ask(page, QUESTION)
    expect(answer.get_by_role("button", name="Copy the answer")).to_be_visible()
    expect(page.locator("#grades .round-verdict")).to_contain_text("80 % wanted")
    expect(page.locator('[data-node="__end__"]')).to_have_attribute("data-state", "done")
    answer.locator(".prose .citation").first.click()
    expect(page.locator("#source-panel")).to_contain_text("ten books for four weeks")
    page.keyboard.press("Escape")
    page.reload()
    expect(page.get_by_label("Documents per search")).to_have_value("6")


def test_on_a_phone_its_parts_are_shown_one_at_a_time(open_page: OpenPage, site: Site, tmp_path: Path) -> None:
    site.ollama.reply(structured=False, text="Undergraduates may borrow ten books [1].")
    page = open_page(PHONE)
    sign_up(page)
    upload(page, tmp_path)
    page.goto("/self-corrective-rag")
    answer = ask(page, QUESTION)
    expect(answer.get_by_role("button", name="Copy the answer")).to_be_visible()
    parts = page.get_by_role("navigation", name="Parts of this page")
    for tab, shown in (("Nodes", "#nodes .node"), ("Grades", "#grades .grade"), ("Path", "#path .path-step"),
                       ("Settings", "#settings .slider"), ("Chat", "#question")):  # fmt: skip
        parts.get_by_role("link", name=tab).click()
        expect(page.locator(shown).first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, tab
