"""Every page as axe-core sees it: in both themes, three languages, narrow and wide; and that nothing sticks out.

A page is loaded once; theme and width are changed in place. Pages take turns with the languages, which change words
and no colours; the page of an answer and the doors are looked at in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import cycle
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import PATIENCE_MS, Site, add_document, sign_in
from tests.browser.test_journey import HANDBOOK, QUESTION
from tests.processes import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(500)]

ANSWER = r"""## Loans

Ten books for four weeks [1], a fee of $f(n) = 0.5\,n$ [1].

| Kind | Days |
|:-----|-----:|
| Book | 28 [1] |

```python
def fee(days: int) -> float: return min(10.0, 0.5 * days)  # capped
```
"""
PAGES = (
    "/", "/documents/", "/documents/search/", "/memory/", "/notifications/", "/self-corrective-rag",
    "/settings/models/",
    "/accounts/", "/accounts/email/", "/accounts/password/change/", "/accounts/2fa/", "/accounts/delete/",
    "/review/", "/review/log/", "/review/dashboard/",
    "/review/curated/", "/review/gaps/", "/review/documents/", "/review/boosts/", "/review/ratings/",
    "/documents/sources/", "/documents/count/?words=leave",
    "/assistants/", "/assistants/new/", "/requests/", "/review/imports/?kind=curated", "/?temporary=1",
    "/administration/", "/administration/people/", "/administration/budgets/",
    "/administration/health/", "/administration/log/",
    "/admin/", "/admin/chat/session/",
)  # fmt: skip
DOORS = ("/accounts/login/", "/accounts/signup/", "/accounts/password/reset/")
LANGUAGES = ("en", "zh-hans", "zh-hant")
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RUN = """async (options) => (await axe.run(document, {resultTypes: ["violations"], ...options})).violations.flatMap(
  (rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 300)}`))"""
COUNT_REQUESTS = """(() => {
  const real = window.fetch;
  window.underWay = 0;
  window.fetch = (...given) => {
    window.underWay += 1;
    return real(...given).finally(() => { window.underWay -= 1; });
  };
})()"""
# Two frames first: a change of the theme begins its transitions with the next one.
STILL = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  do { await frame(); await frame(); } while (window.underWay);
  await Promise.all(document.getAnimations().filter((one) => one.effect.getTiming().iterations !== Infinity)
    .map((one) => one.finished.catch(() => {})));
}"""
# The page itself, or what scrolls in it; a table has a frame of its own to scroll in.
STICKS_OUT = """[document.documentElement, ...document.querySelectorAll(".page-scroll, .thread-scroll")]
  .some((one) => one.scrollWidth > one.clientWidth)"""
WIDE, NARROW = {"width": 1280, "height": 860}, {"width": 360, "height": 740}
CONTRAST = {"runOnly": ["color-contrast"]}
ALL = {"rules": {"target-size": {"enabled": True}}}
ALL_BUT_CONTRAST = {
    "rules": {"target-size": {"enabled": True}, "color-contrast": {"enabled": False}}
}


def findings(page: Page, options: dict[str, Any]) -> list[str]:
    """What axe finds wrong, a line for each element, once nothing is fetched and nothing moves any more."""
    page.evaluate(STILL)
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found: list[str] = page.evaluate(RUN, options)
    if found:  # once more: on a busy machine a change of the theme may come after its frames
        page.evaluate(STILL)
        found = page.evaluate(RUN, options)
    return found


def inspect(page: Page) -> list[str]:
    """The page as it is now: wide in both themes, and narrow."""
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    found = findings(page, ALL)
    page.emulate_media(color_scheme="dark")
    found += findings(page, CONTRAST)
    page.set_viewport_size(NARROW)
    found += findings(page, ALL_BUT_CONTRAST)
    if page.evaluate(STICKS_OUT):
        found.append("sticks out at 360 px")
    return found


def speak(page: Page, site: Site, language: str) -> None:
    page.context.add_cookies([{"name": "django_language", "value": language, "url": site.url}])


@dataclass(frozen=True)
class Addresses:
    """Addresses of what an administrator has."""

    chat: str
    document: str
    answer: str
    replay: str
    shared: str
    curated: str


@pytest.fixture(scope="module")
def pages(site: Site, admin_api: httpx.Client) -> Addresses:
    """An answer that has everything in it, rated, shared and replayed, by the API."""
    site.ollama.reset()
    site.ollama.reply(structured=False, text=ANSWER)
    document = add_document(admin_api, "loans", "loans.md", HANDBOOK)
    answer = admin_api.post(
        "/api/chat", json={"message": QUESTION, "collections": ["loans"]}
    ).json()
    message, session = answer["message_id"], answer["session_id"]
    admin_api.put(
        f"/api/messages/{message}/rating", json={"score": 2, "comment": "Short."}
    ).raise_for_status()
    shared = (
        admin_api.post(f"/api/sessions/{session}/share", json={"scope": "site"})
        .raise_for_status()
        .json()
    )
    replay = (
        admin_api.post(f"/api/review/answers/{message}/replay", json={"workflow": "react"})
        .raise_for_status()
        .json()
    )
    assert wait_until(
        lambda: (
            admin_api.get(f"/api/review/replays/{replay['id']}").json()["status"]
            not in ("queued", "running")
        ),
        within_s=60,
    )
    return Addresses(
        f"/chat/{session}/", f"/documents/{document}/", f"/review/answers/{message}/", replay["url"],
        shared["url"], f"/review/curated/new/?answer={message}",
    )  # fmt: skip


@pytest.fixture(scope="module")
def context(browser: Browser, site: Site) -> Iterator[BrowserContext]:
    context = browser.new_context(base_url=site.url, viewport=WIDE)
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(COUNT_REQUESTS)
    yield context
    context.close()


@pytest.fixture(scope="module")
def page(context: BrowserContext) -> Page:
    """Signed in as an administrator."""
    page = context.new_page()
    sign_in(page)
    page.locator(".welcome").wait_for()
    return page


def test_an_answer_with_its_source_in_all_languages_and_widths(
    page: Page, site: Site, pages: Addresses
) -> None:
    answer = page.locator(".answer").last
    found: list[str] = []
    for language, width in zip(LANGUAGES, (1920, 768, 1280), strict=True):
        speak(page, site, language)
        page.set_viewport_size(WIDE)
        page.goto(pages.chat)
        expect(answer.locator("math")).to_be_visible()
        expect(answer.locator(".code-frame")).to_be_visible()
        if language == "en":
            found += inspect(page)
            page.set_viewport_size(WIDE)
        answer.locator(".path-toggle > summary").click()
        answer.locator(".prose .citation").first.click()
        expect(page.locator("#source-panel")).to_be_visible()
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 900})
        found += findings(page, ALL_BUT_CONTRAST)
    for chip in answer.locator(".prose .citation").all():
        box = chip.bounding_box()
        assert box and box["width"] >= 24 and box["height"] >= 24
    assert not (found + inspect(page)), "\n".join(found)


def test_every_other_page(page: Page, site: Site, pages: Addresses) -> None:
    found: list[str] = []
    more = (pages.document, pages.answer, pages.replay, pages.shared, pages.curated)
    for path, language in zip((*PAGES, *more), cycle(LANGUAGES), strict=False):
        speak(page, site, language)
        page.set_viewport_size(WIDE)
        reply = page.goto(path)
        assert reply is not None and reply.status == 200, path
        found += [f"{path} {finding}" for finding in inspect(page)]
    assert not found, "\n".join(found)


def test_the_doors_and_an_error(browser: Browser, site: Site) -> None:
    """Without `open_page`: the browser itself complains of a 404."""
    context = browser.new_context(base_url=site.url)
    page = context.new_page()
    found: list[str] = []
    for language in LANGUAGES:
        speak(page, site, language)
        for path in (*DOORS, *(["/nothing/here"] if language == "en" else [])):
            page.goto(path)
            found += [f"{path} {finding}" for finding in inspect(page)]
    context.close()
    assert not found, "\n".join(found)
