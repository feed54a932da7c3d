"""Whether the production set-up keeps what it has acknowledged while all of it is restarted, killed and cut off.

    make production-test          (python -m benchmarks.production [--people 20] [--documents 1000] [--workers 4])

PostgreSQL, Redis, nginx, two web processes, workers, beat and an emulated Milvus server that allows one flush in 10 s
(`benchmarks.production.cluster`). Twenty people ask through nginx, and 1,000 documents are pushed, while

1. everything of the site is restarted one after the other, as a deploy does it;
2. one of each is killed;
3. PostgreSQL, Redis (which comes back empty) and Milvus are away for 10 s each.

In the end database and index are compared with what was acknowledged and with what the readers saw: nothing may be lost
or doubled, every answer must have ended, and none may be cut by the restart. Ends with 1 otherwise. About ten minutes
on two cores. Needs nginx, PostgreSQL and Redis; the model is simulated.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.own_site import MAKE_USERS
from benchmarks.production.cluster import Cluster, Part
from benchmarks.production.ledger import Answer, Ledger, Verdict
from benchmarks.production.people import CALM_S, PARTS, Crowd
from benchmarks.tables import show
from tests.own_servers import NotToBeHadError, OwnPostgres, OwnRedis

QUIET = "between"
RESTART = "rolling restart"
AWAY_S = 10.0
NAMED = 20  # answers that are not whole
BETWEEN_S = 10.0  # after a fault, so that the next one meets a site at work
LOST = ("messages lost", "characters lost", "documents lost", "ratings lost")
NEVER = (*LOST, "without an end", "documents not ready")
COLUMNS = ("answers", "complete", "interrupted", "failed", "documents", "ratings", *NEVER)


class Play:
    """The faults, one after the other. ledger: what was acknowledged under which."""

    def __init__(self, cluster: Cluster, ledger: Ledger, *, only: str) -> None:
        self.cluster = cluster
        self.ledger = ledger
        self._only = only
        self.drained_s: list[float] = []  # of each web process, at the restart

    def all(self) -> None:
        time.sleep(BETWEEN_S)
        self._bring(RESTART, self._restart)
        for part in (
            self.cluster.web[0],
            self.cluster.workers[0],
            self.cluster.beat,
            self.cluster.nginx,
        ):
            self._bring(f"kill -9 {part.name}", part.kill)
        self._bring("postgres away", lambda: self._away(self.cluster.postgres))
        self._bring("redis away", lambda: self._away(self.cluster.redis))
        self._bring("milvus away", lambda: self._away(self.cluster.milvus))

    def _restart(self) -> None:
        for part in self.cluster.web:
            self.drained_s.append(part.restart())
        for part in (*self.cluster.workers, self.cluster.beat):
            part.restart()

    def _bring(self, name: str, do: Callable[[], None]) -> None:
        """What is asked until a while after its end counts as met by it, too."""
        if self._only not in name:
            return
        begun = time.monotonic()
        self.ledger.begin(name)
        do()
        seconds = time.monotonic() - begun
        time.sleep(BETWEEN_S)
        self.ledger.fault = QUIET
        print(f"{name}: {seconds:.0f} s", file=sys.stderr, flush=True)

    def _away(self, server: OwnPostgres | OwnRedis | Part) -> None:
        server.stop()
        time.sleep(AWAY_S)
        server.start()


# ------------------------------------------------------------------------------------------------ what came of it
def doubled(crowd: Crowd, held: dict[str, Any]) -> dict[str, int]:
    """What is there twice, or is there and was pushed by nobody."""
    questions = Counter(row["text"] for row in held["messages"].values() if row["role"] == "user")
    chunks = [row["chunks"] for row in held["documents"].values()]
    return {
        "questions doubled": sum(count - 1 for count in questions.values()),
        "ratings doubled": sum(count - 1 for count in Counter(held["ratings"]).values()),
        "documents doubled": len(held["documents"]) - len(held["keys"]),
        "keys lost": sum(held["keys"].get(key) != pk for key, pk in crowd.pushed.items()),
        "documents with other chunks": sum(count != max(chunks, default=0) for count in chunks),
        "index rows missing": held["index"]["missing"],
        "index rows doubled": held["index"]["doubled"],
        "index rows surplus": held["index"]["surplus"],
    }


def not_whole(ledger: Ledger, held: dict[str, Any]) -> list[str]:
    """Each answer that was not completed, or is not stored as its reader saw it; the first few of them."""
    lines = []
    for answer in ledger.answers.values():
        stored = held["messages"].get(answer.message_id, {"status": "lost", "text": ""})
        if stored["status"] != "complete" or not stored["text"].startswith(answer.text):
            lines.append(
                f"{answer.message_id} ({answer.fault}): {stored['status']}, {len(answer.text)} characters seen,"
                f" {len(stored['text'])} stored, withdrawn {answer.withdrawn} times, last event {answer.last_seq}"
            )
    return lines[:NAMED]


def percentile(values: list[float], share: float) -> float | None:
    return sorted(values)[int(share * (len(values) - 1))] if values else None


def timings(answers: list[Answer]) -> dict[str, float | None]:
    """Seconds: to the first piece of text, and the longest that a reader waited for the next one."""
    first = [answer.seen[0][0] - answer.asked for answer in answers if answer.seen]
    return {
        "first text p50 s": percentile(first, 0.5),
        "p95 s": percentile(first, 0.95),
        "longest silence s": max(map(longest_silence, answers), default=None),
    }


def longest_silence(answer: Answer) -> float:
    moments = [answer.asked, *(at for at, _ in answer.seen), answer.ended or answer.asked]
    return max(later - earlier for earlier, later in pairwise(moments))


def rows(ledger: Ledger, table: dict[str, dict[str, int]]) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = []
    for name in (QUIET, *ledger.faults):
        counts = table.get(name, {})
        met = [answer for answer in ledger.answers.values() if answer.fault == name]
        lines.append(
            {"while": name, **{column: counts.get(column, 0) for column in COLUMNS}, **timings(met)}
        )
    return lines


def wrong(lines: list[dict[str, object]], twice: dict[str, int]) -> list[str]:
    """What may not be; empty if all is well."""
    found = [
        f"{line['while']}: {line[name]} {name}" for line in lines for name in NEVER if line[name]
    ]
    for line in lines:
        cut = int(str(line["interrupted"])) + int(str(line["failed"]))
        if cut and line["while"] in (QUIET, RESTART):
            found.append(f"{line['while']}: {cut} answers cut")
    return found + [f"{count} {name}" for name, count in twice.items() if count]


# ------------------------------------------------------------------------------------------------ the run
def played(
    cluster: Cluster, options: argparse.Namespace
) -> tuple[list[dict[str, object]], list[str], list[str]]:
    """The table, its notes, and what is wrong."""
    cluster.start()
    make = MAKE_USERS.format(count=options.people)
    tokens = cluster.manage("manage.py", "shell", "-v", "0", "-c", make).split()
    ledger = Ledger(QUIET)
    crowd = Crowd(cluster.url, tokens, ledger, documents=options.documents)
    play = Play(cluster, ledger, only=options.only)
    begun = time.monotonic()
    crowd.begin()
    play.all()
    deadline = time.monotonic() + options.read_within
    _wait_until(lambda: not crowd.left, deadline)
    all_ended = crowd.end()
    asked_s = time.monotonic() - begun
    _wait_until(lambda: not unread(cluster), deadline)
    read_s = time.monotonic() - begun
    held = json.loads(cluster.manage("-m", "benchmarks.production.audit"))
    lines = rows(ledger, Verdict(ledger, held).counts)
    twice = doubled(crowd, held)
    found = wrong(lines, twice)
    if left := crowd.left:
        found.append(f"{left} documents were not acknowledged in time")
    if not all_ended:
        found.append(f"not every answer ended within {CALM_S:.0f} s")
    cluster.milvus.stop()
    notes = [
        f"{len(ledger.answers)} answers in {asked_s:.0f} s; {len(crowd.pushed)} documents of {PARTS} parts"
        f" were all ready after {read_s:.0f} s; {len(ledger.ratings)} ratings",
        f"web processes ended {', '.join(f'{seconds:.1f} s' for seconds in play.drained_s)} after SIGTERM",
        f"refused and tried again, by status: {dict(sorted(ledger.refused.items()))}",
        f"Milvus: {cluster.milvus.calls()}",
        f"doubled or lost: {twice}",
        *not_whole(ledger, held),
    ]
    return lines, notes, found


def _wait_until(condition: Callable[[], bool], deadline: float) -> None:
    """What is not so by then is told by the comparison."""
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.5)


def unread(cluster: Cluster) -> dict[str, int]:
    """Documents that are not ready, by status."""
    counted = (
        "SELECT status, count(*) FROM retrieval_document WHERE status <> 'ready' GROUP BY status"
    )
    with psycopg.connect(cluster.postgres.url) as connection:
        return dict(connection.execute(counted).fetchall())


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Restart, kill and cut off a production set-up; then count."
    )
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument(
        "--read-within", type=float, default=900.0, help="seconds for what is left to be read"
    )
    parser.add_argument("--only", default="", help="only the faults whose name holds these words")
    parser.add_argument("--keep", action="store_true", help="keep the folder, with the logs")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="ragsite-production-"))
    folder.chmod(0o755)
    cluster: Cluster | None = None
    try:
        cluster = Cluster(folder, workers=options.workers)
        lines, notes, found = played(cluster, options)
    except NotToBeHadError as error:
        sys.exit(f"Not run: {error}.")
    finally:
        if cluster:
            cluster.stop()
        if options.keep:
            print(f"Kept: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    show(lines, as_json=options.json, notes=notes)
    if found:
        sys.exit("Wrong:\n" + "\n".join(found))
    print("Nothing was lost or doubled, and every answer ended.")


if __name__ == "__main__":
    main()
