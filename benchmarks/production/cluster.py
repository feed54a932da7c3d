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

from benchmarks.support.fault_site import (
    OURS,
    ROOT,
    ModelServer,
    NotToBeHadError,
    OwnPostgres,
    OwnRedis,
    free_port,
    wait_for,
)
from benchmarks.support.nginx import nginx_command, nginx_conf
from ragsite.runtime import child_process
from ragsite.runtime.child_process import Child
from ragsite.runtime.milvus_lite import answers

START_S = 180.0
DRAIN_S = 60.0  # that an answer has to end when its web process is told to
SUPERVISOR_S = 2.0  # after which systemd or a kubelet would start again what was killed
UVICORN = [
    "uvicorn",
    "ragsite.asgi:application",
    "--ws",
    "websockets-sansio",
    "--timeout-graceful-shutdown",
    "2",
    "--no-proxy-headers",
    "--http",
    "ragsite.web.protocol:Protocol",
    "--h11-max-incomplete-event-size",
    "65536",
]


class Part:
    """A process of the site. port: where it answers HTTP, 0 for none."""

    def __init__(self, name: str, child: Child, port: int = 0) -> None:
        self.name = name
        self.child = child
        self.port = port

    def start(self) -> None:
        self.child.start()

    def wait_ready(self) -> None:
        """Raises TimeoutError."""
        if self.port:
            wait_for(self._is_ready, within_s=START_S, what=self.name)

    def restart(self) -> float:
        """As a deploy does it; seconds from the signal until it had ended."""
        begun = time.monotonic()
        child_process.stop([self.child], timeout_s=DRAIN_S + 20)
        ended = time.monotonic()
        self.start()
        self.wait_ready()
        return ended - begun

    def kill(self) -> None:
        """kill -9 of it and of its children; started again as a supervisor would."""
        assert self.child.process
        os.killpg(self.child.process.pid, signal.SIGKILL)
        time.sleep(SUPERVISOR_S)
        self.start()
        self.wait_ready()

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/readyz", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False


class Milvus:
    """Stopped in order: see `benchmarks.production.milvus`."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        command = [
            sys.executable,
            "-m",
            "benchmarks.production.milvus",
            str(folder),
            str(self.port),
        ]
        self._child = Child("milvus", command, log_path=folder / "emulated.log", cwd=ROOT)

    def start(self) -> None:
        self._child.start()
        wait_for(lambda: answers(self.url), within_s=START_S, what="Milvus")

    def stop(self) -> None:
        child_process.stop([self._child], timeout_s=30)

    def calls(self) -> str:
        """What was counted until it was stopped for the last time, a line for each of its lives."""
        file = self._folder / "calls.jsonl"
        return (
            ", ".join(file.read_text(encoding="utf-8").split("\n")[:-1])
            if file.is_file()
            else "not known"
        )


class Cluster:
    """All of it, in `folder`. Start and end it in one thread: children die with the thread that started them.

    Raises NotToBeHadError where a program is missing.
    """

    def __init__(self, folder: Path, *, workers: int) -> None:
        if not shutil.which("nginx"):
            raise NotToBeHadError("nginx is not installed")
        self._folder = folder
        self._workers = workers
        self.postgres = OwnPostgres(folder / "postgresql")
        self.redis = OwnRedis(folder)
        self.milvus = Milvus(_made(folder / "milvus"))
        self.model = ModelServer("--tokens-per-s", "60", "--at-once", "16")
        self._uploads = _made(folder / "uploads")
        self.web = [self._web("web a"), self._web("web b")]
        self.workers = [self._worker(f"worker {number}") for number in range(1, workers + 1)]
        self.beat = self._part("beat", ["celery", "-A", "ragsite", "beat", "--pidfile="])
        self.nginx = self._nginx()
        self.url = f"http://127.0.0.1:{self.nginx.port}"

    @property
    def parts(self) -> list[Part]:
        return [*self.web, *self.workers, self.beat, self.nginx]

    def start(self) -> None:
        for server in (self.postgres, self.redis, self.model, self.milvus):
            server.start()
        self.manage("manage.py", "migrate", "--verbosity", "0")
        for part in self.parts:
            part.start()
        for part in self.web:
            part.wait_ready()

    def manage(self, *arguments: str) -> str:
        """What a command or a module prints, run as a process of the site. Raises RuntimeError where it fails."""
        environment = self._environment("manage")
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment,
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

    def _web(self, name: str) -> Part:
        port = free_port()
        return self._part(name, [*UVICORN, "--port", str(port)], port)

    def _worker(self, name: str) -> Part:
        command = [
            "celery",
            "-A",
            "ragsite",
            "worker",
            "--concurrency",
            "1",
            "--max-tasks-per-child",
            "200",
        ]
        return self._part(
            name, [*command, "--hostname", f"{name.replace(' ', '')}@%h", "--loglevel", "WARNING"]
        )

    def _nginx(self) -> Part:
        port = free_port()
        folder = _made(self._folder / "nginx")
        conf = nginx_conf(folder, port=port, servers=[part.port for part in self.web])
        command = nginx_command(shutil.which("nginx") or "nginx", folder, conf)
        return Part("nginx", Child("nginx", command, log_path=folder / "nginx.log"), port)

    def _part(self, name: str, command: list[str], port: int = 0) -> Part:
        log_path = self._folder / "logs" / f"{name}.log"
        python = [sys.executable, "-m", *command]
        return Part(
            name,
            Child(name, python, log_path=log_path, env=self._environment(name), cwd=ROOT),
            port,
        )

    def _environment(self, name: str) -> dict[str, str]:
        data_dir = self._folder / "data" / name.replace(" ", "-")
        if not data_dir.is_dir():
            _made(data_dir)
            (data_dir / "uploads").symlink_to(self._uploads)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        return kept | {
            "DJANGO_SETTINGS_MODULE": "ragsite.settings",
            "PYTHONPATH": str(ROOT),
            "RAGSITE_DATA_DIR": str(data_dir),
            "DATABASE_URL": self.postgres.url,
            "REDIS_URL": self.redis.url,
            "MILVUS_URI": self.milvus.url,
            "OLLAMA_BASE_URL": self.model.url,
            "RAGSITE_SECRET_KEY": "k" * 50,
            "RAGSITE_SAMPLE_DATA": "0",
            "RAGSITE_TRUSTED_PROXIES": "127.0.0.1",
            "RAGSITE_DRAIN_S": str(DRAIN_S),
            "REMAP_SIGTERM": "SIGQUIT",
            "RAG_INGEST_WORKERS": str(self._workers),
            "RAG_LIMIT_QUESTIONS_PER_MINUTE": "1000",
        }


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
