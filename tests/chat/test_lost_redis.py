"""A Redis that drops connections, is flushed, or starts again empty: every event arrives, open tabs go on hearing."""

from __future__ import annotations

import asyncio
import shutil
import socket as sockets
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from channels.layers import get_channel_layer

from chat.runs.event_log import Event, EventLogGoneError, RedisEventLog, close_event_log
from chat.runs.running import runs_shut_down
from ragsite.settings import redis_channel_layer
from tests.chat.conftest import TEXT, Api, ScriptedWorkflow

pytestmark = pytest.mark.redis


class Server:
    """A Redis of the test's own, which keeps nothing when it stops."""

    def __init__(self, folder: Path) -> None:
        with sockets.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder, self.url = folder, f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        command = [
            "redis-server",
            "--bind",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--save",
            "",
            "--dir",
            self.folder,
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        for _ in range(500):
            try:
                self.call("PING")
                return
            except redis.ConnectionError:
                time.sleep(0.02)
        raise TimeoutError("redis-server does not answer")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def call(self, *command: Any) -> Any:
        with redis.Redis(port=self.port) as client:
            return client.execute_command(*command)

    def drop_connections(self) -> None:
        self.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


@pytest.fixture(scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if not shutil.which("redis-server"):
        pytest.skip("redis-server is not on this machine")
    server = Server(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture
def server(_server: Server) -> Server:
    _server.call("FLUSHALL")
    return _server


@pytest.fixture
async def log(server: Server) -> AsyncIterator[RedisEventLog]:
    log = RedisEventLog(server.url)
    yield log
    await log.close()


def event(seq: int, type_: str = "chunk") -> Event:
    return {"type": type_, "seq": seq}


async def _read(log: RedisEventLog, *, after: int = 0) -> list[int]:
    return [item["seq"] async for item in log.read("key", after=after, idle_s=5) if item]


# ------------------------------------------------------------------------------------------------ the log
async def test_connection_that_went_stale_loses_no_event(
    log: RedisEventLog, server: Server
) -> None:
    await log.append("key", event(1))
    server.drop_connections()
    await log.append("key", event(2))
    await log.append("key", event(3, "done"))
    assert [await _read(log, after=after) for after in (0, 1, 2)] == [[1, 2, 3], [2, 3], [3]]


async def test_a_server_that_is_away_holds_up_no_answer() -> None:
    log = RedisEventLog("redis://127.0.0.1:1/0")
    await log.append("key", event(1))
    with pytest.raises(EventLogGoneError):
        await anext(log.read("key", after=0, idle_s=1))
    await log.close()


async def test_reader_of_a_flushed_stream_is_told_that_it_is_gone(
    log: RedisEventLog, server: Server
) -> None:
    await log.append("key", event(1))
    items = log.read("key", after=1, idle_s=0.02)
    assert await anext(items) is None
    server.call("FLUSHALL")
    with pytest.raises(EventLogGoneError):
        await anext(items)


async def test_what_a_slow_writer_sends_after_its_log_was_claimed_is_not_taken(
    log: RedisEventLog, server: Server
) -> None:
    former = RedisEventLog(server.url)
    await former.append("key", event(1))
    await log.claim("key", writer="successor")
    await former.append("key", event(2))
    assert [item["seq"] for item in await log.whole("key")] == [1]
    await log.append("key", event(2, "done"), writer="successor")
    await former.append("key", event(3, "error"))  # nor does its end take the log away
    assert [item["type"] for item in await log.whole("key")] == ["chunk", "done"]
    await former.close()


async def test_a_process_that_takes_back_an_answer_it_had_lost_writes_its_log_again(
    log: RedisEventLog, server: Server
) -> None:
    await log.append("key", event(1))
    successor = RedisEventLog(server.url)
    await successor.claim("key", writer="successor")
    await log.append("key", event(2))  # not taken
    await log.claim("key", writer="again")
    await log.append("key", event(2), writer="again")
    assert [item["seq"] for item in await log.whole("key")] == [1, 2]
    await successor.close()


async def test_an_answer_that_begins_again_has_a_log_that_nobody_claimed(
    log: RedisEventLog, server: Server
) -> None:
    await log.append("key", event(1))
    await log.claim("key", writer="successor")
    await log.append("key", event(1))
    await log.append("key", event(2))
    assert [item["seq"] for item in await log.whole("key")] == [1, 2]


# ------------------------------------------------------------------------------------------------ open tabs
@pytest.fixture
async def site(server: Server, settings: Any) -> AsyncIterator[Server]:
    """The site with this Redis."""
    settings.REDIS_URL = server.url
    settings.CHANNEL_LAYERS = {"default": redis_channel_layer(server.url)}
    yield server
    await (
        runs_shut_down()
    )  # a run that still listens for its stop would open a connection that nobody closes
    await close_event_log()
    await get_channel_layer().flush()


async def test_open_tab_hears_again_after_a_restart(
    site: Server, socket: Any, api: Api, workflow: ScriptedWorkflow
) -> None:
    tab = await socket()
    await tab.send("ask", message="First?")
    session_id = (await tab.until("done"))[0]["session_id"]
    site.stop()
    await tab.send("ping")
    assert await tab.receive() == {"type": "pong"}
    await asyncio.sleep(0.3)  # its waiting for messages fails meanwhile
    await asyncio.to_thread(site.start)
    await asyncio.sleep(1.5)  # the layer subscribes again a second after it has lost its server
    data = (
        await api.ask(session_id=session_id)
    ).json()  # announced to the tab, which is in its group again
    assert (await tab.until("done"))[-1]["message"]["message_id"] == data["message_id"]


async def test_answer_goes_on_while_redis_is_away_and_its_reader_gets_the_end(
    site: Server, socket: Any, api: Api, workflow: ScriptedWorkflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.runs.event_log.HEARTBEAT_S", 0.1)
    workflow.hold(1)
    tab = await socket()
    await tab.send("ask", message="Books?")
    await tab.until("chunk")
    site.stop()
    workflow.go_on()
    rest = await tab.until("done", "error")
    assert (rest[-1]["type"], rest[-1]["answer"]) == ("done", TEXT)
    await asyncio.to_thread(site.start)
