"""Load: many open WebSockets, some of them with an answer being written, against a site that runs.

    python -m benchmarks.load http://127.0.0.1:8000 [--sockets 200] [--streams 50] [--question "..."] [--json]

The baseline, of the same run, is the same question asked by one socket of an otherwise idle site. What a token takes is
the model's affair: run it against a simulated Ollama to see the site's own share. Accounts are made by signing up, as
many as the site's limit of answers at once asks for; their conversations are deleted at the end, the accounts stay.
Memory and CPU time are what the web process says of itself at /metrics.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
import uuid
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import httpx
import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from benchmarks.tables import show

QUESTION = (
    "How many books may an undergraduate borrow at once under the 2025 library loan regulations?"
)
TIMEOUT_S = 180.0
MEMORY = "process_resident_memory_bytes"
CPU = "process_cpu_seconds_total"
FORM_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@dataclass(slots=True)
class Stream:
    """One answer as its reader saw it; times in ms from the moment the question was sent."""

    first_token_ms: float | None = None
    total_ms: float | None = None
    session_id: str = ""
    token: str = ""
    error: str = ""


@dataclass(slots=True)
class Round:
    streams: list[Stream] = field(default_factory=list)
    pongs_ms: list[float] = field(default_factory=list)
    memory_mib: list[float] = field(default_factory=list)
    lost: int = 0  # idle sockets that no longer answered
    sockets: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0  # that the web process used meanwhile

    def row(self, name: str) -> dict[str, object]:
        done = [stream for stream in self.streams if not stream.error]
        return {
            "load": name,
            "sockets": self.sockets,
            "answers": len(done),
            "errors": len(self.streams) - len(done) + self.lost,
            "first token p50 ms": _percentile([s.first_token_ms for s in done], 50),
            "first token p95 ms": _percentile([s.first_token_ms for s in done], 95),
            "answer p95 ms": _percentile([s.total_ms for s in done], 95),
            "answers/s": len(done) / self.seconds,
            "CPU ms/answer": self.cpu_s * 1000 / len(done) if done else None,
            "ping p95 ms": _percentile(list(self.pongs_ms), 95),
            "memory MiB": max(self.memory_mib, default=None),
        }


class Site:
    def __init__(self, url: str) -> None:
        self.http = httpx.AsyncClient(base_url=url, timeout=60)
        self.socket_url = re.sub("^http", "ws", url.rstrip("/")) + "/ws/chat/"

    async def sign_up(self) -> str:
        """A new account's token. Raises SystemExit where nobody may sign up."""
        name = f"load-{uuid.uuid4().hex[:10]}"
        password = uuid.uuid4().hex
        async with httpx.AsyncClient(base_url=self.http.base_url, timeout=60) as browser:
            found = FORM_TOKEN.search((await browser.get("/accounts/signup/")).text)
            if found is None:
                raise SystemExit("This site takes no new accounts (RAGSITE_SIGNUP=0).")
            form = {
                "csrfmiddlewaretoken": found[1],
                "username": name,
                "password1": password,
                "password2": password,
            }
            referer = {"Referer": f"{self.http.base_url}accounts/signup/"}
            await browser.post("/accounts/signup/", data=form, headers=referer)
        reply = await self.http.post(
            "/api/auth/token", json={"username": name, "password": password}
        )
        reply.raise_for_status()
        return str(reply.json()["token"])

    def open(self, token: str) -> connect:
        return connect(
            self.socket_url, additional_headers={"Authorization": f"Token {token}"}, open_timeout=60
        )

    async def metric(self, name: str) -> float:
        text = (await self.http.get("/metrics")).text
        found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
        if found is None:
            raise SystemExit(f"This site's /metrics lacks {name}.")
        return float(found[1])

    async def forget(self, stream: Stream) -> None:
        if stream.session_id:
            await self.http.delete(
                f"/api/sessions/{stream.session_id}",
                headers={"Authorization": f"Token {stream.token}"},
            )


