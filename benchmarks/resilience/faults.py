"""Faults: what a site loses, doubles or leaves hanging while its parts are killed, stopped, cut off and filled up.

    python -m benchmarks.faults [--database sqlite|postgresql|both] [--rounds 3] [--documents 300]
                                        [--only NAME]

Five users ask without a pause and follow their answers as they are written, documents are uploaded, answers are rated;
meanwhile each round brings every fault once. At the end the database and the index are compared with what the site
acknowledged and what its readers saw. A killed web process may lose the last second of an answer's text, nothing else
may lose anything. The model is a paced stand-in; all servers are this benchmark's own, on loopback. About 12 minutes a
database. The small disk needs root; without it that fault is left out, and the table says so.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import shutil
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from benchmarks.support.fault_site import (
    ADMIN_PASSWORD,
    ModelServer,
    NotToBeHadError,
    OwnPostgres,
    OwnRedis,
    Site,
    SmallDisk,
)
from benchmarks.support.tables import show

USERS = 5
OUTAGE_S = 10.0
PAUSE_S = 15.0
FULL_S = 10.0
CALM_S = 120.0  # within which everything under way must have come to its end
DISK_MIB = 1024
LOST_WITH_THE_WEB_S = 1.0
FINAL = ("done", "error")
QUIET = httpx.Timeout(40.0, connect=5.0)  # a stream says something at least every 15 s


@dataclass(slots=True)
class Answer:
    """An answer as its reader saw it: pieces of text with the moment at which they came. asked, ended: moments."""

    message_id: str
    user_message_id: str
    question: str
    fault: str
    asked: float
    seen: list[tuple[float, str]] = field(default_factory=list)
    last_seq: int = 0
    final: str = ""
    ended: float = 0.0
    withdrawn: int = 0

    @property
    def text(self) -> str:
        return "".join(piece for _, piece in self.seen)


@dataclass(slots=True)
class FaultRun:
    """One fault: how it went. recovered_s: from its end until web, worker and search answered again."""

    name: str
    begun: float = 0.0
    ended: float = 0.0
    recovered_s: float = 0.0
    web_died: bool = False


class Ledger:
    """What the site acknowledged."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.documents: dict[str, str] = {}  # id → the fault under which it was taken
        self.ratings: dict[str, str] = {}  # id of the rated answer → the fault
        self.refused: dict[int, int] = {}  # status → how often
        self.faults: list[FaultRun] = []
        self.fault = "none"

    def refuse(self, status: int) -> None:
        self.refused[status] = self.refused.get(status, 0) + 1


