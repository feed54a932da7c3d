"""What ends a process that does not end by itself, and what tells of a loop that is late."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from ragsite.runtime import watchdog
from ragsite.runtime.watchdog import LoopWatch

ROOT = Path(__file__).resolve().parent.parent
FREEZE = "import re; re.fullmatch('(a+)+b', 'a' * 60)"  # for years, in C code that holds the GIL
WATCHED = """
import asyncio, logging
from ragsite.runtime import watchdog
logging.basicConfig()
watchdog.SAMPLE_S, watchdog.LATE_S, watchdog.HANG_S, watchdog.REARM_S = 0.05, 0.1, {hang_s}, 0.0
def the_culprit():
    {block}
async def main():
    watch = asyncio.create_task(watchdog.LoopWatch(ends_hung_process=True).run())
    await asyncio.sleep(0.1)
    the_culprit()
    await asyncio.sleep(0.1)
asyncio.run(main())
"""


def ended(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=30)


def test_process_whose_threads_hang_ends_in_time() -> None:
    script = "import threading, time; from ragsite.runtime.watchdog import exit_within; exit_within(0.2)"
    done = ended(f"{script}; threading.Thread(target=time.sleep, args=(600,)).start()")
    assert done.returncode == 1
    assert "Timeout (0:00:00.200000)!" in done.stderr


def test_deadline_is_kept_by_whoever_holds_the_gil_and_is_never_put_off() -> None:
    script = "from ragsite.runtime.watchdog import exit_within; exit_within(0.2); exit_within(600)"
    assert ended(f"{script}; {FREEZE}").returncode == 1


def test_only_a_process_that_was_told_to_end_is_hurried() -> None:
    done = ended(
        "import time; from ragsite.runtime.watchdog import bring_exit_forward as hurry; hurry(0.0); time.sleep(0.2)"
    )
    assert done.returncode == 0


def test_stack_of_a_late_loop_is_written_while_it_is_late() -> None:
    done = ended(WATCHED.format(hang_s=60, block="import time; time.sleep(0.5)"))
    assert "in the_culprit" in done.stderr
    assert "the event loop was late by 0." in done.stderr
    assert done.returncode == 0


def test_process_whose_loop_is_frozen_ends_and_says_where() -> None:
    done = ended(WATCHED.format(hang_s=0.3, block=FREEZE))
    assert (done.returncode, "in the_culprit" in done.stderr) == (1, True)


async def test_lag_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "SAMPLE_S", 0.01)
    watch = LoopWatch(ends_hung_process=False)
    watch._has_signals = False  # SIGALRM is the test runner's
    task = asyncio.create_task(watch.run())
    await asyncio.sleep(0.02)
    time.sleep(0.2)
    await asyncio.sleep(0.02)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert (REGISTRY.get_sample_value("ragsite_loop_lag_max_seconds") or 0) > 0.1
    assert REGISTRY.get_sample_value("ragsite_loop_lag_seconds_count")


LATE_TO_END = """
import asyncio, time
import ragsite.asgi
from chat.runs import lifespan as stopping
stopping.STOP_S = 1.0
async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)
        await stopping.lifespan(scope, receive, send)
import uvicorn
uvicorn.run(application, port=0, timeout_graceful_shutdown=1)
"""


def test_web_process_stops_although_a_thread_hangs(tmp_path: Path) -> None:
    """Both the event loop and the interpreter wait for the thread at Ctrl-C."""
    environ = {"RAGSITE_DATA_DIR": str(tmp_path), "RAG_OFFLINE": "1"}
    command = [sys.executable, "-c", LATE_TO_END]
    with subprocess.Popen(command, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "Uvicorn running" not in (line := process.stderr.readline()):
            assert line
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        finally:
            process.kill()
