"""A whole site as `manage.py up` runs it, and a browser in front of it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.ollama_server import OllamaServer
from tests.processes import free_port

PASSWORD = "correct horse battery"
READY_WITHIN_S = 300.0  # a loaded machine takes its time; collecting static files, too
PATIENCE_MS = 20_000
DESKTOP = {"viewport": {"width": 1280, "height": 860}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


@dataclass(frozen=True)
class Site:
    url: str
    ollama: OllamaServer
    data_dir: Path


def _environment(data_dir: Path, port: int, milvus_uri: str, ollama: OllamaServer) -> dict[str, str]:
    ours = re.compile(r"RAG|OLLAMA_|MILVUS_|DATABASE_URL|REDIS_URL|GOOGLE_|DJANGO_")
    kept = {name: value for name, value in os.environ.items() if not ours.match(name)}
    return kept | {
        "RAGSITE_DATA_DIR": str(data_dir), "RAGSITE_PORT": str(port), "RAGSITE_SAMPLE_DATA": "0",
        "RAGSITE_ADMIN_PASSWORD": PASSWORD, "OLLAMA_BASE_URL": ollama.url, "MILVUS_URI": milvus_uri,
        "RAG_MILVUS_PREFIX": f"t{uuid.uuid4().hex[:12]}",
    }  # fmt: skip


def _wait_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(f"{url}/readyz", timeout=5.0).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    pytest.fail(f"The site did not become ready:\n{log.read_text()[-4000:]}")


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory, milvus_uri: str) -> Iterator[Site]:
    """Web, worker and beat on a data folder of their own; only the models are simulated."""
    data_dir = tmp_path_factory.mktemp("site")
    log = data_dir / "up.log"
    port = free_port()
    ollama = OllamaServer()
    ollama.start()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up"], cwd=settings.BASE_DIR, stdout=output, stderr=subprocess.STDOUT,
            env=_environment(data_dir, port, milvus_uri, ollama), start_new_session=True,
        )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_ready(url, process, log)
        yield Site(url, ollama, data_dir)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
        ollama.stop()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
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
    """A page, and what must not happen on it."""

    page: Page
    complaints: list[str]


def _watch(page: Page, site: Site) -> list[str]:
    complaints: list[str] = []
    page.on("console", lambda entry: complaints.append(entry.text) if entry.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))

    def own_host(request: Any) -> None:
        address = urlsplit(request.url)
        if address.scheme in ("http", "https", "ws") and address.netloc != urlsplit(site.url).netloc:
            complaints.append(f"request to {request.url}")

    page.on("request", own_host)
    return complaints


@pytest.fixture
def open_page(site: Site, browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages; at the end, nothing may have complained and nothing been asked of other hosts."""
    contexts: list[BrowserContext] = []
    watched: list[Watched] = []

    def opener(device: dict[str, Any], **more: Any) -> Page:
        context = browser.new_context(base_url=site.url, **device, **more)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        watched.append(Watched(page, _watch(page, site)))
        return page

    yield opener
    complaints = [complaint for one in watched for complaint in one.complaints]
    for context in contexts:
        context.close()
    assert complaints == []
