"""Web processes of one site, each as a machine of its own would run it, and people who read answers from them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any

import httpx

from tests.ollama_server import CHAT_MODEL
from tests.processes import free_port, wait_until
from tests.running_site import ROOT, START_S, environment

SET_UP = """
from django.core.management import call_command
from django.contrib.auth.models import User
from ragsite.accounts.tokens import token_create
call_command("migrate", verbosity=0)
print(token_create(user=User.objects.create_user("ada")))
"""


class Machine:
    """A web process, as a machine of its own would run it."""

    def __init__(self, environ: dict[str, str], log: Path) -> None:
        self.port = int(environ["RAGSITE_PORT"])
        self.url = f"http://127.0.0.1:{self.port}"
        command = [
            sys.executable,
            "-m",
            "uvicorn",
            "tests.slow_site:application",
            "--port",
            str(self.port),
        ]
        command += ["--ws", "websockets-sansio", "--timeout-graceful-shutdown", "2"]
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environ, stdout=output, stderr=output
            )

    def status(self, path: str) -> int:
        """0: no answer. Without httpx, which reads the certificates of the world for each call."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        except (OSError, HTTPException):
            return 0

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


class Site:
    """A migrated database, one person, and no process yet."""

    def __init__(
        self,
        folder: Path,
        redis_url: str,
        model_url: str,
        *,
        database: Path | None = None,
        **variables: str,
    ) -> None:
        """`database`: a migrated SQLite file to begin with, where `DATABASE_URL` names no server."""
        self._log = folder / "web.log"
        self._environ = environment(
            folder / "var",
            free_port(),
            REDIS_URL=redis_url,
            OLLAMA_BASE_URL=model_url,
            RAG_OFFLINE="auto",
            RAG_CHAT_MODEL=CHAT_MODEL,
            MILVUS_URI=f"http://127.0.0.1:{free_port()}",
            RAGSITE_SECRET_KEY="k" * 50,
            **variables,
        )
        (folder / "var").mkdir()
        if database is not None:
            shutil.copy(database, folder / "var" / "db.sqlite3")
        done = subprocess.run(
            [sys.executable, "manage.py", "shell", "-v", "0", "-c", SET_UP], cwd=ROOT, env=self._environ,
            capture_output=True, text=True, timeout=START_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        self.headers = {"Authorization": f"Token {done.stdout.split()[-1]}"}
        self.machines: list[Machine] = []

    def machine(self, **variables: str) -> Machine:
        machine = Machine(
            {**self._environ, "RAGSITE_PORT": str(free_port()), **variables}, self._log
        )
        self.machines.append(machine)
        ended = machine.process.poll
        assert wait_until(
            lambda: machine.status("/healthz") == 200 or ended() is not None, within_s=START_S
        )
        assert ended() is None, self._log.read_text()[-3000:]
        return machine

    def ask(self, machine: Machine) -> Reader:
        """Ask there; what is read from then on."""
        return Reader(
            self, f"{machine.url}/api/chat", {"message": "How many books?", "stream": True}
        )

    def follow(self, machine: Machine, message_id: str) -> Reader:
        return Reader(self, f"{machine.url}/api/messages/{message_id}/events")


class Reader:
    """One who reads an answer's events, in a thread."""

    def __init__(self, site: Site, url: str, body: dict[str, Any] | None = None) -> None:
        self.events: list[dict[str, Any]] = []
        self._site, self._url, self._body = site, url, body
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def text(self) -> str:
        return "".join(event["content"] for event in self.events if event["type"] == "chunk")

    @property
    def message_id(self) -> str:
        assert wait_until(lambda: bool(self.events), within_s=START_S)
        return str(self.events[0]["message_id"])

    def to_the_end(self) -> dict[str, Any]:
        self._thread.join(START_S)
        assert self.events, self._url
        return self.events[-1]

    def _read(self) -> None:
        method = "POST" if self._body else "GET"
        headers = {**self._site.headers, "Accept": "text/event-stream"}
        try:
            with httpx.stream(
                method, self._url, json=self._body, headers=headers, timeout=START_S
            ) as response:
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        self.events.append(json.loads(line.removeprefix("data: ")))
        except httpx.HTTPError:
            pass  # its machine has gone
