"""From the worst answers to a closed gap: the way of a curator through the desk, by roles and names alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, Site, add_document, sign_in
from tests.browser.test_journey import sign_up

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

OpenPage = Callable[..., Page]
HOURS = "# Canteen hours\nThe canteen opens at half past eleven and closes at two.\n"
PRICES = "# Canteen prices\nLunch in the canteen costs four euros. The price of lunch is the same for guests.\n"
OPENS, CUP = "When does the canteen open?", "Who won the canteen football cup?"
GAP = (
    "What does lunch in the canteen cost?",
    "How much does lunch in the canteen cost?",
    "Canteen lunch: what cost?",
)
LUNCH = re.compile("lunch", re.IGNORECASE)


@pytest.fixture
def bad_answers(site: Site, admin_api: httpx.Client) -> None:
    """An administrator's five questions: one was answered, and all were rated badly."""
    site.ollama.reset()
    # the file of hours says neither
    site.ollama.reply(match="football|lunch", structured=False, text="NO_ANSWER")
    add_document(admin_api, "canteen", "Canteen hours.md", HOURS)
    for question in (OPENS, CUP, *GAP):
        answer = admin_api.post(
            "/api/chat", json={"message": question, "collections": ["canteen"]}
        ).json()
        assert answer["decision"] == ("ANSWER" if question == OPENS else "NO_ANSWER"), (
            question,
            answer["answer"],
        )
        rating = {"score": 1, "tags": ["incomplete"]}
        admin_api.put(
            f"/api/messages/{answer['message_id']}/rating", json=rating
        ).raise_for_status()
    site.ollama.reset()


def to_the_desk(page: Page) -> None:
    sign_in(page, to="/review/")
    expect(page.get_by_role("heading", name="Queue")).to_be_visible()
    page.wait_for_load_state("load")  # from then on a filter that changes is sent


def go(page: Page, link: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=link, exact=True).click()
    expect(page.get_by_role("heading", name=link, level=1)).to_be_visible()


def test_the_worst_answers_become_golden_questions_and_a_closed_gap(
    bad_answers: None, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(DESKTOP)
    to_the_desk(page)

    # the worst answers of a subject, one of them replayed
    page.get_by_role("searchbox", name="Search questions and answers").fill("canteen")
    page.get_by_role("combobox", name="Order").select_option(label="Worst first")
    expect(page.get_by_text("5 answers")).to_be_visible()
    expect(page).to_have_url(re.compile("sort=worst"))
    expect(page.get_by_role("main").get_by_role("listitem").filter(has_text=OPENS)).to_contain_text(
        "Thumbs down"
    )
    page.get_by_role("link", name=OPENS).click()
    page.get_by_role("link", name="Replay", exact=True).click()
    page.get_by_role("combobox", name="Workflow").select_option(label="Thorough")
    page.wait_for_load_state("load")
    page.get_by_role("button", name="Replay", exact=True).click()
    expect(page.get_by_role("region", name="Both answers")).to_contain_text(
        "Thorough", timeout=60_000
    )
    page.get_by_role("main").get_by_role("link", name="The answer at the desk").last.click()
    expect(page.get_by_role("list", name="Replays of this answer")).to_contain_text("Thorough")

    # two golden questions
    for question, button, made in (
        (
            OPENS,
            "Save: the ticked documents are right",
            "Test question saved. Every ranking change is tested on it.",
        ),
        (CUP, "Save: there is no answer", "Test question saved."),
    ):
        page.goto("/review/?search=canteen&sort=worst")
        page.get_by_role("link", name=question).click()
        page.get_by_role("link", name="Test question").click()
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("status").filter(has_text=made)).to_be_visible()
        expect(page.get_by_role("button", name="Undo")).to_be_visible()

    # the gap, closed with a document
    page.goto("/review/")
    go(page, "Unanswered")
    page.get_by_role("link", name=LUNCH).first.click()
    prices = tmp_path / "Canteen prices.md"
    prices.write_text(PRICES)
    page.get_by_label("File", exact=True).set_input_files(prices)
    collection = page.get_by_role("combobox", name="Collection", exact=True)
    offered = collection.get_by_role("option", name=re.compile("canteen"))
    collection.select_option(value=offered.first.get_attribute("value"))
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("3 / 3")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("cell", name=re.compile("^Answered"))).to_have_count(3)
    expect(page.get_by_role("button", name="Closed")).to_have_attribute("aria-pressed", "true")

    # people get an answer now
    page.goto("/review/gaps/?state=closed")
    gap = page.get_by_role("listitem").filter(has_text=LUNCH)
    expect(gap).to_contain_text("3 of 3 answered now")
    go(page, "Dashboard")

    stranger = open_page(DESKTOP)
    stranger.goto("/")
    sign_up(stranger)
    assert stranger.request.get("/review/gaps/").status == 404
