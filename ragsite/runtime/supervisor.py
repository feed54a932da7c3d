"""The one process behind `make run`: starts the site's parts, again where one dies or hangs, and stops all together.

    supervisor ─┬─ milvus    Milvus Lite on loopback (unless MILVUS_URI names a server)
                ├─ web       uvicorn
                ├─ worker    Celery, prefork
                └─ beat      Celery's scheduler

A part lives in a session of its own, so that Ctrl-C reaches the supervisor alone, and dies with it even when it is
killed. A loop polls the parts ten times a second. Whether a part that runs still answers is asked by a thread
(`ragsite.runtime.probes`), so that a part that hangs does not hang the loop.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Protocol

from ragsite.runtime import child_process
from ragsite.runtime.milvus_lite import LiteServer, MilvusLiteError
from ragsite.runtime.probes import Probe, http_status
from ragsite.runtime.start_checks import StartError

TICK_S = 0.1
QUICK_DEATH_S = 10.0  # a part that lives shorter than this died quickly
QUICK_DEATHS_ALLOWED = 5  # in a row; then something is wrong that a restart does not repair
BACKOFF_S = (0.0, 0.5, 1.0, 2.0, 4.0)
STOP_TIMEOUT_S = 4.2  # for everything but killing what is left
PARTS_STOP_TIMEOUT_S = 3.5  # of it for web, worker and beat together; Milvus Lite comes after them
MILVUS_STOP_TIMEOUT_S = 0.3  # that it gets in any case; it survives a kill
READY_POLL_S = 0.25
READY_WARNING_S = 60.0
HEALTH_POLL_S = 2.0
HANG_S = 20.0  # a part that has not answered for this long is killed and started again
START_HANG_S = 120.0  # the same before its first answer: a loaded machine takes its time to start it
LOG_CHECK_S = 30.0
WEB_GRACE_S = 2  # that responses under way get to end; answers end at the signal itself (chat.runs.lifespan)
HEAD_BYTES = 64 << 10  # of a request's address and headers, beside what arrives in one piece
BEAT_DELAY_S = 10.0  # so that periodic tasks don't slow down the first pages


class Part(Protocol):
    """Something that is started, polled and stopped."""

    name: str
    log_path: Path
    stop_signal: signal.Signals

    @property
    def process(self) -> subprocess.Popen[bytes] | None: ...

    def start(self) -> bool:
        """Start it, or start it again. False: not now, ask later."""
        ...


class Program:
    """A part that is a command line."""

    def __init__(
        self,
        name: str,
        command: list[str],
        *,
        log_path: Path,
        env: Mapping[str, str],
        cwd: Path,
        stop_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        self.name = name
        self.stop_signal = stop_signal
        self.log_path = log_path
        self.process: subprocess.Popen[bytes] | None = None
        self.command, self._env, self._cwd = command, env, cwd

    def start(self) -> bool:
        if self.process is not None:
            child_process.kill_group(self.process)  # its orphans would go on with its work beside the new one
        self.process = child_process.spawn(self.command, log_path=self.log_path, env=self._env, cwd=self._cwd)
        return True


class MilvusLite:
    """The folder's Milvus Lite server. While a command that started before us owns one, that one serves.

    on_restart: called after it died and was started again, as its last writes may be lost.
    """

    name = "milvus"
    stop_signal = signal.SIGINT

    def __init__(self, data_dir: Path, *, port: int, on_restart: Callable[[], None] = lambda: None) -> None:
        self.server = LiteServer(data_dir, port=port)
        self._on_restart = on_restart
        self.log_path = self.server.log_path
        self._owned = False

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        return self.server.process

    def start(self) -> bool:
        self._owned = self._owned or self.server.claim()
        if not self._owned:
            return False
        died = self.process is not None
        try:
            self.server.restart()
        except MilvusLiteError as error:
            raise StartError(str(error)) from error
        if died:
            self._on_restart()
        return True


@dataclass
class Watched:
    """A part and what is known of its life."""

    part: Part
    health: Probe | None = None
    started_at: float = 0.0
    next_start: float | None = 0.0  # None: it runs
    quick_deaths: int = 0

    def hangs(self) -> bool:
        """It runs, and has not answered for too long."""
        if self.health is None or self.next_start is not None:
            return False
        return self.health.failing_s >= (HANG_S if self.health.succeeded else START_HANG_S)


class Supervisor:
    """Starts the parts, polls them, and stops them. Belongs to one thread, which must be the main one.

    url: of the site, for `/readyz`. say: prints a line for the operator.
    """

    def __init__(self, *, url: str, say: Callable[[str], None]) -> None:
        self.url = url.rstrip("/")
        self.ready = False
        self._say = say
        self._watched: list[Watched] = []
        self._stopping = False
        self._begun = time.monotonic()
        self._next_log_check = 0.0
        self._warned = False
        self._readiness = Probe(lambda: http_status(f"{self.url}/readyz") == 200, every_s=READY_POLL_S)

    def add(self, part: Part, *, delay_s: float = 0.0, health_url: str = "") -> None:
        """Start it and poll it from now on. Raises StartError.

        health_url: any answer to a GET there shows that the part does not hang.
        """
        watched = Watched(part, next_start=time.monotonic() + delay_s)
        if health_url:
            watched.health = Probe(lambda: http_status(health_url) > 0, every_s=HEALTH_POLL_S)
            watched.health.start()
        self._watched.append(watched)
        self._poll(watched)

    def run(self, *, when_ready: Callable[[], None] = lambda: None) -> None:
        """Until SIGINT, SIGTERM or SIGHUP. Calls `when_ready` once, at the first ready answer. Raises StartError."""
        self._readiness.start()
        while not self._stopping:
            for watched in self._watched:
                self._poll(watched)
            if not self.ready:
                self._check_ready(when_ready)
            self._trim_logs()
            time.sleep(TICK_S)

    def stop(self) -> None:
        """Everything but Milvus Lite first and at once, so that nobody loses it in the middle of a write.

        What has not ended within `STOP_TIMEOUT_S` is killed.
        """
        deadline = time.monotonic() + STOP_TIMEOUT_S
        self._readiness.close()
        for watched in self._watched:
            if watched.health:
                watched.health.close()
        running = [watched.part for watched in self._watched if watched.part.process is not None]
        _stop_parts([part for part in running if not isinstance(part, MilvusLite)], timeout_s=PARTS_STOP_TIMEOUT_S)
        for part in running:
            if isinstance(part, MilvusLite):
                part.server.stop(timeout_s=max(MILVUS_STOP_TIMEOUT_S, deadline - time.monotonic()))

    def handle_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _poll(self, watched: Watched) -> None:
        """Kill the part if it hangs, plan its restart if it has ended, start it if it is time. Raises StartError."""
        now = time.monotonic()
        process = watched.part.process
        if process is not None and watched.health is not None and watched.hangs():
            self._say(f"{watched.part.name} has not answered for {watched.health.failing_s:.0f} s; killing it.")
            child_process.kill_group(process)  # SIGKILL ends also what was stopped, or is in the middle of C code
        if watched.next_start is None and process is not None and process.poll() is not None:
            self._plan_restart(watched, process.returncode, now)
        if watched.next_start is not None and now >= watched.next_start:
            if watched.part.start():
                watched.started_at, watched.next_start = now, None
                if watched.health is not None:
                    watched.health.reset()
            else:
                watched.next_start = now + 0.5

    def _plan_restart(self, watched: Watched, code: int, now: float) -> None:
        """After a pause that grows with each quick death. Raises StartError after too many of them."""
        part = watched.part
        watched.quick_deaths = watched.quick_deaths + 1 if now - watched.started_at < QUICK_DEATH_S else 0
        if watched.quick_deaths >= QUICK_DEATHS_ALLOWED:
            raise StartError(
                f"{part.name} ended {watched.quick_deaths} times right after its start; the end of {part.log_path}:\n"
                + child_process.log_tail(part.log_path)
            )
        watched.next_start = now + BACKOFF_S[watched.quick_deaths]
        self._say(f"{part.name} {_how_it_ended(code)}; starting it again.")

    def _check_ready(self, when_ready: Callable[[], None]) -> None:
        if self._readiness.succeeded:
            self.ready = True
            self._readiness.close()
            when_ready()
        elif not self._warned and time.monotonic() - self._begun > READY_WARNING_S:
            self._warned = True
            self._say(f"Not ready after {READY_WARNING_S:.0f} s; {self.url}/readyz says what is missing.")

    def _trim_logs(self) -> None:
        if (now := time.monotonic()) >= self._next_log_check:
            self._next_log_check = now + LOG_CHECK_S
            for watched in self._watched:
                child_process.trim_log(watched.part.log_path)


def _stop_parts(parts: list[Part], *, timeout_s: float) -> None:
    processes = [(part, part.process) for part in parts if part.process is not None]
    for part, process in processes:
        if process.poll() is None:
            process.send_signal(part.stop_signal)
    deadline = time.monotonic() + timeout_s
    while any(process.poll() is None for _, process in processes) and time.monotonic() < deadline:
        time.sleep(0.05)
    child_process.kill_groups([process for _, process in processes])


def _how_it_ended(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


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
    return [
        Program(
            name, command, log_path=data_dir / "logs" / f"{name}.log", env=env, cwd=base_dir, stop_signal=stop_signal
        )
        for name, command, stop_signal in (
            ("web", web, signal.SIGTERM),
            ("worker", worker, signal.SIGQUIT),  # at SIGTERM it would wait for its tasks without a limit
            ("beat", beat, signal.SIGTERM),
        )
    ]
