"""Has Ollama download a model, told as Server-Sent Events while it goes."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
from asgiref.sync import sync_to_async

from ragsite.accounts.credentials import Credential, SignedOutError, while_signed_in
from ragsite.core.localized import localized
from ragsite.core.messages import worded
from ragsite.core.server_settings import OllamaSettings
from retrieval.compose import get_engine
from retrieval.engine.errors import ModelError
from retrieval.engine.providers.registry import load_kind, make_server
from retrieval.engine.providers.server import PullProgress

TOLD_EVERY_S = 0.5  # a server has ten lines a second
SPARE_BYTES = 1_000_000_000  # that a download leaves on the disk
FOLDERS = (
    "/usr/share/ollama/.ollama",
    "~/.ollama",
    "/",
)  # of a server on this machine: as a service, by hand, neither
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def space_left(settings: OllamaSettings) -> int | None:
    """Bytes where an Ollama on this machine keeps its models; None: it is elsewhere."""
    if httpx.URL(settings.base_url).host not in LOOPBACK:
        return None
    folders = [
        Path(folder).expanduser()
        for folder in (os.environ.get("OLLAMA_MODELS", ""), *FOLDERS)
        if folder
    ]
    folder = next(folder for folder in folders if folder.is_dir())
    return shutil.disk_usage(folder).free


async def pull_events(
    name: str, settings: OllamaSettings, credential: Credential | None
) -> AsyncIterator[str]:
    """`data:` lines of `PullEventSerializer`. It ends with `success` or with an error, which is the last event."""
    last = PullProgress(step="")
    told_at = float("-inf")
    try:
        async with aclosing(_pulled(name, settings)) as progress:
            async for event in while_signed_in(progress, credential):
                is_news = event.total != last.total or event.step == "success"
                last = event
                if not is_news and time.monotonic() - told_at < TOLD_EVERY_S:
                    continue
                told_at = time.monotonic()
                free = await sync_to_async(space_left)(settings)
                yield _line(event, free)
                if free is not None and event.total - event.completed > free - SPARE_BYTES:
                    problem = worded("There is not enough room on the disk for this model.")
                    yield _line(event, free, error=str(localized(problem)))
                    return
    except ModelError as error:
        yield _line(last, None, error=str(localized(error.reason)))
    except SignedOutError as error:
        yield _line(last, None, error=str(localized(error.message)))


async def _pulled(name: str, settings: OllamaSettings) -> AsyncGenerator[PullProgress, None]:
    await load_kind("ollama")
    server = make_server(("ollama", settings.base_url), settings)
    try:
        async with aclosing(server.pull(name)) as progress:
            async for event in progress:
                if event.step == "success":
                    get_engine().models.look_again()
                yield event
    finally:
        await server.close()


def _line(progress: PullProgress, free: int | None, **more: Any) -> str:
    told = {
        "step": progress.step,
        "completed": progress.completed,
        "total": progress.total,
        "free": free,
        **more,
    }
    return f"data: {json.dumps(told, ensure_ascii=False)}\n\n"
