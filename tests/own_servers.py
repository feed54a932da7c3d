"""PostgreSQL and Redis servers of a test's own, which it may stop."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from tests.processes import free_port, wait_until

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1:]
START_S = 10


class NotToBeHadError(Exception):
    """The machine lacks what a server needs; the message says what."""


class OwnRedis:
    """A Redis server without persistence, so that a restart forgets everything."""

    def __init__(self, folder: Path) -> None:
        if not shutil.which("redis-server"):
            raise NotToBeHadError("redis-server is not installed")
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Raises TimeoutError."""
        where = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self._folder)]
        self._process = subprocess.Popen(
            ["redis-server", *where, "--save", ""],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if not wait_until(self._answers, within_s=START_S):
            raise TimeoutError(f"Redis did not come within {START_S} s")

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url, socket_timeout=1) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


@contextmanager
def own_redis(folder: Path) -> Iterator[str]:
    """The address of one that runs meanwhile."""
    server = OwnRedis(folder)
    server.start()
    try:
        yield server.url
    finally:
        server.stop()


class OwnPostgres:
    """A cluster in a folder of its own. As root it runs as the user `postgres`, since the server refuses root."""

    def __init__(self, folder: Path) -> None:
        if not PROGRAMS:
            raise NotToBeHadError("PostgreSQL's server programs are not installed")
        self.port = free_port()
        self.url = f"postgresql://ragsite@127.0.0.1:{self.port}/postgres"
        self._folder = folder / "cluster"
        self._as: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
            self._as = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        self._run("initdb", "-U", "ragsite", "-A", "trust", "-E", "UTF8", "--no-sync")

    def start(self) -> None:
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": "200",
        }
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        log = str(self._folder / "log")
        self._run("pg_ctl", "-w", "-l", log, "-o", f"-p {self.port} {options}", "start")

    def stop(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-m", "immediate", "-w", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [*self._as, str(PROGRAMS[0] / program), "-D", str(self._folder), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )
