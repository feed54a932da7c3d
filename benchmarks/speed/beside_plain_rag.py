"""Beside a plain RAG: what the site's care costs, against sixty lines that embed, search and generate.

    python -m benchmarks.beside_plain_rag http://127.0.0.1:11434 DIR [--abstracts 200] [--clients 8 32] [--json]

The address is an Ollama server's, which serves both; best `ollama_sim`, whose pace this benchmark sets: a small GPU's
for first tokens (60 ms, 80 tokens/s, 4,000 tokens/s of prompt), none at all for processor time and throughput. Another
server keeps its own pace. DIR holds `corpus.jsonl`, `queries*.jsonl` and `qrels*.tsv`; the first documents of the qrels
are taken, and their questions, each asked once of each side.

- first token: one question at a time, in turns, the one and then the other first. `sure`: the site called a model once
  before it.
- processor time: of all of the side's processes, from /proc; of the model server and of this client, none.
- right document: it is among the sources that were shown, and among those that the answer cites.

The plain RAG is `benchmarks/speed/plain_rag.py`, served by the same HTTP server. Linux; about 6 minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any, Protocol

import httpx

from benchmarks.support.fault_site import (
    ADMIN_PASSWORD,
    OURS,
    PARTS,
    ROOT,
    Site,
    free_port,
    wait_for,
)
from benchmarks.support.tables import show
from tests.processes import descendants

PACES: dict[str, dict[str, float]] = {
    "gpu": {"ttft_ms": 60, "tokens_per_s": 80, "prefill_tokens_per_s": 4000},
    "instant": {"ttft_ms": 0, "tokens_per_s": 0, "prefill_tokens_per_s": 0},
}
WARM_UP = 6  # questions that nothing is measured of
ANSWER_S = 120.0
START_S = 300.0  # the plain one's, which embeds its documents first
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
CITED = re.compile(r"\[(\d+)\]")
FIRST_TOKEN_BARS = {"sure": 1.3, "all": 2.0}  # times the plain one's
CPU_BAR_S = 0.15
ANSWERS_BAR = 400.0


@dataclass(frozen=True, slots=True)
class Task:
    """A question and the documents that answer it, by their ids."""

    text: str
    right: frozenset[str]


@dataclass(slots=True)
class Reply:
    """One answer as its reader saw it. first_token_ms: None where it came to no text."""

    first_token_ms: float | None = None
    total_ms: float = 0.0
    decision: str = ""
    support: str | None = None  # what the site's second look says
    text: str = ""
    usage: dict[str, Any] = field(default_factory=lambda: {"llm_calls": 1, "llm_rounds": 1})
    sources: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""

    @property
    def model_calls(self) -> int:
        return int(self.usage["llm_calls"])

    @property
    def rounds(self) -> int:
        """Calls of a model, one after the other, before the first token."""
        return int(self.usage["llm_rounds"])

    @property
    def cited(self) -> list[dict[str, Any]]:
        """The sources whose markers stand in the text."""
        marked = {int(number) for number in CITED.findall(self.text)}
        return [source for source in self.sources if source["marker"] in marked]


class Side(Protocol):
    name: str

    def processes(self) -> dict[int, str]:
        """pid → the part that it belongs to."""
        ...

    def ask(self, question: str, client: int, **more: Any) -> AsyncIterator[dict[str, Any]]:
        """The events. more: other fields of the body."""
        ...


class RagSite:
    """`manage.py up` with the documents in it, and an account for each client."""

    name = "site"

    def __init__(self, site: Site, tokens: Sequence[str], *, answer_s: float = ANSWER_S) -> None:
        self.site = site
        self.tokens = tokens
        self._http = httpx.AsyncClient(base_url=site.url, timeout=answer_s)

    def processes(self) -> dict[int, str]:
        assert self.site.process is not None
        top = self.site.process.pid
        return {top: "supervisor", **{pid: _part(line) for pid, line in descendants(top).items()}}

    async def ask(self, question: str, client: int, **more: Any) -> AsyncIterator[dict[str, Any]]:
        headers = {"Authorization": f"Token {self.tokens[client]}"}
        async for event in _events(
            self._http, "/api/chat", {"message": question, "stream": True, **more}, headers
        ):
            yield event


def _part(command: str) -> str:
    return next((part for part, mark in PARTS.items() if mark in command), "other")


class PlainRag:
    name = "plain"

    def __init__(
        self, url: str, process: subprocess.Popen[bytes], *, answer_s: float = ANSWER_S
    ) -> None:
        self._http = httpx.AsyncClient(base_url=url, timeout=answer_s)
        self._process = process

    def processes(self) -> dict[int, str]:
        return {self._process.pid: "web"}

    async def ask(self, question: str, client: int, **more: Any) -> AsyncIterator[dict[str, Any]]:
        async for event in _events(self._http, "/", {"message": question, **more}, {}):
            yield event


async def _events(
    http: httpx.AsyncClient, path: str, body: dict[str, Any], headers: dict[str, str]
) -> AsyncIterator[dict[str, Any]]:
    async with http.stream("POST", path, json=body, headers=headers) as reply:
        if reply.status_code != 200:
            yield {
                "type": "error",
                "code": f"{reply.status_code}: {(await reply.aread()).decode()[:200]}",
            }
            return
        async for line in reply.aiter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


# ------------------------------------------------------------------------------------------------ asking
async def ask(side: Side, question: str, client: int = 0, **more: Any) -> Reply:
    reply = Reply()
    begun = time.perf_counter()
    try:
        async for event in side.ask(question, client, **more):
            kind = event["type"]
            if kind == "chunk":
                reply.first_token_ms = reply.first_token_ms or (time.perf_counter() - begun) * 1000
                reply.text += event["content"]
            elif kind == "sources":
                reply.sources = event["sources"]
            elif kind == "error":
                reply.error = event["code"]
            elif kind == "done" and (message := event.get("message")):
                reply.decision = message["decision"]
                reply.usage = message["usage"]
                reply.support = message.get("support")
                reply.text = message["answer"]
                reply.sources = message["sources"]
    except (OSError, httpx.HTTPError) as error:
        reply.error = type(error).__name__
    reply.total_ms = (time.perf_counter() - begun) * 1000
    return reply


async def in_turns(sides: Sequence[Side], tasks: Sequence[Task]) -> dict[str, list[Reply]]:
    """One question at a time, of both sides, so that a busy machine is equally busy for them."""
    replies: dict[str, list[Reply]] = {side.name: [] for side in sides}
    for number, task in enumerate(tasks):
        for side in sides if number % 2 else reversed(sides):
            replies[side.name].append(await ask(side, task.text))
    return replies


@dataclass(frozen=True, slots=True)
class Load:
    replies: list[Reply]
    seconds: float
    cpu_s: dict[str, float]  # by part

    @property
    def cpu_each_s(self) -> float:
        return sum(self.cpu_s.values()) / len(self.replies)

    @property
    def per_minute(self) -> float:
        return 60 * sum(not reply.error for reply in self.replies) / self.seconds


async def under_load(side: Side, tasks: Sequence[Task], clients: int) -> Load:
    """All questions by so many clients, each of which asks the next one as soon as it has its answer."""
    left = iter(tasks)
    replies = list[Reply]()

    async def client(number: int) -> None:
        for task in left:
            replies.append(await ask(side, task.text, number))

    before = cpu_seconds(side.processes())
    begun = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(clients)))
    seconds = time.perf_counter() - begun
    after = cpu_seconds(side.processes())
    return Load(
        replies, seconds, {part: used - before.get(part, 0.0) for part, used in after.items()}
    )


def cpu_seconds(processes: dict[int, str]) -> dict[str, float]:
    """Of each part so far, children that have ended included."""
    used: dict[str, float] = {}
    for pid, part in processes.items():
        with contextlib.suppress(OSError):
            ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
            used[part] = used.get(part, 0.0) + sum(map(int, ticks)) / TICKS_PER_S
    return used


# ------------------------------------------------------------------------------------------------ what is asked about
def read_set(folder: Path, documents: int, into: Path, passages: Path) -> list[Task]:
    """Writes the first documents of the qrels as files, and as passages of the plain RAG; the questions that they
    answer, in the order of the qrels."""
    right: dict[str, set[str]] = {}
    for file in sorted(folder.glob("qrels*.tsv")):
        for line in file.read_text(encoding="utf-8").splitlines():
            query, document, grade = line.split("\t")
            if int(grade) > 0:
                right.setdefault(query, set()).add(document)
    chosen = set(
        list(dict.fromkeys(document for found in right.values() for document in sorted(found)))[
            :documents
        ]
    )
    with passages.open("w", encoding="utf-8") as lines:
        for row in _rows(folder / "corpus.jsonl"):
            if row["id"] in chosen:
                text = f"{row['title']}\n\n{row['text']}\n"
                (into / f"{row['id']}.md").write_text(text, encoding="utf-8")
                lines.write(json.dumps({"title": row["id"], "text": text, "collection": ""}) + "\n")
    texts = {
        row["id"]: row["text"]
        for file in sorted(folder.glob("queries*.jsonl"))
        for row in _rows(file)
    }
    tasks = {
        texts[query]: Task(texts[query], frozenset(found))
        for query, found in right.items()
        if found & chosen
    }
    return list(tasks.values())


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield {"id": row.get("_id", row.get("id")), **row}


# ------------------------------------------------------------------------------------------------ what is measured
def set_pace(simulator: str, pace: dict[str, float]) -> dict[str, float]:
    """What it was before; nothing where the server is no simulator."""
    try:
        reply = httpx.get(f"{simulator}/_sim/config", timeout=5)
        if reply.status_code != 200:
            return {}
        httpx.post(f"{simulator}/_sim/config", json=pace, timeout=5).raise_for_status()
        return {name: reply.json()[name] for name in pace}
    except (httpx.HTTPError, ValueError):
        return {}


@contextlib.contextmanager
def rag_site(
    folder: Path, environment: Mapping[str, str], clients: int, *, answer_s: float = ANSWER_S
) -> Iterator[RagSite]:
    """A site on the data in `folder/var`, with accounts for so many clients."""
    limits = {"RAG_LIMIT_QUESTIONS_PER_MINUTE": "100000", "RAG_LIMIT_ANSWERS_AT_ONCE": "100"}
    site = Site(folder / "var", folder / "up.log", {**environment, **limits})
    site.start()
    try:
        make = (
            f"from django.contrib.auth.models import User\nfor number in range({clients}):\n"
            f"    name = f'client{{number}}'\n    if not User.objects.filter(username=name).exists():\n"
            f"        User.objects.create_user(name, password='{ADMIN_PASSWORD}')"
        )
        site.manage("manage.py", "shell", "-c", make)
        yield RagSite(
            site, [_token(site, f"client{number}") for number in range(clients)], answer_s=answer_s
        )
    finally:
        site.stop()


def _token(site: Site, name: str) -> str:
    body = {"username": name, "password": ADMIN_PASSWORD}
    return str(
        httpx.post(f"{site.url}/api/auth/token", json=body, timeout=30)
        .raise_for_status()
        .json()["token"]
    )


@contextlib.contextmanager
def plain_rag(
    folder: Path,
    passages: Path,
    environment: Mapping[str, str],
    *,
    start_s: float = START_S,
    answer_s: float = ANSWER_S,
) -> Iterator[PlainRag]:
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "benchmarks.speed.plain_rag:app",
        "--port",
        str(port),
    ]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    with (folder / "plain.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**kept, **environment, "RAG_PASSAGES": str(passages)},
            stdout=log,
            stderr=log,
        )
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return (
                httpx.post(url, json={"message": "Is it up?"}, timeout=answer_s).status_code == 200
            )
        return False

    try:
        wait_for(answers, within_s=start_s, what="the plain RAG")
        yield PlainRag(url, process, answer_s=answer_s)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def first_token_rows(replies: dict[str, list[Reply]]) -> list[dict[str, object]]:
    """Medians of the same questions on both sides."""
    plain = replies["plain"]
    site = replies["site"]
    pairs = [
        pair for pair in zip(plain, site, strict=True) if all(one.first_token_ms for one in pair)
    ]
    rows: list[dict[str, object]] = []
    for name, bar in FIRST_TOKEN_BARS.items():
        # An answer before which no model was called would flatter the figure.
        chosen = [pair for pair in pairs if name == "all" or pair[1].rounds == 1]
        row: dict[str, object] = {
            "first token": name,
            "questions": len(chosen),
            "plain ms": None,
            "site ms": None,
        }
        if chosen:
            theirs, ours = (
                [one.first_token_ms or 0.0 for one in side] for side in zip(*chosen, strict=True)
            )
            row |= {
                "plain ms": median(theirs),
                "site ms": median(ours),
                "ratio": median(ours) / median(theirs),
            }
        rows.append(row | {"bar": bar})
    return rows


def quality_row(side: str, replies: Sequence[Reply], tasks: Sequence[Task]) -> dict[str, object]:
    def share(names: str) -> float:
        titles = [{source["title"] for source in getattr(reply, names)} for reply in replies]
        return mean(bool(task.right & found) for task, found in zip(tasks, titles, strict=True))

    decided = [reply.decision or "ANSWER" for reply in replies]
    return {
        "quality": side,
        "questions": len(replies),
        "right document shown": share("sources"),
        "right document cited": share("cited"),
        "answered": mean(one == "ANSWER" for one in decided),
        "model calls": mean(reply.model_calls for reply in replies),
    }


def load_row(side: str, clients: int, load: Load) -> dict[str, object]:
    each = {
        f"{part} s": used / len(load.replies)
        for part, used in load.cpu_s.items()
        if part in ("web", "milvus")
    }
    times = [reply.total_ms for reply in load.replies]
    return {
        "load": side,
        "clients": clients,
        "answers": len(times),
        "errors": sum(bool(r.error) for r in load.replies),
        "answers/min": load.per_minute,
        "CPU s/answer": load.cpu_each_s,
        "web s": each.get("web s"),
        "milvus s": each.get("milvus s"),
        "answer p50 ms": median(times),
    }


async def measure(
    sides: Sequence[Side], tasks: Sequence[Task], options: argparse.Namespace
) -> tuple[list[list[dict[str, object]]], list[str]]:
    counts = [WARM_UP, options.first_tokens, *(options.per_load for _ in options.clients)]
    cuts = [0, *(sum(counts[: at + 1]) for at in range(len(counts)))]
    parts = [tasks[begin:end] for begin, end in pairwise(cuts)]
    if len(parts[-1]) < options.per_load:
        raise SystemExit(
            f"The set has {len(tasks)} questions about these documents; {cuts[-1]} are asked for."
        )
    warm, one_by_one, *loads = parts
    notes = (
        []
        if set_pace(options.simulator, PACES["gpu"])
        else ["the server is no simulator: its pace is its own"]
    )
    await in_turns(sides, warm)
    replies = await in_turns(sides, one_by_one)
    set_pace(options.simulator, PACES["instant"])
    await in_turns(sides, warm)
    rows = []
    seen = [reply for side in replies.values() for reply in side]
    for clients, part in zip(options.clients, loads, strict=True):
        for side in sides:
            load = await under_load(side, part, clients)
            rows.append(load_row(side.name, clients, load))
            seen += load.replies
    errors = sorted({reply.error for reply in seen if reply.error})
    notes += [f"errors: {', '.join(errors)}"] if errors else []
    notes.append(f"bars: {CPU_BAR_S} s of processor time, {ANSWERS_BAR:.0f} answers a minute")
    quality = [quality_row(name, side, one_by_one) for name, side in replies.items()]
    return [first_token_rows(replies), quality, rows], notes


async def run(options: argparse.Namespace) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="beside-plain-") as temporary,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(temporary)
        documents = folder / "documents"
        documents.mkdir()
        passages = folder / "passages.jsonl"
        tasks = read_set(options.data, options.abstracts, documents, passages)
        environment = {
            "OLLAMA_BASE_URL": options.simulator,
            "RAG_CHAT_MODEL": options.chat_model,
            "RAG_EMBED_MODEL": options.embed_model,
        }
        if before := set_pace(options.simulator, PACES["instant"]):
            stack.callback(set_pace, options.simulator, before)
        plain = stack.enter_context(plain_rag(folder, passages, environment))
        site = stack.enter_context(rag_site(folder, environment, max(options.clients)))
        site.site.manage("manage.py", "ingest", str(documents), "--collection", "abstracts")
        tables, notes = await measure([plain, site], tasks, options)
    if options.json:
        show([row for table in tables for row in table], as_json=True, notes=notes)
        return
    for table in tables:
        show(table, as_json=False)
        print()
    print("\n".join(notes))


def main() -> None:
    parser = argparse.ArgumentParser(
        description="The site beside a plain RAG, on the same model server."
    )
    parser.add_argument(
        "simulator", type=lambda text: text.rstrip("/"), help="the Ollama server's address"
    )
    parser.add_argument(
        "data", type=Path, help="a folder with corpus.jsonl, queries*.jsonl and qrels*.tsv"
    )
    parser.add_argument("--abstracts", type=int, default=200, help="documents (default: 200)")
    parser.add_argument(
        "--first-tokens", type=int, default=60, help="questions asked one by one (default: 60)"
    )
    parser.add_argument(
        "--clients", type=int, nargs="+", default=[8, 32], help="at once (default: 8 32)"
    )
    parser.add_argument(
        "--per-load", type=int, default=150, help="questions for each of these (default: 150)"
    )
    parser.add_argument("--chat-model", default="llama3.2")
    parser.add_argument("--embed-model", default="all-minilm")
    parser.add_argument("--json", action="store_true")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
