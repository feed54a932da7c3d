"""A document leaves the list at once and can be taken back; it is deleted when that is over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP
from tests.browser.test_journey import sign_up, upload
from tests.browser.test_memory_page import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]


def test_a_deleted_document_is_taken_back_and_then_deleted_for_good(
    open_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = open_page(DESKTOP)
    sign_up(page)
    upload(page, tmp_path)
    page.goto("/documents/?collection=documents")
    own = page.locator("#document-list [data-id]")

    def delete() -> None:
        own.first.locator(".icon-button").click()
        page.get_by_role("menuitem", name="Delete").click()

    expect(own).to_have_count(1)
    delete()
    expect(own).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(own).to_have_count(1)
    (document,) = [one for one in page.request.get("/api/documents").json()["results"] if one["editable"]]

    delete()
    expect(own).to_have_count(0)
    page.goto("/")  # leaving makes it final
    wait_until(lambda: page.request.get(f"/api/documents/{document['id']}").status == 404)
