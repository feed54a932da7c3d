"""A whole site as `manage.py up` runs it: a process with a folder and a port of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.processes import descendants, free_port, wait_until

ROOT = Path(__file__).resolve().parent.parent
START_S = 300  # for a loaded machine; it takes a few seconds
PASSWORD = "correct horse battery"
OURS = re.compile(r"RAG|OLLAMA_|MILVUS_|DATABASE_URL|REDIS_URL|GOOGLE_|DJANGO_")


@dataclass
class RunningSite:
    process: subprocess.Popen[str]
    data_dir: Path
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def output(self) -> str:
        return (self.data_dir.parent / "up.log").read_text()

    def get(self, path: str) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(f"{self.url}{path}", timeout=5) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()
        except OSError:
            return 0, b""

    def is_ready(self) -> bool:
        return self.process.poll() is None and self.get("/readyz")[0] == 200

    def part(self, words: str) -> int:
        """The pid of the part whose command line holds these words."""
        children = {
            pid: line for pid, line in descendants(self.process.pid).items() if words in line
        }
        return min(children, default=0)


def environment(data_dir: Path, port: int, **variables: str) -> dict[str, str]:
    """Without a model server and samples, unless `variables` say otherwise."""
    kept = {name: value for name, value in os.environ.items() if not OURS.match(name)}
    return kept | {
        "RAGSITE_DATA_DIR": str(data_dir), "RAGSITE_PORT": str(port), "RAGSITE_ADMIN_PASSWORD": PASSWORD,
        "RAGSITE_SAMPLE_DATA": "0", "RAG_OFFLINE": "1", **variables,
    }  # fmt: skip


def start(data_dir: Path, *, database: Path | None = None, **variables: str) -> RunningSite:
    """`database`: what `migrated_database` gives, for a site that need not run the migrations itself."""
    port = free_port()
    if database is not None:
        data_dir.mkdir(parents=True)
        shutil.copy(database, data_dir / "db.sqlite3")
    with (data_dir.parent / "up.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up"], cwd=ROOT, env=environment(data_dir, port, **variables), stdout=log,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
    return RunningSite(process, data_dir, port)


@contextmanager
def running_site(
    data_dir: Path, *, database: Path | None = None, **variables: str
) -> Iterator[RunningSite]:
    """Once it is ready; stopped in the end, with all its parts."""
    site = start(data_dir, database=database, **variables)
    try:
        wait_until(lambda: site.is_ready() or site.process.poll() is not None, within_s=START_S)
        assert site.is_ready(), site.output[-4000:]
        yield site
    finally:
        site.process.send_signal(signal.SIGTERM)
        try:
            site.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(site.process.pid, signal.SIGKILL)
            site.process.wait(10)
