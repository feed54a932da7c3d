"""The page /self-corrective-rag: its five parts, and nodes that light up as they run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, Site
from tests.browser.test_journey import QUESTION, ask, sign_up, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

OpenPage = Callable[..., Page]
REASON = "it states how many books"


@pytest.fixture(autouse=True)
def _grader(site: Site) -> None:
    site.ollama.reset()
    site.ollama.reply(
        match="is_relevant", json={"is_relevant": True, "confidence": 9, "reasoning": REASON}
    )


def test_nodes_light_up_as_they_run_and_the_answer_can_be_stopped(
    open_page: OpenPage, site: Site, tmp_path: Path
) -> None:
    site.ollama.reply(
        structured=False,
        text="Undergraduates may borrow ten books [1]. ",
        endless=True,
        token_delay_s=0.1,
    )
    page = open_page(DESKTOP)
    sign_up(page)
    upload(page, tmp_path)
    page.goto("/")
    page.locator("[data-workflow]").click()
    page.get_by_role("menuitem", name="Workflow and model").click()
    page.get_by_role("menuitem", name="Self-corrective, step by step").click()
    expect(page.locator('[data-node="grade"]')).to_have_attribute("data-state", "idle")

    answer = ask(page, QUESTION)
    expect(page.locator('[data-node="generate"]')).to_have_attribute("data-state", "running")
    expect(page.locator("#node-now")).to_contain_text("Now: Write")
    for node in ("condense", "retrieve", "grade"):
        expect(page.locator(f'[data-node="{node}"]')).to_have_attribute("data-state", "done")
    expect(page.locator('[data-node="rewrite"]')).to_have_attribute("data-state", "idle")
    expect(page.locator("#grades .is-passed").first).to_contain_text(REASON)
    expect(page.locator('#path [data-step="assess"]')).to_be_visible()
    page.get_by_role("button", name="Stop the answer").click()
    expect(answer).to_contain_text("You stopped this answer; it can be continued.")
    expect(page.locator("#node-now")).to_have_text("You stopped the answer.")


def test_an_answer_in_any_case_is_a_setting_of_the_page(
    open_page: OpenPage, site: Site, tmp_path: Path
) -> None:
    site.ollama.reset()
    site.ollama.reply(
        match="is_relevant",
        json={"is_relevant": False, "confidence": 9, "reasoning": "it is about rooms"},
    )
    site.ollama.reply(structured=False, text="Undergraduates may borrow ten books [1].")
    page = open_page(DESKTOP)
    sign_up(page)
    upload(page, tmp_path)
    page.goto("/self-corrective-rag")
    page.get_by_label("Maximum rewrites").fill("0")
    page.get_by_label("Answer in any case").check()
    answer = ask(page, QUESTION)
    expect(answer).to_contain_text("Undergraduates may borrow ten books")
    expect(page.locator("#grades .is-rejected").first).to_contain_text("it is about rooms")
    expect(page.locator("#grades")).to_contain_text(
        "The answer is written from the nearest documents."
    )
    page.reload()
    expect(page.get_by_label("Answer in any case")).to_be_checked()
