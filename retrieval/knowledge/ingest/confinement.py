"""Processes for what strangers send: files, and what the servers of sources answer.

Forks of Python's fork server, so that a small piece of work does not cost the start of an interpreter. Each has hard
limits: on processor time, address space and what it writes to disk. It gets none of the site's secrets, and ends with
the process that asked for it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

MIB = 1024 * 1024
CPU_GRACE_S = 5  # between the signal that can be caught and the one that can't
ENVIRONMENT = (
    "PATH",
    "LD_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)

_forks = multiprocessing.get_context("forkserver")


def set_preload(module: str) -> None:
    """What the fork server loads when it starts: the first fork of this process decides."""
    _forks.set_forkserver_preload([module])


def start(
    target: Callable[..., None], *arguments: Any, duplex: bool = False
) -> tuple[ForkServerProcess, Connection]:
    """`target(connection, *arguments)` in a process of its own, and our end of the connection."""
    ours, theirs = _forks.Pipe(duplex=duplex)
    process = _forks.Process(target=target, args=(theirs, *arguments), daemon=True)
    with theirs:
        process.start()
    return process, ours


def end(process: ForkServerProcess) -> None:
    """With the programs that it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid or 0, signal.SIGKILL)
    process.kill()
    process.join()
    process.close()


def confine(*, memory_mib: int, cpu_s: int, written_mib: int | None = None) -> None:
    """The first thing in the fork. memory_mib: of address space, what is loaded included; written_mib: of each file."""
    os.setsid()  # so that programs that it starts are ended with it
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # its worker decides
    threading.Thread(target=_end_with_worker, daemon=True).start()
    for name in set(os.environ).difference(ENVIRONMENT):
        del os.environ[name]
    os.dup2(
        os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno()
    )  # no warnings of parsers in the log
    resource.setrlimit(resource.RLIMIT_AS, (memory_mib * MIB, memory_mib * MIB))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + CPU_GRACE_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if written_mib is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (written_mib * MIB, written_mib * MIB))


def _end_with_worker() -> None:
    if (worker := multiprocessing.parent_process()) is not None:
        worker.join()
        os.killpg(0, signal.SIGKILL)
