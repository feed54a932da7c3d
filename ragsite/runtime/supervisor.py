"""The one process behind `make run`: starts the site's parts, again where one dies, and stops all together.

    supervisor ─┬─ milvus    Milvus Lite on loopback (unless MILVUS_URI names a server)
                ├─ web       uvicorn
                ├─ worker    Celery, prefork
                └─ beat      Celery's scheduler

A part lives in a session of its own, so that Ctrl-C reaches the supervisor alone, and dies with it even when it is
killed. A loop polls the parts ten times a second.
"""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from ragsite.runtime import child_process
from ragsite.runtime.milvus_lite import LiteServer, MilvusLiteError
from ragsite.runtime.start_checks import StartError

TICK_S = 0.1
QUICK_DEATH_S = 10.0  # a part that lives shorter than this died quickly
PAUSE_S = 1.0  # before a start, for each quick death before it
QUICK_DEATHS_ALLOWED = 5  # in a row; then something is wrong that a restart does not repair
PARTS_STOP_TIMEOUT_S = 3.5  # for web, worker and beat together; Milvus Lite comes after them
READY_TIMEOUT_S = 3.0  # of one look at /readyz
WEB_GRACE_S = 2  # that responses under way get to end; answers end at the signal itself (chat.runs.lifespan)
HEAD_BYTES = 64 << 10  # of a request's address and headers, beside what arrives in one piece
BEAT_DELAY_S = 10.0  # so that periodic tasks don't slow down the first pages


class Part:
    """Something that is started, polled and stopped. delay_s: until its first start."""

    def __init__(
        self, name: str, *, log_path: Path, stop_signal: signal.Signals = signal.SIGTERM, delay_s: float = 0.0
    ) -> None:
        self.name, self.log_path, self.stop_signal = name, log_path, stop_signal
        self.process: subprocess.Popen[bytes] | None = None
        self.next_start: float | None = time.monotonic() + delay_s  # None: it runs
        self.started_at, self.quick_deaths = 0.0, 0

    def start(self) -> bool:
        """Start it, or start it again. False: not now, ask later."""
        raise NotImplementedError


class Program(Part):
    """A part that is a command line."""

    def __init__(
        self, name: str, command: list[str], *, log_path: Path, env: Mapping[str, str], cwd: Path, **options: Any
    ) -> None:
        super().__init__(name, log_path=log_path, **options)
        self.command, self._env, self._cwd = command, env, cwd

    def start(self) -> bool:
        if self.process is not None:
            child_process.kill_groups([self.process])  # its orphans would go on with its work beside the new one
        self.process = child_process.spawn(self.command, log_path=self.log_path, env=self._env, cwd=self._cwd)
        return True


class MilvusLite(Part):
    """The folder's Milvus Lite server. While a command that started before us owns one, that one serves.

    on_restart: called after it died and was started again, as its last writes may be lost.
    """

    def __init__(self, data_dir: Path, *, port: int, on_restart: Callable[[], None]) -> None:
        self.server = LiteServer(data_dir, port=port)
        super().__init__("milvus", log_path=self.server.log_path)
        self._on_restart = on_restart

    def start(self) -> bool:
        died = self.process is not None
        if not died and not self.server.claim():
            return False
        try:
            self.server.start()
        except MilvusLiteError as error:
            raise StartError(str(error)) from error
        self.process = self.server.process
        if died:
            self._on_restart()
        return True


