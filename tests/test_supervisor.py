"""The supervisor with small programs in the place of the site's."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ragsite.runtime import probes
from ragsite.runtime import supervisor as supervisor_module
from ragsite.runtime.probes import Probe
from ragsite.runtime.start_checks import StartError
from ragsite.runtime.supervisor import Program, Supervisor
from tests.processes import alive, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
NOBODY = "http://127.0.0.1:9/"
SERVER = "from http.server import *; HTTPServer(('127.0.0.1', {port}), SimpleHTTPRequestHandler).serve_forever()"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(said: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    monkeypatch.setattr(supervisor_module, "BACKOFF_S", (0.0,) * 5)
    supervisor = Supervisor(url=NOBODY, say=said.append)
    yield supervisor
    supervisor.stop()


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Program]:
    def make(script: str) -> Program:
        command = [sys.executable, "-c", script]
        return Program("part", command, log_path=tmp_path / "part.log", env=dict(os.environ), cwd=tmp_path)

    return make


def run_until(supervisor: Supervisor, condition: Callable[[], bool]) -> None:
    """The loop of `run`, for as long as the condition does not hold."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        for watched in supervisor._watched:
            supervisor._poll(watched)
        time.sleep(0.02)


def test_what_dies_is_started_again(supervisor: Supervisor, program: Callable[[str], Program], said: list[str]) -> None:
    part = program("import time; time.sleep(60)")
    supervisor.add(part)
    assert part.process is not None
    first = part.process.pid
    os.kill(first, signal.SIGKILL)
    run_until(supervisor, lambda: part.process is not None and part.process.pid != first)
    assert said == ["part was ended by SIGKILL; starting it again."]


def test_orphans_of_a_dead_part_are_gone_before_it_starts_again(
    supervisor: Supervisor, program: Callable[[str], Program]
) -> None:
    part = program("import subprocess, time; print(subprocess.Popen(['sleep', '60']).pid, flush=True); time.sleep(60)")
    supervisor.add(part)
    assert part.process is not None
    first = part.process.pid
    assert wait_until(lambda: part.log_path.read_text().count("\n") == 1, within_s=10)
    orphan = int(part.log_path.read_text())
    os.kill(first, signal.SIGKILL)
    run_until(supervisor, lambda: part.process is not None and part.process.pid != first)
    assert not alive(orphan)


def test_a_part_that_keeps_dying_stops_the_site_with_its_last_words(
    supervisor: Supervisor, program: Callable[[str], Program]
) -> None:
    supervisor.add(program("raise SystemExit('the disk is full')"))
    with pytest.raises(StartError, match=r"part ended 5 times right after its start[\s\S]*the disk is full"):
        supervisor.run()


def test_a_part_that_will_not_stop_is_killed(
    supervisor: Supervisor, program: Callable[[str], Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "STOP_TIMEOUT_S", 0.2)
    part = program("import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)")
    supervisor.add(part)
    assert wait_until(lambda: "deaf" in part.log_path.read_text(), within_s=10)
    supervisor.stop()
    assert part.process is not None
    assert part.process.returncode == -signal.SIGKILL


def test_a_part_is_in_a_session_of_its_own(supervisor: Supervisor, program: Callable[[str], Program]) -> None:
    part = program("import time; time.sleep(60)")
    supervisor.add(part)
    assert part.process is not None
    assert os.getsid(part.process.pid) == part.process.pid != os.getsid(0)


def test_a_delayed_part_does_not_start_at_once(supervisor: Supervisor, program: Callable[[str], Program]) -> None:
    part = program("pass")
    supervisor.add(part, delay_s=60)
    assert part.process is None


def test_a_part_that_hangs_is_killed_and_started_again(
    supervisor: Supervisor, program: Callable[[str], Program], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "HEALTH_POLL_S", 0.05)
    monkeypatch.setattr(supervisor_module, "HANG_S", 0.2)
    monkeypatch.setattr(probes, "ASK_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    part = program(SERVER.format(port=port))
    supervisor.add(part, health_url=f"http://127.0.0.1:{port}/")
    health, process = supervisor._watched[0].health, part.process
    assert health is not None
    assert process is not None
    run_until(supervisor, lambda: health.succeeded)
    os.kill(process.pid, signal.SIGSTOP)  # its port goes on taking connections
    run_until(supervisor, lambda: part.process is not process)
    assert said[0].startswith("part has not answered for ")
    run_until(supervisor, lambda: health.succeeded)


def test_a_part_that_has_just_started_gets_its_time(
    supervisor: Supervisor, program: Callable[[str], Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "HEALTH_POLL_S", 0.01)
    monkeypatch.setattr(supervisor_module, "HANG_S", 0.0)
    part = program("import time; time.sleep(60)")
    supervisor.add(part, health_url=NOBODY)
    first, health = part.process, supervisor._watched[0].health
    assert health is not None
    run_until(supervisor, lambda: health.failing_s > 0.05)
    assert part.process is first


def test_time_in_which_the_supervisor_was_held_up_is_nobodys_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    hours = iter((0.0, 3600.0))
    monkeypatch.setattr(time, "monotonic", lambda: next(hours))
    probe = Probe(lambda: False, every_s=1.0)
    probe._look()
    assert probe.failing_s == probes.ASK_TIMEOUT_S + 1.0


def test_an_answer_from_before_the_restart_does_not_count() -> None:
    def ask() -> bool:
        probe.reset()
        return True

    probe = Probe(ask, every_s=1.0)
    probe._look()
    assert not probe.succeeded
