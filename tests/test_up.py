"""`manage.py up`, for real: one site on a folder and port of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth import authenticate, get_user_model

from ragsite.runtime import start_checks
from ragsite.runtime.milvus_lite import LiteServer
from ragsite.runtime.start_checks import StartError
from ragsite.runtime.supervisor import HEAD_BYTES
from tests.processes import alive, descendants, free_port, wait_until
from tests.running_site import (
    PASSWORD,
    ROOT,
    START_S,
    RunningSite,
    environment,
    running_site,
    start,
)

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
    pytest.mark.timeout(180),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSite]:
    with running_site(tmp_path_factory.mktemp("up") / "var") as site:
        yield site


def test_every_dependency_is_told(site: RunningSite) -> None:
    status, body = site.get("/readyz")
    states = {name: told["state"] for name, told in json.loads(body)["dependencies"].items()}
    assert (status, states) == (
        200,
        {
            "database": "ok",
            "milvus": "ok",
            "ollama": "offline",
            "broker": "ok",
            "storage": "ok",
            "channel_layer": "ok",
        },
    )


def test_the_terminal_gets_the_address_and_no_password_of_ours(site: RunningSite) -> None:
    # The supervisor looks for readiness now and then, so the site may be ready a moment before it says so.
    assert wait_until(lambda: f"{site.url}/" in site.output, within_s=START_S)
    assert PASSWORD not in site.output


@pytest.mark.parametrize(
    "head", ["GET /", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "], ids=("address", "header")
)
def test_a_head_that_does_not_end_is_refused(site: RunningSite, head: str) -> None:
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as client:
        client.sendall(head.encode() + b"x" * HEAD_BYTES)
        assert client.recv(100).startswith(b"HTTP/1.1 400 ")


def test_a_second_instance_on_the_folder_is_refused(site: RunningSite) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "up"], cwd=ROOT, env=environment(site.data_dir, free_port()), capture_output=True,
        text=True, timeout=START_S,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"already runs on {site.data_dir}" in done.stderr


def test_what_is_taken_or_away_is_refused_by_its_variable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(StartError, match="RAGSITE_PORT"),
    ):
        start_checks.check_port(*other.getsockname())
    with pytest.raises(StartError, match="REDIS_URL") as told:
        start_checks.check_broker(f"redis://:secret@127.0.0.1:{free_port()}/0")
    assert "secret" not in str(told.value)
    with pytest.raises(StartError, match="cannot be written"):
        start_checks.make_folders(tmp_path / "file" / "var")


@pytest.mark.parametrize("part", ["uvicorn", "milvus_lite_server"])
def test_a_killed_part_comes_back(site: RunningSite, part: str) -> None:
    before = site.part(part)
    os.kill(before, signal.SIGKILL)
    assert wait_until(lambda: site.part(part) not in (0, before), within_s=10)
    assert wait_until(site.is_ready, within_s=START_S)


def test_sigterm_leaves_nothing_running(site: RunningSite) -> None:
    assert wait_until(lambda: site.part("-A ragsite worker") > 0, within_s=START_S)
    parts = descendants(site.process.pid)
    assert len(parts) >= 3
    site.process.send_signal(signal.SIGTERM)
    assert site.process.wait(15) == 0
    assert [line for pid, line in parts.items() if alive(pid)] == []


def test_a_killed_supervisor_leaves_nothing_running_and_the_folder_free(
    tmp_path: Path, migrated_database: Path | None
) -> None:
    first = start(tmp_path / "var", database=migrated_database)
    assert wait_until(
        lambda: first.part("uvicorn") > 0 and first.part("milvus_lite_server") > 0, within_s=START_S
    )
    parts = descendants(first.process.pid)
    first.process.kill()
    first.process.wait()
    assert wait_until(lambda: not any(alive(pid) for pid in parts), within_s=5)
    server = LiteServer(tmp_path / "var")
    with start_checks.claimed_folder(tmp_path / "var"):
        assert server.start()
    server.stop()


@pytest.mark.django_db
def test_the_first_run_makes_up_a_password_once() -> None:
    password = start_checks.make_admin("")
    assert password is not None
    assert authenticate(username="admin", password=password) is not None
    assert start_checks.make_admin("") is None


@pytest.mark.django_db
def test_a_given_password_is_taken_and_not_told() -> None:
    assert start_checks.make_admin(PASSWORD) == ""
    assert get_user_model().objects.get().is_superuser
    assert authenticate(username="admin", password=PASSWORD) is not None
