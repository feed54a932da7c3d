"""How long `manage.py up` takes to stop in the middle of its work, and what its readers saw but the database lacks.

    python -m benchmarks.stop [--rounds 5] [--answers 6] [--documents 40] [--json]

Each round starts a site on an empty folder with a slow simulated Ollama: answers stream over WebSockets to their
readers, the workers wait for embeddings that do not come, more documents are queued. Then SIGTERM. The baseline, of the
same run, is a site on which nothing happens.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import httpx
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from benchmarks.speed.load import Site
from benchmarks.support.paced_ollama import PacedOllama
from benchmarks.support.tables import show

ROOT = Path(__file__).resolve().parents[2]
START_S = 180.0
STREAMED_S = 3.0  # between the last first token and the signal
PER_USER = 2  # answers at once that the site allows
QUESTION = "How many books may an undergraduate borrow at once under the library loan regulations?"
SENTENCE = "Undergraduates may borrow ten books for four weeks under the library loan regulations. "
STUCK = "A text whose embedding never comes. "


@dataclass(slots=True)
class Reader:
    """What one reader of an answer has seen."""

    message_id: str = ""
    text: str = ""
    error: str = ""


@dataclass(slots=True)
class Round:
    seconds: float = 0.0
    readers: list[Reader] = field(default_factory=list)
    lost_chars: int = 0
    unended: int = 0  # answers that the database has as still being written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="stops under load (default: 5)")
    parser.add_argument("--answers", type=int, default=6, help="being written at the signal (default: 6)")
    parser.add_argument("--documents", type=int, default=40, help="being ingested at the signal (default: 40)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    idle = asyncio.run(measure(answers=0, documents=0))
    loaded = [asyncio.run(measure(answers=options.answers, documents=options.documents)) for _ in range(options.rounds)]
    show([row("idle", [idle]), row("loaded", loaded)], as_json=options.json)


def row(name: str, rounds: list[Round]) -> dict[str, object]:
    readers = [reader for each in rounds for reader in each.readers]
    return {
        "load": name,
        "stops": len(rounds),
        "stop p50 s": median(each.seconds for each in rounds),
        "stop max s": max(each.seconds for each in rounds),
        "answers": len(readers),
        "characters seen": sum(len(reader.text) for reader in readers),
        "characters lost": sum(each.lost_chars for each in rounds),
        "answers without an end": sum(each.unended for each in rounds),
        "errors": sum(bool(reader.error) for reader in readers),
    }


async def measure(*, answers: int, documents: int) -> Round:
    result = Round()
    ollama = PacedOllama(first_token_s=0.3, tokens_per_s=15, at_once=32)
    ollama.reply(endpoint="embed", match=STUCK, delay_s=600)
    ollama.reply(structured=False, text=SENTENCE * 200)
    ollama.start()
    with tempfile.TemporaryDirectory(prefix="ragsite-stop-") as folder:
        data_dir = Path(folder) / "var"
        port = free_port()
        process = start(data_dir, port, ollama.url)
        try:
            url = f"http://127.0.0.1:{port}"
            await ready(url)
            site = Site(url)
            tokens = [await site.sign_up() for _ in range(-(-answers // PER_USER))]
            if documents:
                await upload(site, tokens[0], documents)
            sockets = [await site.open(tokens[at // PER_USER]) for at in range(answers)]
            result.readers = [Reader() for _ in sockets]
            reading = [asyncio.create_task(read(*pair)) for pair in zip(sockets, result.readers, strict=True)]
            async with asyncio.timeout(120):
                while not all(reader.text or reader.error for reader in result.readers):
                    await asyncio.sleep(0.1)
            await asyncio.sleep(STREAMED_S)
            began = time.perf_counter()
            process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(process.wait, 120)
            result.seconds = time.perf_counter() - began
            await asyncio.gather(*reading)
            await site.http.aclose()
            for reader in result.readers:
                stored, status = stored_answer(data_dir / "db.sqlite3", reader.message_id)
                # A reader that saw more than is stored: what follows the common beginning is lost.
                result.lost_chars += len(reader.text) - common_length(reader.text, stored)
                result.unended += status == "streaming"
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            ollama.stop()
    return result


def start(data_dir: Path, port: int, ollama_url: str) -> subprocess.Popen[bytes]:
    ours = ("RAGSITE_", "RAG_", "MILVUS_", "OLLAMA_", "REDIS_", "DATABASE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environ = kept | {
        "RAGSITE_DATA_DIR": str(data_dir),
        "RAGSITE_PORT": str(port),
        "RAGSITE_ADMIN_PASSWORD": "correct-horse-battery",
        "OLLAMA_BASE_URL": ollama_url,
        "RAG_OLLAMA_EMBED_TIMEOUT_S": "600",
    }
    data_dir.mkdir(parents=True)
    with (data_dir / "up.log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, "manage.py", "up"], cwd=ROOT, env=environ, stdout=log, stderr=log, start_new_session=True
        )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


async def ready(url: str) -> None:
    async with httpx.AsyncClient() as http, asyncio.timeout(START_S):
        while True:
            with suppress(httpx.HTTPError):
                if (await http.get(f"{url}/readyz")).status_code == 200:
                    return
            await asyncio.sleep(0.25)


async def upload(site: Site, token: str, count: int) -> None:
    """They are queued when this returns, and the workers are in the middle of the first ones a moment later."""
    files = [("file", (f"{at}.txt", f"{STUCK}Number {at}.".encode(), "text/plain")) for at in range(count)]
    reply = await site.http.post("/api/documents", files=files, headers={"Authorization": f"Token {token}"})
    reply.raise_for_status()


async def read(connection: ClientConnection, reader: Reader) -> None:
    """Ask, and keep what comes until the connection ends."""
    try:
        await connection.send(json.dumps({"type": "ask", "message": QUESTION}))
        async for frame in connection:
            event = json.loads(frame)
            reader.message_id = event.get("message_id") or reader.message_id
            if event["type"] == "chunk":
                reader.text += event["content"]
            elif event["type"] == "error":
                reader.error = event["code"]
    except ConnectionClosed:
        pass
    except OSError as error:
        reader.error = type(error).__name__


def common_length(first: str, second: str) -> int:
    """Characters up to the first difference."""
    shorter = min(len(first), len(second))
    return next((at for at in range(shorter) if first[at] != second[at]), shorter)


def stored_answer(database: Path, message_id: str) -> tuple[str, str]:
    """Text and status."""
    with sqlite3.connect(database) as connection:
        found = connection.execute(
            "SELECT text, status FROM chat_message WHERE id = ?", (message_id.replace("-", ""),)
        ).fetchone()
    connection.close()
    return found or ("", "missing")


if __name__ == "__main__":
    main()
