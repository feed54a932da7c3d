"""A conversation's place in the list, and its address for others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PHONE, Site
from tests.browser.test_journey import QUESTION, ask, sign_up, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

OpenPage = Callable[..., Page]
WHOLE = "Undergraduates may borrow ten books for four weeks."


def answered(page: Page) -> None:
    expect(page.locator(".answer.is-live")).to_have_count(0)
    expect(
        page.locator(".answer").last.get_by_role("button", name="Copy the answer")
    ).to_be_visible()


def test_a_conversation_is_pinned_filed_and_shared_until_that_is_revoked(
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
    people = page.get_by_role("region", name="People on this site")
    people.get_by_role("button", name="Create a link").tap()
    address = people.get_by_label("Address").input_value()
    expect(page.get_by_role("region", name="Anybody with a secret link")).to_contain_text(
        "Switched off on this site"
    )

    assert page.request.get(address).status == 200
    people.get_by_role("button", name="Revoke").tap()
    expect(people.get_by_role("button", name="Create a link")).to_be_visible()
    assert page.request.get(address).status == 404


def called(page: Page, method: str, path: str, body: object = None) -> Any:
    """The API, as this browser's user."""
    token = next(one for one in page.context.cookies() if one["name"] == "csrftoken")
    origin = "/".join(page.url.split("/")[:3])
    headers = {"X-CSRFToken": token["value"], "Referer": f"{origin}/"}
    response = page.request.fetch(origin + path, method=method, data=body, headers=headers)
    assert response.ok, response.text()
    return response.json() if response.status != 204 else None


def test_what_may_not_be_written_again_by_its_assistant_is_written_again_without_it(
    open_page: OpenPage, site: Site
) -> None:
    site.ollama.reset()
    site.ollama.reply(structured=False, text="Ask the library.")
    page = open_page(DESKTOP, expected="409 (Conflict)")
    sign_up(page)
    called(page, "POST", "/api/collections", {"name": "rules"})
    rules = {"name": "Rules", "collections": ["rules"]}
    assistant = called(page, "POST", "/api/assistants", rules)
    page.goto(f"/?assistant={assistant['id']}")
    expect(page.get_by_role("button", name="Assistant: Rules")).to_be_visible()
    ask(page, QUESTION)
    answered(page)
    called(page, "DELETE", "/api/collections/rules")
    page.locator(".answer").get_by_role("button", name="Write it again").click()
    page.get_by_role("button", name="Ask without the assistant").click()
    answered(page)
    expect(page.locator("article.question")).to_have_count(1)
    session = page.url.rstrip("/").rpartition("/")[2]
    messages = called(page, "GET", f"/api/sessions/{session}/messages")["results"]
    assert [one["role"] for one in messages] == ["user", "assistant"]
