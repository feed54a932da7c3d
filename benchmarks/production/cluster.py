"""The production set-up as processes of one machine: what docs/operations.md tells to run, each part by itself.

    nginx ─┬─ web a ─┬─ PostgreSQL, Redis, Milvus (emulated), a model server (simulated), each known by its address
           └─ web b ─┤
        worker 1…n, beat

Every process of the site has a data folder of its own; they share the uploads alone.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

from ragsite.runtime import child_process
from ragsite.runtime.child_process import Child
from ragsite.runtime.milvus_lite import answers
from tests.nginx import nginx_command, nginx_conf
from tests.own_servers import NotToBeHadError, OwnPostgres, OwnRedis
from tests.processes import free_port, wait_until
from tests.running_site import OURS, ROOT

START_S = 180.0
DRAIN_S = 60.0  # that an answer has to end when its web process is told to
SUPERVISOR_S = 2.0  # after which systemd or a kubelet would start again what was killed
UVICORN = ["uvicorn", "ragsite.asgi:application", "--ws", "websockets-sansio", "--no-proxy-headers"]
UVICORN += ["--timeout-graceful-shutdown", "2", "--http", "ragsite.web.protocol:Protocol"]
UVICORN += ["--h11-max-incomplete-event-size", "65536"]


class Part:
    """A process. address: where it answers "200 OK" as soon as it does its work; empty: from its start on."""

    def __init__(self, child: Child, address: str = "") -> None:
        self.child = child
        self.name = child.name
        self._address = address

    def start(self) -> None:
        """Raises TimeoutError."""
        self.child.start()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Raises TimeoutError."""
        if self._address and not wait_until(self._is_ready, within_s=START_S):
            raise TimeoutError(f"{self.name} did not come within {START_S:.0f} s")

    def restart(self) -> float:
        """As a deploy does it; seconds from the signal until it had ended."""
        begun = time.monotonic()
        self.stop(timeout_s=DRAIN_S + 20)
        ended = time.monotonic()
        self.start()
        return ended - begun

    def kill(self) -> None:
        """kill -9 of it and of its children; started again as a supervisor would."""
        assert self.child.process
        os.killpg(self.child.process.pid, signal.SIGKILL)
        time.sleep(SUPERVISOR_S)
        self.start()

    def stop(self, *, timeout_s: float = 30) -> None:
        child_process.stop([self.child], timeout_s=timeout_s)

    def _is_ready(self) -> bool:
        try:
            return httpx.get(self._address, timeout=5).status_code == 200
        except httpx.HTTPError:
            return False


