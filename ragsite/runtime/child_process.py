"""Child processes that never outlive us and never hear the terminal.

A child gets a session of its own, so that Ctrl-C in the terminal reaches only us and we decide the order of stopping;
on Linux the kernel kills it when we die, however we die. Its output goes to a log file of bounded size.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

LOG_MAX_BYTES = 5 * 1024 * 1024
GROUPS_GONE_S = 0.3  # that killed grandchildren get to disappear
_LAUNCHER = Path(__file__).with_name("die_with_parent.py")


def spawn(
    command: Sequence[str], *, log_path: Path, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start `command` (its first item is an absolute path) with its output appended to `log_path`.

    Call it from a thread that lives as long as the child should: Linux takes the end of the spawning thread for the
    death of the parent.
    """
    log_path.parent.mkdir(parents=True, exist_ok=True)
    trim_log(log_path)
    with log_path.open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - our own commands, no shell
            [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=env,
            cwd=cwd,
        )


def stop(process: subprocess.Popen[bytes], *, with_signal: signal.Signals, timeout_s: float) -> None:
    """Ask the child to end, wait, then kill what is left of its process group."""
    if process.poll() is None:
        process.send_signal(with_signal)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout_s)
    kill_groups([process])


def kill_groups(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Kill the whole process group of each child: also the children that a dead child has left behind."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # PermissionError: macOS, a group of zombies
            os.killpg(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + GROUPS_GONE_S
    for process in processes:
        process.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            while time.monotonic() < deadline:
                os.killpg(process.pid, 0)
                time.sleep(0.02)


def trim_log(path: Path, *, max_bytes: int = LOG_MAX_BYTES) -> None:
    """Move a log that has grown too large to `<name>.1` and empty it in place: its writer keeps appending to it."""
    if path.exists() and path.stat().st_size > max_bytes:
        shutil.copyfile(path, path.with_name(path.name + ".1"))
        os.truncate(path, 0)


def log_tail(path: Path, *, lines: int = 12) -> str:
    """The last lines of a log, for the message that says why a child would not run."""
    return "\n".join(path.read_text("utf-8", "replace").splitlines()[-lines:]) if path.exists() else ""
