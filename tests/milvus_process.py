"""`python -m tests.milvus_process FOLDER PORT`: a Milvus server, emulated, as a process of its own.

It is Milvus Lite behind `tests.milvus_servers`, which refuses a flush within 10 s of the last one, as a server does. At
SIGTERM it closes Lite's files first: a server keeps in its log what it has acknowledged, Lite only what it has flushed.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path

from ragsite.runtime.milvus_lite import LiteServer
from tests.milvus_servers import MilvusServer


def main() -> None:
    folder = Path(sys.argv[1])
    told = threading.Event()
    for number in (
        signal.SIGTERM,
        signal.SIGINT,
    ):  # `sigwait` would not do: gRPC's threads hear them, too
        signal.signal(number, lambda *_: told.set())
    lite = LiteServer(folder)
    lite.start()
    lite.wait_ready()
    server = MilvusServer(lite.uri, port=int(sys.argv[2]))
    told.wait()
    server.stop()
    lite.stop()
    calls = {"flushes": server.calls["Flush"], "flushes refused": server.refused_flushes}
    with (folder / "calls.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(calls) + "\n")


if __name__ == "__main__":
    main()
