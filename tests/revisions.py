"""Whether two revisions of the site get along with one database, as they must while one replaces the other.

    python -m tests.revisions [TAG]      the release before this one, in both directions; without a tag the latest one

A rolling upgrade migrates first, while processes of the release before still run; a rollback takes the code back and
leaves the database. So both revisions must work on the schema of the newer one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_S = 600
# Over HTTP, which the contract holds still; of Python, what Django itself promises. Writes and reads each main table.
SMOKE = """
import uuid
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

name = f"ada-{uuid.uuid4().hex[:8]}"
User.objects.create_user(name, password="correct horse battery")
client = Client(SERVER_NAME="localhost", raise_request_exception=False)
problems = []

def ask(method, path, expected, **arguments):
    answer = getattr(client, method)(path, **arguments)
    body = answer.getvalue() if answer.streaming else answer.content
    if answer.status_code != expected:
        problems.append(f"{method.upper()} {path}: {answer.status_code} {body[:300]!r}")
    return answer

assert client.login(username=name, password="correct horse battery")
file = SimpleUploadedFile("loans.md", f"# Loans of {name}\\n\\nTen books for four weeks.".encode())
stored = ask("post", "/api/documents", 202, data={"file": file, "collection": "rules"})
ask("get", "/api/documents", 200)
ask("get", "/api/collections", 200)
if stored.status_code == 202:
    document = stored.json()["documents"][0]["id"]
    ask("get", f"/api/documents/{document}", 200)
    ask("get", f"/documents/{document}/", 200)
json = {"content_type": "application/json"}
asked = ask("post", "/api/chat", 200, data={"message": "How many books?"}, **json)
if asked.status_code == 200:
    message, session = asked.json()["message_id"], asked.json()["session_id"]
    ask("put", f"/api/messages/{message}/rating", 200, data={"thumb": "down"}, **json)
    ask("get", f"/api/sessions/{session}/messages", 200)
    ask("patch", f"/api/sessions/{session}", 200, data={"title": "Loans"}, **json)
ask("get", "/api/sessions", 200)
ask("get", "/accounts/", 200)
if stored.status_code == 202:
    ask("delete", f"/api/documents/{document}", 204)
raise SystemExit("\\n".join(problems) or None)
"""


class Site:
    """A database and a data folder that revisions share. Its processes are those of no other site."""

    def __init__(self, folder: Path) -> None:
        self._data_dir = folder / "var"
        self._data_dir.mkdir()

    @property
    def database(self) -> Path:
        return self._data_dir / "db.sqlite3"

    def migrate(self, root: Path = ROOT) -> None:
        """By the code of a revision."""
        if problem := self._manage(root, "migrate", "--verbosity", "0"):
            raise RuntimeError(problem)

    def problems(self, root: Path = ROOT) -> str:
        """What the code of a revision can't do with this database; empty if it gets along."""
        return self._manage(root, "shell", "-v", "0", "-c", SMOKE)

    def _manage(self, root: Path, *arguments: str) -> str:
        environment = {
            **os.environ, "PYTHONPATH": str(root), "RAGSITE_DATA_DIR": str(self._data_dir), "RAG_OFFLINE": "1",
            "RAGSITE_SAMPLE_DATA": "0", "DATABASE_URL": "", "REDIS_URL": "",
            "DJANGO_SETTINGS_MODULE": "ragsite.settings",
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=root, env=environment, capture_output=True, text=True,
            timeout=TIMEOUT_S,
        )  # fmt: skip
        return done.stderr[-4000:] or f"ended with {done.returncode}" if done.returncode else ""


def latest_release() -> str:
    """The tag of the latest release, this commit's own left out; "" where there is none."""
    found = _git("describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^")
    return found.stdout.strip() if found.returncode == 0 else ""


def check_out(tag: str, folder: Path) -> None:
    """The files of a release, without a work tree of Git's."""
    archive = subprocess.run(["git", "archive", tag], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)


def compared(previous: Path, folder: Path) -> list[str]:
    """What goes wrong where a site is upgraded from the code in `previous` to this one, and back."""
    site = Site(folder)
    site.migrate(previous)
    steps = [("release before, its own schema", previous)]
    found = [f"{name}: {problem}" for name, root in steps if (problem := site.problems(root))]
    site.migrate()
    steps = [
        ("release before, new schema", previous),
        ("this one", ROOT),
        ("release before, after this one", previous),
    ]
    return found + [
        f"{name}: {problem}" for name, root in steps if (problem := site.problems(root))
    ]


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description="The release before and this one, on one database."
    )
    parser.add_argument("tag", nargs="?", default=latest_release())
    tag = parser.parse_args().tag
    if not tag:
        sys.exit("No release is tagged yet.")
    with tempfile.TemporaryDirectory() as folder:
        previous = Path(folder) / "previous"
        previous.mkdir()
        check_out(tag, previous)
        found = compared(previous, Path(folder))
    sys.exit("\n\n".join(found) or None)


if __name__ == "__main__":
    main()
