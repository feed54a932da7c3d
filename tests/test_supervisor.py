"""The supervisor with small programs in the place of the site's."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragsite.runtime import supervisor as supervisor_module
from ragsite.runtime.child_process import Child
from ragsite.runtime.start_checks import StartError
from ragsite.runtime.supervisor import Supervisor
from tests.processes import alive, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
NOBODY = "http://127.0.0.1:9/"


@pytest.fixture
def messages() -> list[str]:
    return []


@pytest.fixture
def supervisor(messages: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    monkeypatch.setattr(supervisor_module, "PAUSE_S", 0.0)
    supervisor = Supervisor(url=NOBODY, say=messages.append)
    yield supervisor
    supervisor.stop()


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Child]:
    def make(script: str, **options: Any) -> Child:
        command, log_path = [sys.executable, "-c", script], tmp_path / "part.log"
        return Child(
            "part", command, log_path=log_path, env=dict(os.environ), cwd=tmp_path, **options
        )

    return make


def run_until(supervisor: Supervisor, condition: Callable[[], bool]) -> None:
    """The loop of `run`, for as long as the condition does not hold."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        supervisor.poll()
        time.sleep(0.02)


def test_orphans_of_a_dead_part_are_gone_before_it_starts_again(
    supervisor: Supervisor, program: Callable[..., Child]
) -> None:
    part = program(
        "import subprocess, time; print(subprocess.Popen(['sleep', '60']).pid, flush=True); time.sleep(60)"
    )
    supervisor.add(part)
    assert part.process is not None
    first = part.process.pid
    assert wait_until(lambda: part.log_path.read_text().count("\n") == 1, within_s=10)
    orphan = int(part.log_path.read_text())
    os.kill(first, signal.SIGKILL)
    run_until(supervisor, lambda: part.process is not None and part.process.pid != first)
    assert not alive(orphan)


def test_a_part_that_keeps_dying_stops_the_site_with_its_last_words(
    supervisor: Supervisor, program: Callable[..., Child]
) -> None:
    supervisor.add(program("raise SystemExit('the disk is full')"))
    with pytest.raises(
        StartError, match=r"part ended 5 times right after its start[\s\S]*the disk is full"
    ):
        supervisor.run()


def test_a_part_that_will_not_stop_is_killed(
    supervisor: Supervisor, program: Callable[..., Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "PARTS_STOP_TIMEOUT_S", 0.2)
    part = program(
        "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    )
    supervisor.add(part)
    assert wait_until(lambda: "deaf" in part.log_path.read_text(), within_s=10)
    supervisor.stop()
    assert part.process is not None
    assert part.process.returncode == -signal.SIGKILL