class Supervisor:
    """Starts the parts, polls them, and stops them. Belongs to one thread, which must be the main one.

    url: of the site, for `/readyz`. say: prints a line for the operator.
    """

    def __init__(self, *, url: str, say: Callable[[str], None]) -> None:
        self._ready_url = f"{url.rstrip('/')}/readyz"
        self._say = say
        self._parts: list[Part] = []
        self._stopping = False

    def add(self, part: Part) -> None:
        """Start it and poll it from now on. Raises StartError."""
        self._parts.append(part)
        self.poll()

    def run(self, *, when_ready: Callable[[], None] = lambda: None) -> None:
        """Until SIGINT, SIGTERM or SIGHUP. Calls `when_ready` once, at the first ready answer. Raises StartError."""
        ready = False
        while not self._stopping:
            self.poll()
            if not ready and (ready := _answers_well(self._ready_url)):
                when_ready()
            for part in self._parts:
                child_process.trim_log(part.log_path)
            time.sleep(TICK_S)

    def poll(self) -> None:
        """Plan the restart of each part that has ended, and start those whose time it is. Raises StartError."""
        now = time.monotonic()
        for part in self._parts:
            if part.next_start is None and part.process is not None and part.process.poll() is not None:
                self._plan_restart(part, part.process.returncode, now)
            if part.next_start is not None and now >= part.next_start and part.start():
                part.started_at, part.next_start = now, None

    def _plan_restart(self, part: Part, code: int, now: float) -> None:
        """After a pause that grows with each quick death. Raises StartError after too many of them."""
        part.quick_deaths = part.quick_deaths + 1 if now - part.started_at < QUICK_DEATH_S else 0
        if part.quick_deaths >= QUICK_DEATHS_ALLOWED:
            raise StartError(
                f"{part.name} ended {part.quick_deaths} times right after its start; the end of {part.log_path}:\n"
                + child_process.log_tail(part.log_path)
            )
        part.next_start = now + part.quick_deaths * PAUSE_S
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        self._say(f"{part.name} {how}; starting it again.")

    def stop(self) -> None:
        """Everything but Milvus Lite first and at once, so that nobody loses it in the middle of a write.

        What has not ended in time is killed.
        """
        programs = [part for part in self._parts if isinstance(part, Program)]
        running = [(program, program.process) for program in programs if program.process is not None]
        for program, process in running:
            if process.poll() is None:
                process.send_signal(program.stop_signal)
        deadline = time.monotonic() + PARTS_STOP_TIMEOUT_S
        while any(process.poll() is None for _, process in running) and time.monotonic() < deadline:
            time.sleep(0.05)
        child_process.kill_groups([process for _, process in running])
        for part in self._parts:
            if isinstance(part, MilvusLite) and part.process is not None:
                part.server.stop()

    def handle_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True


def _answers_well(url: str) -> bool:
    """Whether a GET is answered with 200. Proxies of the environment are not used."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with suppress(OSError, http.client.HTTPException), opener.open(url, timeout=READY_TIMEOUT_S) as answer:
        return bool(answer.status == 200)
    return False


def programs(
    *, data_dir: Path, base_dir: Path, host: str, port: int, workers: int, environ: Mapping[str, str]
) -> list[Program]:
    """Web, worker and beat, all of them with this interpreter and this data folder."""
    python = [sys.executable, "-m"]
    celery = [*python, "celery", "-A", "ragsite"]
    web = [*python, "uvicorn", "ragsite.asgi:application", "--host", host, "--port", str(port)]
    web += ["--ws", "websockets-sansio", "--timeout-graceful-shutdown", str(WEB_GRACE_S), "--no-server-header"]
    web += ["--http", "h11", "--h11-max-incomplete-event-size", str(HEAD_BYTES)]  # httptools takes a head of any length
    web += ["--no-proxy-headers"]  # ragsite.asgi believes RAGSITE_TRUSTED_PROXIES, and nobody else
    worker = [*celery, "worker", "--pool", "prefork", "--concurrency", str(workers), "--max-tasks-per-child", "200"]
    worker += ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "INFO"]
    beat = [*celery, "beat", "--pidfile=", "--loglevel", "INFO"]
    env = {**environ, "RAGSITE_DATA_DIR": str(data_dir), "PYTHONUNBUFFERED": "1"}

    def program(name: str, command: list[str], **options: Any) -> Program:
        log_path = data_dir / "logs" / f"{name}.log"
        return Program(name, command, log_path=log_path, env=env, cwd=base_dir, **options)

    return [
        program("web", web),
        program("worker", worker, stop_signal=signal.SIGQUIT),  # at SIGTERM it would wait for its tasks without a limit
        program("beat", beat, delay_s=BEAT_DELAY_S),
    ]
