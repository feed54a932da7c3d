"""What a question names of the documents' own values is preferred, and the asker can take it off."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, Site, sign_in
from tests.browser.test_journey import OpenPage, ask
from tests.processes import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]


def add_fees(api: httpx.Client, year: int, fee: int) -> None:
    files = {
        "file": (f"resits-{year}.txt", f"A resit of an examination costs {fee} euros.".encode())
    }
    sent = api.post(
        "/api/documents", files=files, data={"collection": "resits", "policy_year": str(year)}
    )
    document = sent.json()["documents"][0]["id"]
    assert wait_until(
        lambda: api.get(f"/api/documents/{document}").json()["status"] == "ready", within_s=60
    )


def test_a_preference_that_a_question_named_can_be_taken_off(
    open_page: OpenPage, site: Site, admin_api: httpx.Client
) -> None:
    site.ollama.reset()
    add_fees(admin_api, 1995, 55)
    add_fees(admin_api, 1993, 40)
    page = open_page(DESKTOP)
    sign_in(page)
    answer = ask(page, "What did a resit of an examination cost in 1993?")
    expect(answer.get_by_role("button", name="Copy the answer")).to_be_visible(timeout=60_000)
    expect(answer.locator(".preferred-chips")).to_have_text("Preferred: Year: 1993")
    expect(answer.locator(".source-card").first).to_contain_text("resits-1993")
    answer.get_by_role("button", name="Search without this preference").click()
    expect(page.locator(".preferred-chips")).to_have_count(0)
    expect(page.get_by_role("button", name="Copy the answer")).to_be_visible(timeout=60_000)
    expect(page.locator(".preferred-chips")).to_have_count(0)