class Milvus(Part):
    """See `tests.milvus_process`."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._calls = folder / "calls.jsonl"
        command = [sys.executable, "-m", "tests.milvus_process", str(folder), str(port)]
        super().__init__(
            Child("milvus", command, log_path=folder / "emulated.log", cwd=ROOT), self.url
        )

    def calls(self) -> str:
        """What was counted until it was stopped for the last time, a line for each of its lives."""
        if not self._calls.is_file():
            return "not known"
        return ", ".join(self._calls.read_text(encoding="utf-8").splitlines())

    def _is_ready(self) -> bool:
        return answers(self.url)


class Cluster:
    """All of it, in `folder`. Start and end it in one thread: children die with the thread that started them.

    Raises NotToBeHadError where a program is missing.
    """

    def __init__(self, folder: Path, *, workers: int) -> None:
        self._folder = folder
        self._uploads = _made(folder / "uploads")
        self._worker_count = workers
        self.postgres = OwnPostgres(folder / "postgresql")
        self.redis = OwnRedis(folder)
        self.milvus = Milvus(_made(folder / "milvus"))
        self._model_url = f"http://127.0.0.1:{free_port()}"
        self.model = self._model()
        ports = [free_port(), free_port()]
        self.web = [self._web("web a", ports[0]), self._web("web b", ports[1])]
        self.workers = [self._worker(number) for number in range(1, workers + 1)]
        self.beat = self._part("beat", ["celery", "-A", "ragsite", "beat", "--pidfile="])
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.nginx = self._nginx(port, ports)

    @property
    def parts(self) -> list[Part]:
        return [*self.web, *self.workers, self.beat, self.nginx]

    def start(self) -> None:
        for server in (self.postgres, self.redis, self.model, self.milvus):
            server.start()
        self.manage("manage.py", "migrate", "--verbosity", "0")
        for part in self.parts:
            part.child.start()
        for part in self.parts:
            part.wait_ready()

    def manage(self, *arguments: str) -> str:
        """What a command or a module prints, run as a process of the site. Raises RuntimeError where it fails."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self._environment("manage"),
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode:
            raise RuntimeError(
                f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr[-2000:]}"
            )
        return done.stdout

    def stop(self) -> None:
        child_process.stop([part.child for part in self.parts], timeout_s=5)
        for server in (self.milvus, self.model, self.redis, self.postgres):
            server.stop()

    def _model(self) -> Part:
        port = self._model_url.rpartition(":")[2]
        command = [sys.executable, "-m", "tests.paced_ollama", "--port", port]
        log_path = self._folder / "logs" / "model.log"
        return Part(
            Child("model", command, log_path=log_path, cwd=ROOT), f"{self._model_url}/api/tags"
        )

    def _web(self, name: str, port: int) -> Part:
        return self._part(
            name, [*UVICORN, "--port", str(port)], f"http://127.0.0.1:{port}/readyz/own"
        )

    def _worker(self, number: int) -> Part:
        command = ["celery", "-A", "ragsite", "worker", "--loglevel", "WARNING"]
        command += ["--concurrency", "1", "--max-tasks-per-child", "200"]
        return self._part(f"worker {number}", [*command, "--hostname", f"worker{number}@%h"])

    def _nginx(self, port: int, upstream: list[int]) -> Part:
        nginx = shutil.which("nginx")
        if not nginx:
            raise NotToBeHadError("nginx is not installed")
        folder = _made(self._folder / "nginx")
        conf = nginx_conf(folder, port=port, servers=upstream)
        command = nginx_command(nginx, folder, conf)
        child = Child("nginx", command, log_path=folder / "nginx.log")
        return Part(child, f"http://127.0.0.1:{port}/readyz")

    def _part(self, name: str, command: list[str], address: str = "") -> Part:
        child = Child(
            name,
            [sys.executable, "-m", *command],
            log_path=self._folder / "logs" / f"{name}.log",
            env=self._environment(name),
            cwd=ROOT,
        )
        return Part(child, address)

    def _environment(self, name: str) -> dict[str, str]:
        data_dir = self._folder / "data" / name.replace(" ", "-")
        if not data_dir.is_dir():
            _made(data_dir)
            (data_dir / "uploads").symlink_to(self._uploads)
        kept = {name: value for name, value in os.environ.items() if not OURS.match(name)}
        return kept | {
            "DJANGO_SETTINGS_MODULE": "ragsite.settings",
            "PYTHONPATH": str(ROOT),
            "RAGSITE_DATA_DIR": str(data_dir),
            "DATABASE_URL": self.postgres.url,
            "REDIS_URL": self.redis.url,
            "MILVUS_URI": self.milvus.url,
            "OLLAMA_BASE_URL": self._model_url,
            "RAGSITE_SECRET_KEY": "k" * 50,
            "RAGSITE_SAMPLE_DATA": "0",
            "RAGSITE_TRUSTED_PROXIES": "127.0.0.1",
            "RAGSITE_DRAIN_S": str(DRAIN_S),
            "REMAP_SIGTERM": "SIGQUIT",
            "RAG_INGEST_WORKERS": str(self._worker_count),
            "RAG_LIMIT_QUESTIONS_PER_MINUTE": "1000",
        }


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