class User:
    """Asks, reads to the end through all breaks, rates, and uploads."""

    def __init__(self, number: int, url: str, ledger: Ledger) -> None:
        self.number = number
        self.ledger = ledger
        self.http = httpx.AsyncClient(base_url=url, timeout=QUIET)
        self.asking = True
        self.first_chunk = asyncio.Event()

    async def sign_in(self, name: str, password: str) -> None:
        reply = await self.http.post(
            "/api/auth/token", json={"username": name, "password": password}
        )
        reply.raise_for_status()
        self.http.headers["Authorization"] = f"Token {reply.json()['token']}"

    async def ask_on(self) -> None:
        """Until told to stop."""
        turn = 0
        while self.asking:
            turn += 1
            question = f"Which rule does regulation {self.number}-{turn} name for the library in {uuid.uuid4().hex[:6]}?"
            answer = await self._ask(question)
            if answer is None:
                await asyncio.sleep(0.5)
                continue
            while not answer.final:
                await asyncio.sleep(0.3)
                await self._read(answer)
            if answer.final == "done":
                await self._rate(answer)

    async def upload(self, number: int) -> None:
        """Tried until it is acknowledged, for two minutes."""
        text = "\n\n".join(
            f"## Part {part} of rule {number}\n\n"
            + f"Rule {number}, part {part}: the library lends {part + 2} items. " * 12
            for part in range(1, 4)
        )
        name = f"rule-{number}-{uuid.uuid4().hex[:8]}.md"
        deadline = time.monotonic() + CALM_S
        while time.monotonic() < deadline:
            fault = self.ledger.fault
            try:
                reply = await self.http.post(
                    "/api/documents",
                    files={"file": (name, f"# Rule {number} {name}\n\n{text}\n")},
                    data={"collection": f"faults-{self.number}"},
                )
            except httpx.HTTPError:
                await asyncio.sleep(0.5)
                continue
            if reply.status_code == 202:
                self.ledger.documents[reply.json()["documents"][0]["id"]] = fault
                return
            self.ledger.refuse(reply.status_code)
            await asyncio.sleep(1.0)

    # -------------------------------------------------------------------------------------------- answers
    async def _ask(self, question: str) -> Answer | None:
        """The answer as far as it was read; None: nothing was acknowledged."""
        body = {"message": question, "stream": True}
        answer: Answer | None = None
        asked = time.monotonic()
        try:
            async with self.http.stream("POST", "/api/chat", json=body) as reply:
                if reply.status_code != 200:
                    self.ledger.refuse(reply.status_code)
                    return None
                async for event in _events(reply):
                    if answer is None:
                        named = (event["message_id"], event["user_message_id"], question)
                        answer = Answer(*named, self.ledger.fault, asked)
                        self.ledger.answers[answer.message_id] = answer
                    self._take(answer, event)
        except httpx.HTTPError:
            pass
        return answer

    async def _read(self, answer: Answer) -> None:
        headers = {"Last-Event-ID": str(answer.last_seq)}
        try:
            async with self.http.stream(
                "GET", f"/api/messages/{answer.message_id}/events", headers=headers
            ) as reply:
                if reply.status_code == 200:
                    async for event in _events(reply):
                        self._take(answer, event)
                elif reply.status_code == 404:
                    answer.final = "gone"
                else:
                    self.ledger.refuse(reply.status_code)
        except httpx.HTTPError:
            pass

    def _take(self, answer: Answer, event: dict[str, Any]) -> None:
        answer.last_seq = max(answer.last_seq, event["seq"])
        if event["type"] == "chunk":
            answer.seen.append((time.monotonic(), event["content"]))
            self.first_chunk.set()
        elif event["type"] == "withdrawn":  # the reader's page takes the text away, too
            answer.seen.clear()
            answer.withdrawn += 1
        elif event["type"] in FINAL:
            answer.final = event["type"]
            answer.ended = time.monotonic()

    async def _rate(self, answer: Answer) -> None:
        for _ in range(100):
            fault = self.ledger.fault
            try:
                reply = await self.http.put(
                    f"/api/messages/{answer.message_id}/rating", json={"thumb": "up"}
                )
            except httpx.HTTPError:
                await asyncio.sleep(0.5)
                continue
            if reply.status_code < 300:
                self.ledger.ratings[answer.message_id] = fault
                return
            self.ledger.refuse(reply.status_code)
            if reply.status_code < 429:
                return
            await asyncio.sleep(0.5)


