"""The Milvus Lite server of a data folder: started on loopback, found by every process, one per folder.

Lite runs as a process of its own because its work holds the GIL; it has no authentication, so it listens on 127.0.0.1
only. Files in `<data>/run`:

    milvus.lock      held by the process that owns the server (the supervisor, or a command that started one)
    milvus.json      {"uri", "owner_pid"}: where it listens
    milvus.notice    a line for the operator, until it was shown

Imports neither pymilvus (1-2 s) nor Django.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
from filelock import FileLock, Timeout

from ragsite.runtime import child_process
from ragsite.runtime.child_process import Child

logger = logging.getLogger(__name__)
HOST = "127.0.0.1"
FIRST_PORT = 19530
PORTS_TRIED = 200
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 8.0


class MilvusLiteError(RuntimeError):
    """The folder's server does not run and can't be started; the message is one sentence for the operator."""


def current_uri(data_dir: str | Path) -> str:
    """Where the folder's server listens (or will in a moment, while it starts); "" when nobody runs one."""
    try:
        state = json.loads((_run_dir(Path(data_dir)) / "milvus.json").read_text())
        uri = str(state["uri"])
        owner = int(state["owner_pid"])
    except (OSError, ValueError, KeyError):
        return ""
    try:
        os.kill(owner, 0)
    except PermissionError:  # it lives, and belongs to another user
        return uri
    except OSError:  # it was killed; one that lives starts its server again
        return ""
    return uri


def answers(uri: str, *, timeout_s: float = 1.0) -> bool:
    """Whether a gRPC server serves there, not just listens."""
    with grpc.insecure_channel(uri.removeprefix("http://")) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout_s)
        except grpc.FutureTimeoutError:
            return False
    return True


@contextmanager
def ensure_server(data_dir: str | Path, *, port: int = 0) -> Iterator[str]:
    """The URI of the folder's server for the duration of a command: the running one, else one of its own.

    Raises MilvusLiteError.
    """
    server = LiteServer(data_dir, port=port)
    try:
        if not server.start():
            yield _others_uri(Path(data_dir))
            return
        server.wait_ready()
        if line := server.notice():
            logger.warning(line)
        yield server.uri
    finally:
        server.stop()


def _others_uri(data_dir: Path) -> str:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not (uri := current_uri(data_dir)) or not answers(uri):
        if time.monotonic() > deadline:
            raise MilvusLiteError(
                f"Another process owns the Milvus Lite server of {data_dir}, which does not answer."
            )
        time.sleep(0.05)
    return uri


class LiteServer(Child):
    """A server that this process owns from `start` to `stop`."""

    def __init__(self, data_dir: str | Path, *, port: int = 0) -> None:
        self.data_dir = Path(data_dir)
        log_path = self.data_dir / "logs" / "milvus.log"
        super().__init__(
            "milvus", log_path=log_path, stop_signal=signal.SIGINT
        )  # at which it closes its files
        self._run_dir = _run_dir(self.data_dir)
        self._owner_lock = FileLock(self._run_dir / "milvus.lock")
        self._notice = self._run_dir / "milvus.notice"
        self._chosen_port = port
        self._port = 0
        self._port_lock: FileLock | None = None

    @property
    def uri(self) -> str:
        """Set by `start`, and the same after every further start."""
        return f"http://{HOST}:{self._port}"

    def start(self) -> bool:
        """Become the one owner of the folder's server, start it, or start it again on the same port, and publish its
        address; does not wait. False: another process is the owner. Raises MilvusLiteError."""
        try:
            self._owner_lock.acquire(timeout=0)
        except Timeout:
            return False
        if not self._port:
            self._port, self._port_lock = _reserve_port(self._chosen_port)
        # -P: the script's own folder is no place to import from, it has a `milvus_lite.py` that is not the library.
        program = [sys.executable, "-P", str(Path(__file__).with_name("milvus_lite_server.py"))]
        self.command = [
            *program,
            str(self._notice),
            "server",
            "--data-dir",
            str(self.data_dir / "milvus"),
            "--host",
            HOST,
            "--port",
            str(self._port),
        ]
        super().start()
        fresh = self._run_dir / "milvus.new"
        fresh.write_text(json.dumps({"uri": self.uri, "owner_pid": os.getpid()}))
        fresh.replace(self._run_dir / "milvus.json")
        return True

    def ready(self) -> bool:
        return self.is_running() and answers(self.uri)

    def notice(self) -> str:
        """A line for the operator, once: the server found its folder damaged and set it aside."""
        try:
            line = self._notice.read_text()
            self._notice.unlink()
        except FileNotFoundError:
            return ""
        return line

    def wait_ready(self) -> None:
        """Raises MilvusLiteError when it ends, or does not answer in time."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self.ready():
            if not self.is_running():
                raise MilvusLiteError(
                    f"Milvus Lite ended while starting; {self.log_path} says why."
                )
            if time.monotonic() > deadline:
                raise MilvusLiteError(
                    f"Milvus Lite did not answer in {START_TIMEOUT_S:.0f} s; see {self.log_path}."
                )
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop it, and give the folder free; of another's server nothing is touched."""
        child_process.stop([self], timeout_s=STOP_TIMEOUT_S)
        if self.process is not None:
            (self._run_dir / "milvus.json").unlink(missing_ok=True)
        if self._port_lock is not None:
            self._port_lock.release()
        self._owner_lock.release(force=True)  # it was acquired at each start
        self.process = None
        self._port = 0
        self._port_lock = None


def _run_dir(data_dir: Path) -> Path:
    path = data_dir / "run"
    path.mkdir(parents=True, exist_ok=True)
    return path


def _reserve_port(chosen: int) -> tuple[int, FileLock]:
    """A free port and the lock that keeps it ours among Ragsite's processes.

    gRPC binds with SO_REUSEPORT, so two servers started at once could share a port and mix two folders' data without
    any error; the lock makes choosing and binding one step.
    """
    for port in [chosen] if chosen else range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        lock = FileLock(Path(tempfile.gettempdir()) / f"ragsite-milvus-{os.getuid()}-{port}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            continue
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
                return port, lock
            except OSError:
                lock.release()
    if chosen:
        raise MilvusLiteError(
            f"MILVUS_LITE_PORT={chosen} is taken by another program; choose another port."
        )
    raise MilvusLiteError(
        f"No free port for Milvus Lite from {FIRST_PORT} on; set MILVUS_LITE_PORT."
    )
