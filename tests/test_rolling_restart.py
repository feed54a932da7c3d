"""Two web processes of one site: one of them is ended or killed, and nobody who waits for an answer notices."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.ollama_server import OllamaServer
from tests.own_servers import own_redis
from tests.processes import wait_until
from tests.running_site import START_S
from tests.web_processes import Machine, Site

pytestmark = [
    pytest.mark.skipif(
        not shutil.which("redis-server"), reason="redis-server is not on this machine"
    ),
    pytest.mark.timeout(400),
]


@pytest.fixture(scope="module")
def model_server() -> Iterator[OllamaServer]:
    server = OllamaServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory,
    model_server: OllamaServer,
    migrated_database: Path | None,
) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    with own_redis(folder) as redis_url:
        # One lease on all machines, as on a real site: by another one, a run that has just begun would seem to have
        # shown a sign of life. It does not run out here: what counts is that the process has gone.
        site = Site(folder, redis_url, model_server.url, database=migrated_database, LEASE_S="250")
        yield site
        for machine in site.machines:
            machine.end()


@pytest.fixture(scope="module")
def other(site: Site) -> Machine:
    """The machine that stays."""
    return site.machine()


def test_an_answer_that_is_being_written_ends_before_its_machine_does(
    site: Site, other: Machine
) -> None:
    leaving = site.machine(PIECES="50")
    asked = site.ask(leaving)
    elsewhere = site.follow(other, asked.message_id)
    with connect(f"ws://127.0.0.1:{leaving.port}/ws/chat/", additional_headers=site.headers) as tab:
        leaving.process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionClosed) as closed:
            tab.recv(timeout=START_S)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1012
    assert leaving.status("/readyz") == 503
    with pytest.raises(InvalidStatus, match="503"):  # a proxy asks the other machine
        connect(f"ws://127.0.0.1:{leaving.port}/ws/chat/", additional_headers=site.headers)
    refused = httpx.post(
        f"{leaving.url}/api/chat", json={"message": "And now?"}, headers=site.headers, timeout=30
    )
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "restarting")
    for reader in (asked, elsewhere):
        end = reader.to_the_end()
        assert (end["type"], end["message"]["status"]) == ("done", "complete")
        assert end["answer"].endswith("Book 49.")
        assert reader.text == end["answer"]
    assert leaving.process.wait(START_S) in (0, -signal.SIGTERM)


@pytest.mark.parametrize("how", ["killed", "out of time"])
def test_an_answer_goes_on_in_another_process_behind_what_was_shown(
    site: Site, other: Machine, model_server: OllamaServer, how: str
) -> None:
    model_server.reply(text="They are due after four weeks [1].", structured=False)
    leaving = site.machine(PIECES="3000", RAGSITE_DRAIN_S="0.5")
    asked = site.ask(leaving)
    elsewhere = site.follow(other, asked.message_id)
    assert wait_until(lambda: "Book 12." in elsewhere.text, within_s=START_S)
    os.kill(leaving.process.pid, signal.SIGKILL if how == "killed" else signal.SIGTERM)
    end = elsewhere.to_the_end()
    shown = elsewhere.text
    assert (end["type"], end["message"]["status"]) == ("done", "complete"), end
    assert asked.text in shown  # nothing that somebody saw is gone
    assert end["answer"] == shown
    assert "due after four weeks" in shown
    assert [event["seq"] for event in elsewhere.events] == list(range(1, len(elsewhere.events) + 1))
    assert end["message"]["decision_path"][0]["name"] == "retrieve"
