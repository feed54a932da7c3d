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


class Child:
    """A command line, whose first item is an absolute path. Its output is appended to `log_path`."""

    def __init__(
        self,
        name: str,
        command: Sequence[str] = (),
        *,
        log_path: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        self.name = name
        self.command = command
        self.log_path = log_path
        self.stop_signal = stop_signal
        self.process: subprocess.Popen[bytes] | None = None
        self._env = env
        self._cwd = cwd

    def start(self) -> bool:
        """Start it, or start it again, without what the dead one has left behind. False: not now, ask later.

        Call it from a thread that lives as long as the child should: Linux takes the end of the spawning thread for the
        death of the parent.
        """
        _kill_groups([self])
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        self.trim_log()
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own commands, no shell
                [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=self._env,
                cwd=self._cwd,
            )
        return True

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def trim_log(self) -> None:
        """Move a log that has grown too large to `<name>.1` and empty it in place: its writer keeps appending to it."""
        if self.log_path.exists() and self.log_path.stat().st_size > LOG_MAX_BYTES:
            shutil.copyfile(self.log_path, self.log_path.with_name(self.log_path.name + ".1"))
            os.truncate(self.log_path, 0)


def stop(children: Sequence[Child], *, timeout_s: float) -> None:
    """Ask them to end, all at once, and wait; then kill what is left of them and of what they started."""
    for child in children:
        if child.process is not None:
            child.process.send_signal(child.stop_signal)
    deadline = time.monotonic() + timeout_s
    while any(child.is_running() for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    _kill_groups(children)


def _kill_groups(children: Sequence[Child]) -> None:
    """Kill the whole process group of each child: also the children that a dead child has left behind."""
    processes = [child.process for child in children if child.process is not None]
    for process in processes:
        with contextlib.suppress(
            ProcessLookupError, PermissionError
        ):  # PermissionError: macOS, a group of zombies
            os.killpg(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + GROUPS_GONE_S
    for process in processes:
        process.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            while time.monotonic() < deadline:
                os.killpg(process.pid, 0)
                time.sleep(0.02)
