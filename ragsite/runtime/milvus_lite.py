"""The Milvus Lite server of a data folder: started on loopback, found by every process, one per folder.

Lite runs as a process of its own because its work holds the GIL; it has no authentication, so it listens on 127.0.0.1
only. Files in `<data>/run`:

    milvus.lock    held by the process that owns the server (the supervisor, or a command that started one)
    milvus.json    {"uri", "owner_pid", "server_pid"}: where it listens
    milvus.users   locked shared by commands that use somebody else's server; a command that owns one waits for them

Imports neither pymilvus (1-2 s) nor Django.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ragsite.runtime import child_process
from ragsite.runtime.milvus_lite_server import HISTORY

HOST = "127.0.0.1"
FIRST_PORT = 19530
PORTS_TRIED = 200
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 8.0
_HTTP2_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))  # preface, empty SETTINGS
_HTTP2_SETTINGS = 4


class MilvusLiteError(RuntimeError):
    """The folder's server does not run and can't be started; the message is one sentence for the operator."""


def current_uri(data_dir: str | Path) -> str:
    """Where the folder's server listens (or will in a moment, while it starts); "" when nobody runs one."""
    state = _read_state(Path(data_dir))
    return str(state["uri"]) if state else ""


def history_id(data_dir: str | Path) -> str:
    """Stays the same as long as the folder's server was closed in order each time; "" where none ever ran."""
    try:
        return str(json.loads((Path(data_dir) / "milvus" / HISTORY).read_text())["id"])
    except (OSError, ValueError, KeyError):
        return ""


def answers(uri: str, *, timeout_s: float = 1.0) -> bool:
    """Whether a gRPC server greets us there: its HTTP/2 SETTINGS frame comes when it serves, not just listens."""
    host, _, port = uri.rpartition("://")[2].rstrip("/").partition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=timeout_s) as connection:
            connection.sendall(_HTTP2_HELLO)
            header = connection.recv(9)
    except OSError:
        return False
    return len(header) >= 4 and header[3] == _HTTP2_SETTINGS


@contextmanager
def ensure_server(data_dir: str | Path, *, port: int = 0, timeout_s: float = START_TIMEOUT_S) -> Iterator[str]:
    """The URI of the folder's server for the duration of a command: the running one, else one of its own.

    Raises MilvusLiteError.
    """
    data_dir = Path(data_dir)
    server = LiteServer(data_dir, port=port)
    if not server.claim():
        with _using_others_server(data_dir) as uri:
            _wait_answers(uri, timeout_s=timeout_s)
            yield uri
        return
    try:
        server.start()
        server.wait_ready(timeout_s=timeout_s)
        yield server.uri
    finally:
        _wait_for_users(data_dir)
        server.stop()


