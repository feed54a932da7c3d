"""The folder's Milvus Lite server: one owner, found by others, gone when its owner is."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragsite.runtime import child_process, milvus_lite
from ragsite.runtime.milvus_lite import LiteServer, MilvusLiteError


def gone(pid: int, *, within_s: float = 5.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiteServer]:
    server = LiteServer(tmp_path_factory.mktemp("lite"))
    assert server.claim()
    server.start()
    server.wait_ready()
    yield server
    server.stop()


def test_no_server_has_no_address(tmp_path: Path) -> None:
    assert milvus_lite.current_uri(tmp_path) == ""


def test_a_command_uses_the_running_server(server: LiteServer) -> None:
    with milvus_lite.ensure_server(server.data_dir) as uri:
        assert uri == server.uri == milvus_lite.current_uri(server.data_dir)
    assert server.ready()


def test_a_folder_has_one_owner(server: LiteServer) -> None:
    assert not LiteServer(server.data_dir).claim()


def test_a_killed_server_comes_back_on_the_same_port(server: LiteServer) -> None:
    assert server.process is not None
    before, uri = server.process.pid, server.uri
    os.kill(before, signal.SIGKILL)
    assert gone(before)
    server.start()
    server.wait_ready()
    assert (server.uri, server.process.pid != before) == (uri, True)


def test_a_taken_port_is_refused_by_name(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(MilvusLiteError, match=f"MILVUS_LITE_PORT={port} is taken"):
            LiteServer(tmp_path, port=port).start()


def test_a_port_that_only_listens_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        assert not milvus_lite.answers(f"http://127.0.0.1:{mute.getsockname()[1]}", timeout_s=0.1)


def test_an_address_of_a_dead_owner_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    state = f'{{"uri": "http://127.0.0.1:1", "owner_pid": {dead.pid}}}'
    (tmp_path / "run" / "milvus.json").write_text(state)
    assert milvus_lite.current_uri(tmp_path) == ""


SPAWN_AND_WAIT = """
import sys, time; from pathlib import Path; from ragsite.runtime import child_process
child = child_process.spawn([sys.executable, "-c", "import time; time.sleep(60)"], log_path=Path(sys.argv[1]))
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel does this on Linux only")
def test_a_child_dies_with_its_killed_parent(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", SPAWN_AND_WAIT, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    with parent.stdout:
        child = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
    assert gone(child)


def test_stopping_a_child_also_ends_what_it_started(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys, time; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); time.sleep(60)"
    )
    log = tmp_path / "log"
    process = child_process.spawn([sys.executable, "-c", script], log_path=log)
    while not log.exists() or not log.read_text().strip():
        time.sleep(0.02)
    grandchild = int(log.read_text())
    child_process.stop(process, with_signal=signal.SIGTERM, timeout_s=5)
    assert gone(process.pid)
    assert gone(grandchild)


def test_a_log_that_grew_too_large_is_moved_aside(tmp_path: Path) -> None:
    log = tmp_path / "milvus.log"
    log.write_text("x" * 100)
    child_process.trim_log(log, max_bytes=50)
    assert (log.read_text(), (tmp_path / "milvus.log.1").read_text()) == ("", "x" * 100)
