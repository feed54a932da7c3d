"""What `benchmarks.resilience.faults` brings up and hurts: a whole site, its database servers, and a model server, each
of them processes of this benchmark alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import psycopg
import redis

from tests.processes import alive, descendants

ROOT = Path(__file__).resolve().parents[2]
ADMIN_PASSWORD = "correct-horse-battery"  # of a site on loopback that lives for minutes
START_S = 180.0
OURS = ("RAGSITE_", "RAG_", "MILVUS_", "OLLAMA_", "REDIS_", "DATABASE_")
PARTS = {
    "web": "uvicorn",
    "worker": "celery -A ragsite worker --concurrency",
    "sources": "celery -A ragsite worker --queues",
    "beat": "celery -A ragsite beat",
    "milvus": "milvus_lite",
}
CLUSTER_BIN = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1:]


class NotToBeHadError(Exception):
    """The machine lacks what a run needs; the message says what."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def wait_for(check: object, *, within_s: float, what: str) -> None:
    """`check`: a callable. Raises TimeoutError."""
    deadline = time.monotonic() + within_s
    while not check():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come within {within_s:.0f} s")
        time.sleep(0.1)


# ------------------------------------------------------------------------------------------------ servers beside it
class OwnRedis:
    """A Redis server without persistence, so that a restart forgets everything."""

    def __init__(self, folder: Path) -> None:
        if not shutil.which("redis-server"):
            raise NotToBeHadError("redis-server is not installed")
        self.port = free_port()
        self._folder = folder
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [
            "redis-server",
            "--bind",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--save",
            "",
            "--dir",
            str(self._folder),
        ]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(self._answers, within_s=10, what="Redis")

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def flush(self) -> None:
        with redis.Redis.from_url(self.url) as client:
            client.flushdb()

    def kill_connections(self) -> None:
        """Of all clients but this one, also those that wait for a message."""
        with redis.Redis.from_url(self.url) as client:
            for kind in ("normal", "pubsub"):
                client.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url, socket_timeout=1) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


class OwnPostgres:
    """A cluster in a folder of its own. As root it runs as the user `postgres`, since the server refuses root."""

    def __init__(self, folder: Path) -> None:
        if not CLUSTER_BIN:
            raise NotToBeHadError("PostgreSQL's server programs are not installed")
        self.port = free_port()
        self._folder = folder / "cluster"
        self.url = f"postgresql://ragsite@127.0.0.1:{self.port}/postgres"
        folder.mkdir(parents=True, exist_ok=True)
        self._as: list[str] = []
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
            self._as = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        self._run(
            "initdb",
            "-D",
            str(self._folder),
            "-U",
            "ragsite",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-sync",
        )

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200"
        self._run(
            "pg_ctl",
            "-D",
            str(self._folder),
            "-w",
            "-l",
            str(self._folder / "log"),
            "-o",
            options,
            "start",
        )

    def stop(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-D", str(self._folder), "-m", "immediate", "-w", "stop")

    def end_connections(self) -> int:
        """How many of the others' were ended."""
        with psycopg.connect(self.url) as connection:
            rows = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            ).fetchall()
        return len(rows)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [*self._as, str(CLUSTER_BIN[0] / program), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )


class SmallDisk:
    """A disk of so many MiB, mounted at a folder. Raises NotToBeHadError where we may not mount."""

    def __init__(self, folder: Path, *, mib: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._filler = folder / "filler"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)],
            capture_output=True,
        )
        if done.returncode:
            raise NotToBeHadError("only root may mount a small disk")

    def fill(self) -> None:
        """To the last byte; a file that grows meanwhile meets the end."""
        with self._filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * 65536)
        with self._filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * 512)

    def clear(self) -> None:
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=False, capture_output=True)


class ModelServer:
    """The paced stand-in for Ollama, in a process of its own, so that it can be stopped and continued.

    options: more of `benchmarks.support.paced_ollama`'s.
    """

    def __init__(self, *options: str) -> None:
        self.port = free_port()
        self._options = options
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "benchmarks.support.paced_ollama",
            "--port",
            str(self.port),
        ]
        self._process = subprocess.Popen([*command, *self._options], cwd=ROOT)
        wait_for(self._answers, within_s=30, what="the model server")

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self._process:
            self._process.send_signal(number)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/api/tags", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False


# ------------------------------------------------------------------------------------------------ the site
class Site:
    """`manage.py up` on a folder and a port of its own. root: whose code it runs, such as another version's."""

    def __init__(
        self, data_dir: Path, log: Path, environment: Mapping[str, str], *, root: Path = ROOT
    ) -> None:
        self.port = free_port()
        self.data_dir = data_dir
        self._log = log
        self._root = root
        self.url = f"http://127.0.0.1:{self.port}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        self.environment = {
            **kept,
            "RAGSITE_DATA_DIR": str(data_dir),
            "RAGSITE_PORT": str(self.port),
            "RAGSITE_ADMIN_PASSWORD": ADMIN_PASSWORD,
            "RAGSITE_SAMPLE_DATA": "0",
            "PYTHONPATH": str(root),
            **environment,
        }
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up"],
                cwd=self._root,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            wait_for(self.ready, within_s=START_S, what="the site")
        except TimeoutError as error:
            raise TimeoutError(f"{error}; its log:\n{self._log.read_text()[-2000:]}") from error

    def stop(self) -> float:
        """Seconds that it took."""
        begun = time.monotonic()
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill("supervisor")
        return time.monotonic() - begun

    def ready(self) -> bool:
        return self.status("/readyz") == 200

    def status(self, path: str, *, timeout_s: float = 3.0) -> int:
        try:
            return httpx.get(self.url + path, timeout=timeout_s).status_code
        except httpx.HTTPError:
            return 0

    def pids(self, part: str) -> list[int]:
        """Of the part's processes, its first one first; `supervisor` is the site's own."""
        if self.process is None:
            return []
        if part == "supervisor":
            return [self.process.pid] if self.process.poll() is None else []
        children = descendants(self.process.pid)
        return sorted(pid for pid, line in children.items() if PARTS[part] in line and alive(pid))

    def kill(self, part: str) -> None:
        """kill -9 of all of the part's processes at once."""
        for pid in self.pids(part):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if part == "supervisor" and self.process:
            self.process.wait()

    @contextlib.contextmanager
    def paused(self, part: str) -> Iterator[None]:
        pids = self.pids(part)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def manage(self, *arguments: str, within_s: float = 300) -> str:
        """What a command or a module prints, run in the site's environment."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=within_s,
        )
        if done.returncode:
            raise RuntimeError(
                f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr[-2000:]}"
            )
        return done.stdout