async def ask(socket: ClientConnection, question: str, token: str) -> Stream:
    """Asks over a socket and reads to the end; what went wrong is told in `error`, never raised."""
    stream = Stream(token=token)
    begun = time.perf_counter()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await socket.send(json.dumps({"type": "ask", "message": question}))
            while stream.total_ms is None:
                event: dict[str, Any] = json.loads(await socket.recv())
                now = (time.perf_counter() - begun) * 1000
                stream.session_id = event.get("session_id") or stream.session_id
                if event["type"] == "chunk":
                    stream.first_token_ms = stream.first_token_ms or now
                elif event["type"] == "error":
                    stream.error = event["code"]
                if event["type"] in ("done", "error"):
                    stream.total_ms = now
    except (OSError, TimeoutError, WebSocketException) as error:
        stream.error = type(error).__name__
    return stream


async def ping(socket: ClientConnection, seen: Round) -> None:
    begun = time.perf_counter()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await socket.send('{"type": "ping"}')
            await socket.recv()
    except (OSError, TimeoutError, WebSocketException):
        seen.lost += 1
    else:
        seen.pongs_ms.append((time.perf_counter() - begun) * 1000)


async def watch(site: Site, idle: list[ClientConnection], seen: Round) -> None:
    """While answers are written: what the process weighs, and how long an idle socket waits for its pong."""
    for socket in cycle(idle or [None]):
        seen.memory_mib.append(await site.metric(MEMORY) / 2**20)
        if socket is not None:
            await ping(socket, seen)
        await asyncio.sleep(0.2)


async def measure(
    site: Site, tokens: list[str], *, sockets: int, streams: int, question: str
) -> Round:
    seen = Round(sockets=sockets)
    async with AsyncExitStack() as stack:
        owners = [tokens[number % len(tokens)] for number in range(sockets)]
        opened = [await stack.enter_async_context(site.open(token)) for token in owners]
        watcher = asyncio.create_task(watch(site, opened[streams:], seen))
        before = await site.metric(CPU)
        begun = time.perf_counter()
        asking = (ask(opened[number], question, owners[number]) for number in range(streams))
        seen.streams = await asyncio.gather(*asking)
        seen.seconds = time.perf_counter() - begun
        seen.cpu_s = await site.metric(CPU) - before
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)
        seen.memory_mib.append(await site.metric(MEMORY) / 2**20)
    for stream in seen.streams:
        await site.forget(stream)
    return seen


def _percentile(values: list[float | None] | list[float], which: int) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.percentile(known, which)) if known else None


async def run(options: argparse.Namespace) -> None:
    site = Site(options.url)
    accounts = max(1, -(-options.streams // options.per_user))
    tokens = [await site.sign_up() for _ in range(accounts)]
    await measure(site, tokens[:1], sockets=1, streams=1, question=options.question)  # warm
    alone = await measure(site, tokens[:1], sockets=1, streams=1, question=options.question)
    loaded = await measure(
        site,
        tokens,
        sockets=max(options.sockets, options.streams),
        streams=options.streams,
        question=options.question,
    )
    errors = sorted({stream.error for stream in loaded.streams if stream.error})
    notes = [f"errors: {', '.join(errors)}"] if errors else []
    show([alone.row("alone"), loaded.row("loaded")], as_json=options.json, notes=notes)
    await site.http.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Open WebSockets and answers being written, all at once."
    )
    parser.add_argument("url", help="where the site runs, e.g. http://127.0.0.1:8000")
    parser.add_argument("--sockets", type=int, default=200, help="open at once (default: 200)")
    parser.add_argument(
        "--streams", type=int, default=50, help="of them with an answer being written (default: 50)"
    )
    parser.add_argument(
        "--per-user", type=int, default=2, help="answers at once that the site allows (default: 2)"
    )
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--json", action="store_true")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
