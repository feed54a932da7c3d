"""The review desk as a reviewer uses it: by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, Site, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

OpenPage = Callable[..., Page]
QUESTIONS = ("How many bicycles fit the shed?", "When does the shed close?", "單車棚何時關門？")


@pytest.fixture(scope="module")
def api(site: Site, admin_api: httpx.Client) -> httpx.Client:
    """The administrator's, who has asked three questions and found the second answer bad."""
    site.ollama.reset()
    site.ollama.reply(structured=False, text="I cannot say.")
    answers = [
        admin_api.post("/api/chat", json={"message": question}).json() for question in QUESTIONS
    ]
    rating = {"score": 1, "comment": "Wrong."}
    admin_api.put(
        f"/api/messages/{answers[1]['message_id']}/rating", json=rating
    ).raise_for_status()
    return admin_api


def found(api: httpx.Client, **query: Any) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = api.get("/api/review/answers", params=query).json()["results"]
    return results


def test_the_worst_answer_is_found_read_and_marked_by_keyboard(
    api: httpx.Client, open_page: OpenPage
) -> None:
    page = open_page(DESKTOP)
    sign_in(page, to="/review/?sort=worst")
    rows = page.locator(".review-row")
    expect(rows.first).to_contain_text(QUESTIONS[1])
    expect(rows.first).to_contain_text("Thumbs down")
    page.wait_for_load_state("load")  # the keys work from then on
    page.keyboard.press("j")
    page.keyboard.press("r")
    expect(rows.first.locator("[data-state-text]")).to_have_text("Reviewed")
    page.keyboard.press("Enter")
    expect(page.locator("#seen .question")).to_have_text(QUESTIONS[1])
    expect(page.locator("#ratings")).to_contain_text("Wrong.")
    expect(page.locator(".path-step").first).to_be_visible()
    expect(page.locator("#readers")).to_contain_text("admin")
    page.keyboard.press("n")
    page.get_by_role("dialog").locator("textarea").fill("The shed's page is out of date.")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator("#note")).to_have_text("The shed's page is out of date.")
    expect(page.locator("#history")).to_contain_text("The shed's page is out of date.")
    page.keyboard.press("j")
    expect(page.locator("#seen .question")).not_to_have_text(QUESTIONS[1])
    page.keyboard.press("u")
    expect(rows.first).to_contain_text(QUESTIONS[1])
    assert (
        found(api, state="reviewed", search="shed close")[0]["note"]
        == "The shed's page is out of date."
    )
