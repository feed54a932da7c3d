"""The broker without a server: what is sent is there after a restart, whole, and taken once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty

import pytest
from kombu import Connection

from ragsite.runtime import file_broker


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "broker"


@pytest.fixture
def connect(folder: Path) -> Iterator[type[Connection]]:
    opened: list[Connection] = []

    def make() -> Connection:
        options = {
            "data_folder_in": str(folder / "queue"),
            "data_folder_out": str(folder / "queue"),
        }
        options["control_folder"] = str(folder / "control")
        opened.append(
            Connection(
                "files://localhost", transport=file_broker.Transport, transport_options=options
            )
        )
        return opened[-1]

    yield make  # type: ignore[misc]
    for connection in opened:
        connection.release()


def test_a_message_outlives_the_process_that_sent_it(connect: type[Connection]) -> None:
    with connect() as sender:
        sender.SimpleQueue("work").put({"document": 1})
    with connect() as receiver:
        message = receiver.SimpleQueue("work").get(block=False)
        message.ack()
    assert message.payload == {"document": 1}


def test_a_half_written_message_is_not_taken(connect: type[Connection], folder: Path) -> None:
    with connect() as receiver:
        queue = receiver.SimpleQueue("work")
        (folder / "queue").mkdir(parents=True, exist_ok=True)
        (folder / "queue" / "1_x.work.msg.part").write_text('{"bo')
        with pytest.raises(Empty):
            queue.get(block=False)


def test_many_senders_and_receivers_lose_and_double_nothing(connect: type[Connection]) -> None:
    taken: list[int] = []
    given_up = threading.Event()

    def send(start: int) -> None:
        queue = connect().SimpleQueue("work")
        for number in range(start, start + 25):
            queue.put(number)

    def receive() -> None:
        channel = connect().default_channel
        while len(taken) < 75 and not given_up.is_set():
            if (message := channel.basic_get("work", no_ack=True)) is not None:
                taken.append(message.payload)

    threads = [threading.Thread(target=send, args=(start,)) for start in (0, 25, 50)]
    threads += [threading.Thread(target=receive) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    given_up.set()
    assert sorted(taken) == list(range(75))