class LiteServer:
    """A server that this process owns. `claim`, `start`, `wait_ready`, any number of `restart`s, `stop`."""

    def __init__(self, data_dir: str | Path, *, port: int = 0) -> None:
        self.data_dir = Path(data_dir)
        self.log_path = self.data_dir / "logs" / "milvus.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._wanted_port = port
        self._port = 0
        self._owner_lock = FileLock(_run_dir(self.data_dir) / "milvus.lock")
        self._port_lock: FileLock | None = None

    @property
    def uri(self) -> str:
        """Set by `start`, and the same after every restart."""
        return f"http://{HOST}:{self._port}"

    def claim(self) -> bool:
        """Become the one owner of the folder's server. False: another process is."""
        try:
            self._owner_lock.acquire(timeout=0)
        except Timeout:
            return False
        return True

    def start(self) -> None:
        """Start it and publish its address; does not wait. Raises MilvusLiteError."""
        if not self._port:
            self._port, self._port_lock = _reserve_port(self._wanted_port)
        command = [*_program(), "server", "--data-dir", str(self.data_dir / "milvus")]
        command += ["--host", HOST, "--port", str(self._port)]
        self.process = child_process.spawn(command, log_path=self.log_path)
        _write_state(self.data_dir, uri=self.uri, server_pid=self.process.pid)

    def restart(self) -> None:
        """The same server on the same port, after it died."""
        if self.process is not None:
            child_process.kill_group(self.process)
        self.start()

    def ready(self) -> bool:
        return self.process is not None and self.process.poll() is None and answers(self.uri)

    def wait_ready(self, *, timeout_s: float = START_TIMEOUT_S) -> None:
        """Raises MilvusLiteError when it ends, or does not answer in time."""
        deadline = time.monotonic() + timeout_s
        while not self.ready():
            if self.process is None or self.process.poll() is not None:
                raise MilvusLiteError(f"Milvus Lite ended while starting; {self.log_path} says why.")
            if time.monotonic() > deadline:
                raise MilvusLiteError(f"Milvus Lite did not answer within {timeout_s:.0f} s; see {self.log_path}.")
            time.sleep(0.05)

    def stop(self, *, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Stop it cleanly (it closes its files on SIGINT) and give the folder free."""
        if self.process is not None:
            child_process.stop(self.process, with_signal=signal.SIGINT, timeout_s=timeout_s)
            _state_path(self.data_dir).unlink(missing_ok=True)
        if self._port_lock is not None:
            self._port_lock.release()
        self._owner_lock.release()
        self.process, self._port, self._port_lock = None, 0, None


# ------------------------------------------------------------------------------------------------ state file
def _run_dir(data_dir: Path) -> Path:
    path = data_dir / "run"
    path.mkdir(parents=True, exist_ok=True)
    return path


def _state_path(data_dir: Path) -> Path:
    return data_dir / "run" / "milvus.json"


def _write_state(data_dir: Path, *, uri: str, server_pid: int) -> None:
    path = _state_path(data_dir)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({"uri": uri, "owner_pid": os.getpid(), "server_pid": server_pid}))
    fresh.replace(path)


def _read_state(data_dir: Path) -> dict[str, Any] | None:
    """None where nobody runs a server: no file, or its owner was killed. An owner restarts a server that died."""
    try:
        state: dict[str, Any] = json.loads(_state_path(data_dir).read_text())
        os.kill(int(state["owner_pid"]), 0)
    except PermissionError:  # it lives, and belongs to another user
        return state
    except (OSError, ValueError, KeyError):
        return None
    return state


# ------------------------------------------------------------------------------------------------ using another's
@contextmanager
def _using_others_server(data_dir: Path) -> Iterator[str]:
    """Hold the shared lock, so that a command that owns the server waits for us before it stops it."""
    with (_run_dir(data_dir) / "milvus.users").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not (uri := current_uri(data_dir)):
            if time.monotonic() > deadline:
                raise MilvusLiteError(f"Another process owns the Milvus Lite server of {data_dir}, but started none.")
            time.sleep(0.05)
        yield uri


def _wait_for_users(data_dir: Path) -> None:
    with (_run_dir(data_dir) / "milvus.users").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_EX)


def _wait_answers(uri: str, *, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not answers(uri):
        if time.monotonic() > deadline:
            raise MilvusLiteError(f"The Milvus Lite server at {uri} does not answer.")
        time.sleep(0.1)


# ------------------------------------------------------------------------------------------------ starting one
def _program() -> list[str]:
    """-P: the script's own folder is no place to import from, it has a `milvus_lite.py` that is not the library."""
    if importlib.util.find_spec("milvus_lite") is None:
        raise MilvusLiteError("Milvus Lite is missing: install the project's dependencies, or set MILVUS_URI.")
    return [sys.executable, "-P", str(Path(__file__).with_name("milvus_lite_server.py"))]


def _reserve_port(wanted: int) -> tuple[int, FileLock]:
    """A free port and the lock that keeps it ours among Ragsite's processes.

    gRPC binds with SO_REUSEPORT, so two servers started at once could share a port and mix two folders' data without
    any error; the lock makes choosing and binding one step.
    """
    for port in [wanted] if wanted else range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        lock = FileLock(Path(tempfile.gettempdir()) / f"ragsite-milvus-{os.getuid()}-{port}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            continue
        if _is_free(port):
            return port, lock
        lock.release()
    if wanted:
        raise MilvusLiteError(f"MILVUS_LITE_PORT={wanted} is taken by another program; choose another port.")
    raise MilvusLiteError(f"No free port for Milvus Lite from {FIRST_PORT} on; set MILVUS_LITE_PORT.")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
