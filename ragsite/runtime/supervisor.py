"""The one process behind `make run`: starts the site's parts, again where one dies, and stops all together.

    supervisor ─┬─ milvus    Milvus Lite on loopback (unless MILVUS_URI names a server)
                ├─ web       uvicorn
                ├─ worker    Celery, prefork
                ├─ sources   Celery, prefork, for synced sources alone
                └─ beat      Celery's scheduler

A part lives in a session of its own, so that Ctrl-C reaches the supervisor alone, and dies with it even when it is
killed (`child_process`). A loop polls the parts ten times a second.
"""

from __future__ import annotations

import http.client
import signal
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from ragsite.runtime import child_process
from ragsite.runtime.child_process import Child
from ragsite.runtime.milvus_lite import LiteServer
from ragsite.runtime.start_checks import StartError

TICK_S = 0.1
QUICK_DEATH_S = 10.0  # a part that lives shorter than this died quickly
PAUSE_S = 1.0  # before a start, for each quick death before it
QUICK_DEATHS_ALLOWED = 5  # in a row; then something is wrong that a restart does not repair
LAST_LINES = 12  # of its log, which the message has then
PARTS_STOP_TIMEOUT_S = 3.5  # for web, worker and beat together; Milvus Lite comes after them
READY_TIMEOUT_S = 3.0  # of one look at /readyz
WEB_GRACE_S = (
    2  # that responses under way get to end; answers end at the signal itself (chat.lifespan)
)
HEAD_BYTES = 64 << 10  # of a request's address and headers, beside what arrives in one piece
DELAYS_S = {"sources": 5.0, "beat": 10.0}  # so that they don't slow down the first pages
SOURCES_AT_ONCE = 2  # runs of synced sources


@dataclass
class _Part:
    """A child and its next start, on the monotonic clock; None: it runs."""

    child: Child
    next_start: float | None
    when_restarted: Callable[[], object] | None
    started_at: float = 0.0
    quick_deaths: int = 0


class Supervisor:
    """Starts the parts, polls them, and stops them. Belongs to one thread, which must be the main one.

    url: of the site, for `/readyz`. say: prints a line for the operator.
    """

    def __init__(self, *, url: str, say: Callable[[str], None]) -> None:
        self._ready_url = f"{url.rstrip('/')}/readyz"
        self._say = say
        self._parts: list[_Part] = []
        self._stopping = False

    def add(
        self,
        child: Child,
        *,
        delay_s: float = 0.0,
        when_restarted: Callable[[], object] | None = None,
    ) -> None:
        """Start it, after `delay_s`, and poll it from now on. Raises StartError."""
        self._parts.append(_Part(child, time.monotonic() + delay_s, when_restarted))
        self.poll()

    def run(self, *, when_ready: Callable[[], object] = lambda: None) -> None:
        """Until SIGINT, SIGTERM or SIGHUP. Calls `when_ready` once, at the first ready answer. Raises StartError."""
        ready = False
        while not self._stopping:
            self.poll()
            if not ready and (ready := _answers_well(self._ready_url)):
                when_ready()
            for part in self._parts:
                part.child.trim_log()
                if isinstance(part.child, LiteServer) and (line := part.child.notice()):
                    self._say(line)
            time.sleep(TICK_S)

    def poll(self) -> None:
        """Plan the restart of each part that has ended, and start those whose time it is. Raises StartError."""
        now = time.monotonic()
        for part in self._parts:
            former = part.child.process
            if part.next_start is None and former is not None and former.poll() is not None:
                self._plan_restart(part, former.returncode, now)
            if part.next_start is not None and now >= part.next_start and part.child.start():
                part.started_at = now
                part.next_start = None
                if former is not None and part.when_restarted is not None:
                    part.when_restarted()

    def _plan_restart(self, part: _Part, code: int, now: float) -> None:
        """After a pause that grows with each quick death. Raises StartError after too many of them."""
        name = part.child.name
        log_path = part.child.log_path
        part.quick_deaths = part.quick_deaths + 1 if now - part.started_at < QUICK_DEATH_S else 0
        if part.quick_deaths >= QUICK_DEATHS_ALLOWED:
            last_words = "\n".join(
                log_path.read_text("utf-8", "replace").splitlines()[-LAST_LINES:]
            )
            times = f"{part.quick_deaths} times right after its start"
            raise StartError(f"{name} ended {times}; the end of {log_path}:\n{last_words}")
        part.next_start = now + part.quick_deaths * PAUSE_S
        how = (
            f"was ended by {signal.Signals(-code).name}"
            if code < 0
            else f"ended with exit code {code}"
        )
        self._say(f"{name} {how}; starting it again.")

    def stop(self) -> None:
        """Everything but Milvus Lite first and at once, so that nobody loses it in the middle of a write."""
        children = [part.child for part in self._parts]
        servers = [child for child in children if isinstance(child, LiteServer)]
        child_process.stop(
            [child for child in children if child not in servers], timeout_s=PARTS_STOP_TIMEOUT_S
        )
        for server in servers:
            server.stop()

    def handle_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True


def _answers_well(url: str) -> bool:
    """Whether a GET is answered with 200. Proxies of the environment are not used."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with (
        suppress(OSError, http.client.HTTPException),
        opener.open(url, timeout=READY_TIMEOUT_S) as answer,
    ):
        return bool(answer.status == 200)
    return False


def programs(
    *,
    data_dir: Path,
    base_dir: Path,
    host: str,
    port: int,
    workers: int,
    environ: Mapping[str, str],
) -> list[Child]:
    """Web, worker and beat, all of them with this interpreter and this data folder."""
    python = [sys.executable, "-m"]
    celery = [*python, "celery", "-A", "ragsite"]
    web = [*python, "uvicorn", "ragsite.asgi:application", "--host", host, "--port", str(port)]
    web += [
        "--ws",
        "websockets-sansio",
        "--timeout-graceful-shutdown",
        str(WEB_GRACE_S),
        "--no-server-header",
    ]
    web += [
        "--http",
        "ragsite.web.protocol:Protocol",
        "--h11-max-incomplete-event-size",
        str(HEAD_BYTES),
    ]  # httptools takes a head of any length
    web += ["--no-proxy-headers"]  # ragsite.asgi believes RAGSITE_TRUSTED_PROXIES, and nobody else
    pool = ["--pool", "prefork", "--max-tasks-per-child", "200"]
    pool += ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "INFO"]
    worker = [*celery, "worker", "--concurrency", str(workers), *pool]
    sources = [*celery, "worker", "--queues", "sources", "--hostname", "sources@%h"]
    sources += ["--concurrency", str(SOURCES_AT_ONCE), *pool]
    beat = [*celery, "beat", "--pidfile=", "--loglevel", "INFO"]
    env = {**environ, "RAGSITE_DATA_DIR": str(data_dir), "PYTHONUNBUFFERED": "1"}

    env |= {
        "RAGSITE_DRAIN_S": environ.get("RAGSITE_DRAIN_S", "0")
    }  # nobody could go on in its place

    def program(name: str, command: list[str], **options: Any) -> Child:
        log_path = data_dir / "logs" / f"{name}.log"
        return Child(name, command, log_path=log_path, env=env, cwd=base_dir, **options)

    return [
        program("web", web),
        program(
            "worker", worker, stop_signal=signal.SIGQUIT
        ),  # at SIGTERM it would wait for its tasks without a limit
        program("sources", sources, stop_signal=signal.SIGQUIT),
        program("beat", beat),
    ]
