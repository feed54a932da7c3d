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
    page.goto("/")
    page.locator("[data-workflow]").click()
    page.get_by_role("menuitem", name="Advanced").click()
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
