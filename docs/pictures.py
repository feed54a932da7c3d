"""Takes the README's pictures of a running site with the sample documents, in light and in dark, as small WebP files.

    make run                                                                 # in another terminal, on a new data folder
    make pictures ARGS="http://127.0.0.1:8000 --password PASSWORD"           # of the user admin

Asks the samples' questions, rates the answers by their labels, and leaves all of it there. Of a site without a model
(`RAG_OFFLINE=1 make run`) it takes the picture of that alone. Needs Chromium.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import APIRequest, APIRequestContext, Page, expect, sync_playwright

FOLDER = Path(__file__).parent / "images"
SAMPLES = Path(__file__).parents[1] / "retrieval" / "samples" / "questions.json"
QUESTION = "What does it cost to submit the thesis again after result R4?"
ASKED_WITHOUT_MODEL = "How large is the deposit for a room in Lakeside hall?"
SIZE = {"width": 1280, "height": 800}
SCALE = 1.5
MOST_BYTES = 150_000
PATIENCE_MS = 60_000
PAUSE_S = 2.1  # 30 questions in a minute


def save(page: Page, name: str) -> None:
    """The page in both themes, as `name.webp` and `name-dark.webp`."""
    for scheme, ending in (("light", ""), ("dark", "-dark")):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.wait_for_timeout(600)  # charts are drawn anew
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        for quality in (84, 76, 68, 60):
            file = io.BytesIO()
            picture.save(file, "WEBP", quality=quality, method=6)
            if file.tell() <= MOST_BYTES:
                break
        else:
            raise SystemExit(f"{name}{ending}.webp would be larger than {MOST_BYTES} bytes.")
        (FOLDER / f"{name}{ending}.webp").write_bytes(file.getvalue())


def signed_in(request: APIRequest, site: str, name: str, password: str) -> APIRequestContext:
    api = request.new_context(base_url=site, timeout=PATIENCE_MS)
    token = api.post("/api/auth/token", data={"username": name, "password": password}).json()[
        "token"
    ]
    return request.new_context(
        base_url=site, timeout=PATIENCE_MS, extra_http_headers={"Authorization": f"Token {token}"}
    )


def ask_samples(api: APIRequestContext) -> None:
    """For the desk: the samples' questions, rated by whether the decision is right."""
    for sample in json.loads(SAMPLES.read_text(encoding="utf-8"))["questions"]:
        answer = api.post("/api/chat", data={"message": sample["question"]}).json()
        thumb = "up" if answer["decision"] == sample["expects"] else "down"
        api.put(f"/api/messages/{answer['message_id']}/rating", data={"thumb": thumb})
        time.sleep(PAUSE_S)


def sign_in(page: Page, name: str, password: str) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Username", exact=True).fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="What would you like to know?").wait_for()


def chat(page: Page) -> None:
    page.goto("/")
    page.get_by_role("textbox", name="Your question").fill(QUESTION)
    page.keyboard.press("Enter")
    answer = page.get_by_role("article", name="Answer").last
    expect(answer.get_by_role("button", name="Copy the answer")).to_be_visible(timeout=PATIENCE_MS)
    answer.locator(".prose .citation").first.click()
    page.locator(".is-drawn, mark.evidence").first.wait_for()
    save(page, "chat")
    page.keyboard.press("Escape")


def decision_path(page: Page) -> None:
    answer = page.get_by_role("article", name="Answer").last
    answer.locator(".path-toggle > summary").click()
    save(page, "decision-path")


def review_desk(page: Page) -> None:
    page.goto("/review/?sort=worst&decision=ANSWER")
    page.locator(".review-question").first.click()
    page.locator(".path-step").first.wait_for()
    save(page, "review-answer")


def without_model(page: Page) -> None:
    page.goto("/")
    page.get_by_role("textbox", name="Your question").fill(ASKED_WITHOUT_MODEL)
    page.keyboard.press("Enter")
    answer = page.get_by_role("article", name="Answer").last
    expect(answer.get_by_role("button", name="Copy the answer")).to_be_visible(timeout=PATIENCE_MS)
    save(page, "without-model")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site")
    parser.add_argument("--name", default="admin")
    parser.add_argument("--password", required=True)
    options = parser.parse_args()
    pictures: tuple[Callable[[Page], None], ...] = (without_model,)
    with sync_playwright() as playwright:
        api = signed_in(playwright.request, options.site, options.name, options.password)
        if api.get("/api/status").json()["online"]:
            ask_samples(api)
            pictures = (chat, decision_path, review_desk)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        context = browser.new_context(
            base_url=options.site, viewport=SIZE, device_scale_factor=SCALE, locale="en-GB"
        )
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        sign_in(page, options.name, options.password)
        for picture in pictures:
            picture(page)
        browser.close()


if __name__ == "__main__":
    main()
