"""A question whose connection breaks before the page knows whether the site has it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.conftest import DESKTOP, Site
from tests.browser.test_journey import QUESTION, ask, sign_up

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

OpenPage = Callable[..., Page]
NOT_ARRIVED = "The connection broke before the question arrived."


def break_at(page: Page, kind: str) -> None:
    """The page's socket breaks instead of handing on the first frame of this type, from either side."""
    left = [kind]

    def connected(route: WebSocketRoute) -> None:
        server = route.connect_to_server()

        def handed_on(to: WebSocketRoute, frame: Any) -> None:
            if left and json.loads(frame)["type"] == left[0]:
                left.clear()
                route.close(code=1012)
                server.close()
            else:
                to.send(frame)

        route.on_message(lambda frame: handed_on(server, frame))
        server.on_message(lambda frame: handed_on(route, frame))

    page.route_web_socket(re.compile("/ws/chat/"), connected)


def stored(page: Page) -> list[list[str]]:
    """The roles of the messages of each of the reader's conversations."""
    sessions = page.request.get("/api/sessions").json()["results"]
    messages = [page.request.get(f"/api/sessions/{one['id']}/messages").json()["results"] for one in sessions]
    return [[message["role"] for message in rows] for rows in messages]


@pytest.fixture
def page(open_page: OpenPage, site: Site) -> Page:
    site.ollama.reset()
    page = open_page(DESKTOP)
    sign_up(page)
    return page


def test_a_first_question_that_the_site_has_goes_on(page: Page) -> None:
    break_at(page, "started")
    page.goto("/")
    answer = ask(page, QUESTION)
    expect(answer.get_by_role("button", name="Copy the answer")).to_be_visible()
    expect(page.locator("article.question")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/chat/[0-9a-f-]{36}/$"))
    assert stored(page) == [["user", "assistant"]]
    ask(page, "And for how long?")
    expect(page.get_by_role("button", name="Copy the answer")).to_have_count(2)
    assert stored(page) == [["user", "assistant", "user", "assistant"]]


def test_a_first_question_that_the_site_has_not_is_asked_again_by_its_reader(page: Page) -> None:
    break_at(page, "ask")
    page.goto("/")
    answer = ask(page, QUESTION)
    expect(answer).to_contain_text(NOT_ARRIVED)
    assert stored(page) == []
    answer.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("button", name="Copy the answer")).to_have_count(1)
    assert stored(page) == [["user", "assistant"]]


def test_a_later_question_that_the_site_has_goes_on(page: Page) -> None:
    page.goto("/")
    expect(ask(page, QUESTION).get_by_role("button", name="Copy the answer")).to_be_visible()
    break_at(page, "started")
    page.reload()
    ask(page, QUESTION)  # in the same words
    expect(page.get_by_role("button", name="Copy the answer")).to_have_count(2)
    assert stored(page) == [["user", "assistant", "user", "assistant"]]
