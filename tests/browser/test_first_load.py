"""What a browser that knows nothing of the site fetches for the chat page, and what it fetches the second time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import DESKTOP
from tests.browser.test_journey import sign_up

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

OpenPage = Callable[..., Page]
FIRST_LOAD_BYTES = 130_000


FILES_FROM_THE_NETWORK = """performance.getEntriesByType("resource")
  .filter((one) => one.name.includes("/static/") && one.transferSize > 0).map((one) => one.name)"""


def open_chat(page: Page) -> None:
    page.goto("/", wait_until="networkidle")
    page.locator(".welcome").wait_for()


def test_the_first_load_is_light_and_the_second_one_fetches_no_file(open_page: OpenPage) -> None:
    """In the language whose texts are fetched as well."""
    page = open_page(DESKTOP)
    sign_up(page)
    page.context.add_cookies([{"name": "django_language", "value": "zh-hant", "url": page.url}])
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.clearBrowserCache")
    sizes: list[float] = []
    session.on(
        "Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"])
    )  # headers, too
    page.goto("about:blank")  # what the page before is still waiting for ends here
    sizes.clear()
    open_chat(page)
    assert sum(sizes) <= FIRST_LOAD_BYTES
    assert len(page.evaluate(FILES_FROM_THE_NETWORK)) > 20
    open_chat(page)
    assert page.evaluate(FILES_FROM_THE_NETWORK) == []
