"""A whole site as `manage.py up` runs it, and a browser in front of it."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.ollama_server import OllamaServer
from tests.processes import wait_until
from tests.running_site import PASSWORD, running_site

PATIENCE_MS = 20_000
DESKTOP = {"viewport": {"width": 1280, "height": 860}}
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
    "device_scale_factor": 2,
}


@dataclass(frozen=True)
class Site:
    url: str
    ollama: OllamaServer


@pytest.fixture(scope="package")
def site(
    tmp_path_factory: pytest.TempPathFactory, milvus_uri: str, migrated_database: Path | None
) -> Iterator[Site]:
    """Web, worker and beat on a data folder of their own; only the models are simulated."""
    ollama = OllamaServer()
    ollama.start()
    variables = {
        "OLLAMA_BASE_URL": ollama.url, "RAG_OFFLINE": "auto", "MILVUS_URI": milvus_uri,
        "RAG_MILVUS_PREFIX": f"t{uuid.uuid4().hex[:12]}",
    }  # fmt: skip
    data_dir = tmp_path_factory.mktemp("site") / "var"
    with running_site(data_dir, database=migrated_database, **variables) as running:
        yield Site(running.url, ollama)
    ollama.stop()


@pytest.fixture(scope="package")
def admin_api(site: Site) -> Iterator[httpx.Client]:
    """The administrator's calls."""
    with httpx.Client(base_url=site.url, timeout=120) as api:
        token = api.post(
            "/api/auth/token", json={"username": "admin", "password": PASSWORD}
        ).json()["token"]
        api.headers["Authorization"] = f"Token {token}"
        yield api


def add_document(api: httpx.Client, collection: str, name: str, text: str) -> str:
    """Its id, once it is read."""
    sent = api.post(
        "/api/documents", files={"file": (name, text.encode())}, data={"collection": collection}
    )
    document: str = sent.json()["documents"][0]["id"]
    assert wait_until(
        lambda: api.get(f"/api/documents/{document}").json()["status"] == "ready", within_s=60
    )
    return document


def sign_in(page: Page, name: str = "admin", *, to: str = "/") -> None:
    page.goto(f"/accounts/login/?next={to}")
    page.get_by_label("Username", exact=True).fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(
        lambda url: "/accounts/login" not in url
    )  # and for its scripts: keys that come before are lost


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    executable = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if executable is None:
        reason = "No Chromium is installed."
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=arguments)
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page, and what must not happen on it, but for what the test brings about."""

    page: Page
    complaints: list[str]
    expected: str = ""

    def unexpected(self) -> list[str]:
        return [one for one in self.complaints if not self.expected or self.expected not in one]


def _watch(page: Page, site: Site) -> list[str]:
    complaints: list[str] = []
    page.on(
        "console",
        lambda entry: complaints.append(entry.text) if entry.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))

    def own_host(request: Any) -> None:
        address = urlsplit(request.url)
        if (
            address.scheme in ("http", "https", "ws")
            and address.netloc != urlsplit(site.url).netloc
        ):
            complaints.append(f"request to {request.url}")

    page.on("request", own_host)
    return complaints


@pytest.fixture
def open_page(site: Site, browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages; at the end, nothing may have complained and nothing been asked of other hosts."""
    contexts: list[BrowserContext] = []
    watched: list[Watched] = []

    def opener(device: dict[str, Any], *, expected: str = "", **more: Any) -> Page:
        context = browser.new_context(base_url=site.url, **device, **more)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        watched.append(Watched(page, _watch(page, site), expected))
        return page

    yield opener
    complaints = [complaint for one in watched for complaint in one.unexpected()]
    for context in contexts:
        context.close()
    assert complaints == []
