"""Every page as axe-core sees it: in both themes, three languages, narrow and wide; and that nothing sticks out."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESKTOP, PASSWORD, Site
from tests.browser.test_journey import HANDBOOK, QUESTION, ask

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

OpenPage = Callable[..., Page]
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
    "/", "/documents/", "/memory/", "/self-corrective-rag",
    "/accounts/", "/accounts/email/", "/accounts/password/", "/accounts/delete/",
    "/documents/search/", "/review/", "/review/log/", "/review/dashboard/", "/review/replays/",
)  # fmt: skip
DOORS = ("/accounts/login/", "/accounts/signup/", "/accounts/password/forgotten/")
# Two frames first: a change of the theme begins its transitions with the next one.
STILL = """() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))).then(() =>
  Promise.all(document.getAnimations().filter((one) => one.effect.getTiming().iterations !== Infinity)
    .map((one) => one.finished.catch(() => {}))))"""
WIDE, NARROW = {"width": 1280, "height": 860}, {"width": 360, "height": 740}
CONTRAST = {"runOnly": ["color-contrast"]}
ALL = {"rules": {"target-size": {"enabled": True}}}
ALL_BUT_CONTRAST = {"rules": {"target-size": {"enabled": True}, "color-contrast": {"enabled": False}}}


def findings(page: Page, options: dict[str, Any]) -> list[str]:
    """What axe finds wrong, a line for each element, once nothing moves any more."""
    page.evaluate(STILL)
    found = Axe().run(page, options={"resultTypes": ["violations"], **options}).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:160]} {node['failureSummary'][:300]}" for rule in found for node in rule["nodes"]
    ]


def inspect(page: Page) -> list[str]:
    """The page as it is now: wide in both themes, and narrow."""
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    found = findings(page, ALL)
    page.emulate_media(color_scheme="dark")
    found += findings(page, CONTRAST)
    page.set_viewport_size(NARROW)
    found += findings(page, ALL_BUT_CONTRAST)
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append("sticks out at 360 px")
    return found


def sign_in(page: Page) -> None:
    page.goto("/accounts/login/")
    page.locator("#id_username").fill("admin")
    page.locator("#id_password").fill(PASSWORD)
    page.locator("button.primary").click()
    page.locator(".welcome").wait_for()


@pytest.fixture
def page(open_page: OpenPage, site: Site, tmp_path: Path) -> Page:
    """Signed in as an administrator, on a conversation with an answer that has everything in it."""
    site.ollama.reset()
    site.ollama.reply(structured=False, text=ANSWER)
    page = open_page(DESKTOP)
    sign_in(page)
    title = f"Loans {uuid.uuid4().hex[:8]}"
    file = tmp_path / "loans.md"
    file.write_text(HANDBOOK.replace("Library loan regulations", title), encoding="utf-8")
    page.goto("/documents/")
    page.get_by_label("Files to upload").set_input_files(file)
    expect(page.locator(".doc", has_text=title).locator(".is-ready")).to_be_visible(timeout=60_000)
    page.goto("/")
    answer = ask(page, QUESTION)
    expect(answer.get_by_role("button", name="Copy the answer")).to_be_visible()
    return page


def test_an_answer_with_its_source_in_all_languages_and_widths(page: Page) -> None:
    answer = page.locator(".answer").last
    expect(answer.locator("math")).to_be_visible()
    expect(answer.locator(".hljs-keyword").first).to_be_visible()
    for chip in answer.locator(".prose .citation").all():
        box = chip.bounding_box()
        assert box and box["width"] >= 24 and box["height"] >= 24
    assert inspect(page) == []
    for language in ("zh-hans", "zh-hant", "en"):
        page.context.add_cookies([{"name": "django_language", "value": language, "url": page.url}])
        page.reload()
        answer.locator(".path-toggle > summary").click()
        page.set_viewport_size(WIDE)
        answer.locator(".prose .citation").first.click()
        expect(page.locator("#source-panel")).to_be_visible()
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        for width in (1920, 768):
            page.set_viewport_size({"width": width, "height": 900})
            assert findings(page, ALL_BUT_CONTRAST) == []
    assert inspect(page) == []


def test_every_other_page(page: Page) -> None:
    document = page.evaluate(
        "fetch('/api/documents').then((reply) => reply.json()).then(({ results }) => `/documents/${results[0].id}/`)"
    )
    answer = page.evaluate(
        "fetch('/api/review/answers').then((reply) => reply.json()).then(({ results }) => results[0].message_id)"
    )
    found: list[str] = []
    for path in (*PAGES, document, f"/review/answers/{answer}/"):
        page.set_viewport_size(WIDE)
        page.goto(path, wait_until="networkidle")
        found += [f"{path} {finding}" for finding in inspect(page)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("locale", ["en", "zh-CN", "zh-TW"])
def test_the_doors(open_page: OpenPage, locale: str) -> None:
    page = open_page(DESKTOP, locale=locale)
    for path in DOORS:
        page.goto(path)
        assert inspect(page) == [], path


def test_an_error(browser: Browser, site: Site) -> None:
    """Without `open_page`: the browser itself complains of a 404."""
    context = browser.new_context(base_url=site.url)
    page = context.new_page()
    page.goto("/nothing/here")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert inspect(page) == []
    context.close()