async def _events(reply: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in reply.aiter_lines():
        if line.startswith("data:"):
            yield json.loads(line[5:])


# ------------------------------------------------------------------------------------------------ one site
@dataclass(slots=True, kw_only=True)
class Bed:
    """Everything that runs. postgres, redis, disk: None where this run is without."""

    site: Site
    model: ModelServer
    postgres: OwnPostgres | None = None
    redis: OwnRedis | None = None
    disk: SmallDisk | None = None

    def faults(self) -> dict[str, Callable[[], Awaitable[None]]]:
        kinds: dict[str, Callable[[], Awaitable[None]]] = {
            f"kill -9 {part}": (lambda part=part: self._kill(part))  # type: ignore[misc]
            for part in ("web", "worker", "beat", "milvus", "supervisor")
        }
        kinds[f"SIGSTOP web {PAUSE_S:.0f} s"] = self._pause_web
        kinds[f"SIGSTOP model {PAUSE_S:.0f} s"] = self._pause_model
        if self.postgres:
            kinds["end database connections"] = self._end_connections
            kinds[f"PostgreSQL away {OUTAGE_S:.0f} s"] = lambda: self._away(self.postgres)
        if self.redis:
            kinds[f"Redis away {OUTAGE_S:.0f} s"] = lambda: self._away(self.redis)
            kinds["kill Redis connections"] = lambda: asyncio.to_thread(self.redis.kill_connections)
            kinds["FLUSHDB"] = lambda: asyncio.to_thread(self.redis.flush)
        if self.disk:
            kinds[f"disk full {FULL_S:.0f} s"] = self._fill
        return kinds

    async def _kill(self, part: str) -> None:
        self.site.kill(part)
        if part == "supervisor":
            await asyncio.sleep(1.0)
            await asyncio.to_thread(self.site.start)

    async def _pause_web(self) -> None:
        with self.site.paused("web"):
            await asyncio.sleep(PAUSE_S)

    async def _pause_model(self) -> None:
        self.model.pause()
        await asyncio.sleep(PAUSE_S)
        self.model.go_on()

    async def _end_connections(self) -> None:
        assert self.postgres
        await asyncio.to_thread(self.postgres.end_connections)

    async def _away(self, server: OwnPostgres | OwnRedis | None) -> None:
        assert server
        await asyncio.to_thread(server.stop)
        await asyncio.sleep(OUTAGE_S)
        await asyncio.to_thread(server.start)

    async def _fill(self) -> None:
        assert self.disk
        await asyncio.to_thread(self.disk.fill)
        await asyncio.sleep(FULL_S)
        self.disk.clear()

    def close(self) -> float:
        seconds = self.site.stop()
        self.model.stop()
        for server in (self.postgres, self.redis):
            if server:
                server.stop()
        if self.disk:
            self.disk.close()
        return seconds


def bed_of(database: str, folder: Path, notes: list[str]) -> Bed:
    """Raises NotToBeHadError."""
    model = ModelServer()
    model.start()
    environment = {
        "OLLAMA_BASE_URL": model.url,
        "RAG_LIMIT_QUESTIONS_PER_MINUTE": "300",
    }
    postgres = redis_server = disk = None
    if database == "postgresql":
        postgres = OwnPostgres(folder / "postgresql")
        redis_server = OwnRedis(folder)
        postgres.start()
        redis_server.start()
        environment |= {"DATABASE_URL": postgres.url, "REDIS_URL": redis_server.url}
    data_dir = folder / "var"
    try:
        disk = SmallDisk(data_dir, mib=DISK_MIB)
    except NotToBeHadError as error:
        notes.append(f"{database}: no full disk was tried: {error}")
    site = Site(data_dir, folder / "up.log", environment)
    bed = Bed(site=site, model=model, postgres=postgres, redis=redis_server, disk=disk)
    try:
        site.start()
    except BaseException:
        bed.close()
        raise
    return bed


async def users_of(site: Site, ledger: Ledger) -> list[User]:
    code = "from django.contrib.auth.models import User\n" + "".join(
        f"User.objects.create_user('faulty{number}', password='{ADMIN_PASSWORD}')\n"
        for number in range(USERS)
    )
    await asyncio.to_thread(site.manage, "manage.py", "shell", "-c", code)
    users = [User(number, site.url, ledger) for number in range(USERS)]
    await asyncio.gather(*(user.sign_in(f"faulty{user.number}", ADMIN_PASSWORD) for user in users))
    return users


async def one_fault(
    name: str,
    bring: Callable[[], Awaitable[None]],
    bed: Bed,
    users: list[User],
    ledger: Ledger,
    uploads: list[int],
) -> None:
    fault = FaultRun(name, web_died=name in ("kill -9 web", "kill -9 supervisor"))
    ledger.faults.append(fault)
    feeding = asyncio.create_task(_feed(users, uploads))
    for user in users:
        user.first_chunk.clear()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(30):
            await asyncio.wait(
                [asyncio.create_task(user.first_chunk.wait()) for user in users],
                return_when="FIRST_COMPLETED",
            )
    ledger.fault = name
    fault.begun = time.monotonic()
    for answer in ledger.answers.values():
        if not answer.final:  # being written, or its reader not yet told how it ended
            answer.fault = name
    await bring()
    fault.ended = time.monotonic()
    await asyncio.wait({feeding}, timeout=CALM_S)
    await _answers_again(bed.site, users)
    fault.recovered_s = time.monotonic() - fault.ended
    ledger.fault = "none"
    taken = fault.ended - fault.begun
    print(
        f"{name}: took {taken:.1f} s, answers again after {fault.recovered_s:.1f} s",
        file=sys.stderr,
        flush=True,
    )


async def _feed(users: list[User], numbers: list[int]) -> None:
    for number in numbers:
        await users[number % len(users)].upload(number)


async def _answers_again(site: Site, users: list[User]) -> None:
    """Every part at its work: the web ready, and an answer's first words there."""
    deadline = time.monotonic() + CALM_S
    for user in users:
        user.first_chunk.clear()
    while not (
        await asyncio.to_thread(site.ready) and any(user.first_chunk.is_set() for user in users)
    ):
        if time.monotonic() > deadline:
            return
        await asyncio.sleep(0.2)


async def calm(
    bed: Bed, users: list[User], asking: list[asyncio.Task[None]], ledger: Ledger
) -> float:
    """Nothing new; wait for what is under way. Seconds that it took."""
    begun = time.monotonic()
    for user in users:
        user.asking = False
    await asyncio.wait(asking, timeout=CALM_S)
    for task in asking:
        task.cancel()
    while time.monotonic() - begun < CALM_S:
        with contextlib.suppress(httpx.HTTPError, KeyError):
            left = 0
            for status in ("queued", "parsing", "embedding"):
                replies = await asyncio.gather(
                    *(user.http.get("/api/documents", params={"status": status}) for user in users)
                )
                left += sum(reply.json()["count"] for reply in replies)
            if not left:
                break
        await asyncio.sleep(1.0)
    return time.monotonic() - begun


# ------------------------------------------------------------------------------------------------ what came of it
def verdict(ledger: Ledger, held: dict[str, Any]) -> dict[str, dict[str, int]]:
    """By fault: what was acknowledged, and what of it is not there."""
    table: dict[str, dict[str, int]] = {}

    def count(fault: str, what: str, number: int = 1) -> None:
        row = table.setdefault(fault, {})
        row[what] = row.get(what, 0) + number

    for answer in ledger.answers.values():
        count(answer.fault, "answers")
        stored = held["messages"].get(answer.message_id)
        question = held["messages"].get(answer.user_message_id)
        if question is None or question["text"] != answer.question or stored is None:
            count(answer.fault, "messages lost")
        if (
            stored is None
            or not answer.final
            or stored["status"] == "streaming"
            or answer.final == "gone"
        ):
            count(answer.fault, "without an end")
        elif stored["status"] != "complete":
            count(answer.fault, stored["status"])
        count(
            answer.fault, "characters lost", _lost(answer, stored["text"] if stored else "", ledger)
        )
    for document, fault in ledger.documents.items():
        count(fault, "documents")
        stored = held["documents"].get(document)
        if stored is None:
            count(fault, "documents lost")
        elif stored["status"] != "ready" or not stored["chunks"]:
            count(fault, "documents not ready")
    for message, fault in ledger.ratings.items():
        count(fault, "ratings")
        if message not in held["ratings"]:
            count(fault, "ratings lost")
    return table


def _lost(answer: Answer, stored: str, ledger: Ledger) -> int:
    """Characters that were seen and are not stored; without those of a killed web's last second."""
    text = answer.text
    if stored.startswith(text):
        return 0
    kept = 0
    while kept < min(len(stored), len(text)) and stored[kept] == text[kept]:
        kept += 1
    deaths = [fault.begun for fault in ledger.faults if fault.web_died]
    excused = sum(
        len(piece)
        for at, piece in answer.seen
        if any(0 <= begun - at <= LOST_WITH_THE_WEB_S for begun in deaths)
    )
    return max(0, len(text) - kept - excused)


COLUMNS = (
    "answers",
    "messages lost",
    "without an end",
    "interrupted",
    "failed",
    "characters lost",
    "documents",
    "documents lost",
    "documents not ready",
    "ratings",
    "ratings lost",
)


async def run_one(
    database: str, options: argparse.Namespace, notes: list[str]
) -> list[dict[str, object]]:
    folder = Path(tempfile.mkdtemp(prefix="ragsite-faults-"))
    folder.chmod(0o755)
    ledger = Ledger()
    bed = await asyncio.to_thread(bed_of, database, folder, notes)
    try:
        users = await users_of(bed.site, ledger)
        asking = [asyncio.create_task(user.ask_on()) for user in users]
        faults = {
            name: bring
            for name, bring in bed.faults().items()
            if not options.only or options.only in name
        }
        numbers = list(range(options.documents))
        share = -(-len(numbers) // (options.rounds * len(faults)))
        for _ in range(options.rounds):
            for name, bring in faults.items():
                uploads = numbers[:share]
                numbers = numbers[share:]
                await one_fault(name, bring, bed, users, ledger, uploads)
        seconds = await calm(bed, users, asking, ledger)
        held = json.loads(
            await asyncio.to_thread(bed.site.manage, "-m", "benchmarks.resilience.fault_audit")
        )
    finally:
        stopped_s = await asyncio.to_thread(bed.close)
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    notes.append(
        f"{database}: index rows missing {held['index']['missing']}, doubled {held['index']['doubled']}, surplus"
        f" {held['index']['surplus']}; all under way ended within {seconds:.0f} s;"
        f" the site stopped in {stopped_s:.1f} s;"
        f" calls refused meanwhile, by status: {dict(sorted(ledger.refused.items()))}"
    )
    return rows(database, ledger, verdict(ledger, held), faults)


def rows(
    database: str, ledger: Ledger, table: dict[str, dict[str, int]], faults: dict[str, Any]
) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = []
    for name in (*faults, "none"):
        times = [fault.recovered_s for fault in ledger.faults if fault.name == name]
        lines.append(
            {
                "database": database,
                "fault": name if name != "none" else "between faults",
                "times": len(times) or None,
                "answers again after s (median)": median(times) if times else None,
                "(most)": max(times, default=None),
                **{column: table.get(name, {}).get(column, 0) for column in COLUMNS},
            }
        )
    total: dict[str, object] = {"database": database, "fault": "all", "times": len(ledger.faults)}
    total |= {column: sum(row.get(column, 0) for row in table.values()) for column in COLUMNS}
    return [*lines, total]


async def run(options: argparse.Namespace) -> None:
    notes: list[str] = []
    lines: list[dict[str, object]] = []
    for database in ("sqlite", "postgresql") if options.database == "both" else (options.database,):
        try:
            lines += await run_one(database, options, notes)
        except NotToBeHadError as error:
            notes.append(f"{database}: not run: {error}")
    show(lines, as_json=options.json, notes=notes)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Kill, stop, cut off and fill up a site; then count what it lost."
    )
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--documents", type=int, default=300, help="uploaded in all, for each database"
    )
    parser.add_argument("--only", default="", help="only the faults whose name holds these words")
    parser.add_argument("--keep", action="store_true", help="keep the site's folder, with its logs")
    parser.add_argument("--json", action="store_true")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
