"""From a site without a model to one that answers, by presses alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, Site, add_document, sign_in
from tests.processes import wait_until

pytestmark = pytest.mark.browser
BELIEVED_S = 40  # the site believes a list of models for a quarter of a minute


def chat_models(api: httpx.Client) -> list[str]:
    models: list[str] = api.get("/api/status").json()["chat_models"]
    return models


@pytest.fixture
def empty(site: Site, admin_api: httpx.Client) -> Iterator[Site]:
    """The site, whose server has no model for now, and which has noticed it."""
    before = dict(site.ollama.models)
    listed = chat_models(admin_api)
    site.ollama.reset()
    site.ollama.models.clear()
    assert wait_until(
        lambda: not admin_api.get("/api/status").json()["online"], within_s=BELIEVED_S
    )
    yield site
    site.ollama.models.clear()
    site.ollama.models.update(before)
    chosen = admin_api.patch(
        "/api/model-server", json={"chat_models": [], "fast_model": "", "embed_model": ""}
    )
    assert chosen.status_code == 200
    assert wait_until(
        lambda: chat_models(admin_api) == listed, within_s=BELIEVED_S
    )  # not the one that was downloaded


def test_an_administrator_gets_a_model_and_an_answer_in_four_presses(
    open_page: Callable[..., Page], empty: Site, admin_api: httpx.Client
) -> None:
    # In a collection of its own: one that was embedded by a model waits for that.
    add_document(
        admin_api,
        "borrowing",
        "loans.md",
        "# Loans\n\nUndergraduates may borrow ten books for four weeks.",
    )
    page = open_page(DESKTOP)
    sign_in(page)
    page.get_by_role("link", name="Connect a model").click()
    page.locator('[data-pull="qwen3:4b"]').click()
    expect(page.locator("#pull-done")).to_contain_text("qwen3:4b is here.")
    expect(page.locator("#found")).to_contain_text("qwen3:4b replied in")
    page.get_by_role("link", name="Ask a question").click()
    page.locator(".suggestion", has_text="Loans").first.click()
    expect(page.locator(".thread")).to_contain_text("ten books")
    expect(page.locator("#banner")).to_be_hidden()
