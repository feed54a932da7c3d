"""Questions in people's own words, asked of the site, beside a plain RAG in the same run.

    python -m benchmarks.real_questions SET [--documents FOLDER] [--model http://127.0.0.1:11434]
        [--limit 20] [--setting RAG_DEFAULT_WORKFLOW=react] [--data FOLDER] [--labelled FOLDER] [--verbose] [--json]

SET is a folder with `questions.jsonl` (`benchmarks.question_scores`); its documents are `SET/docs` by default. Each
question is asked over the HTTP API by a user of its own. Without --model the site has none, and there is no plain RAG;
with an Ollama server's address both are asked in turns, one question at a time. --data keeps the loaded site; take
another folder when the ingest has changed. --labelled writes the set as `manage.py evaluate` reads it, which measures
search alone, and does nothing else.

    clear         questions that the documents answer and that say what they mean; shares of these up to `refused`
    found@8       the right document is among the first eight of POST /api/search; of the plain RAG: of its own
    found→cited   of the found ones: decision ANSWER, and the right document cited; cited: the same of all
    fact          an answer that has a key fact
    shown         the right document is among the sources, whatever the decision
    asked unfairly: of all others than the ambiguous ones and those that may be asked back about
    one round     questions that the site answered with one model round; medians of the time to the first token
    CPU s         processor time of the web process, an answer
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks.own_site import MAKE_USERS
from benchmarks.question_scores import (
    FOUND_AT,
    Outcome,
    Question,
    answers_row,
    first_token_row,
    read_questions,
)
from benchmarks.tables import show
from tests.processes import free_port, wait_until
from tests.running_site import OURS, ROOT, RunningSite, environment, running_site

COLLECTION = "documents"
PATIENCE_S = 1800.0  # for one answer of a real model on a small machine
LOAD_S = 4 * 3600.0
WARM_UP = ("What is this about?", "Who is it for?", "What is new?")
CITED = re.compile(r"\[(\d+)\]")
LIMITS = {"RAG_LIMIT_QUESTIONS_PER_MINUTE": "100000", "RAG_LIMIT_ANSWERS_AT_ONCE": "100"}


@dataclass(slots=True)
class Reply:
    """One answer as its reader saw it. first_token_ms: None where it came to no text."""

    first_token_ms: float | None = None
    decision: str = ""
    text: str = ""
    rounds: int = 1
    sources: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The site or the plain RAG. tokens: a user's for each question; none where nobody signs in. pid: of the process
    that answers."""

    name: str
    url: str
    path: str
    pid: int
    tokens: Sequence[str] = ()

    async def ask(self, question: str, number: int) -> Reply:
        reply = Reply()
        begun = time.perf_counter()
        try:
            async for event in self._events(question, number):
                if event["type"] == "chunk" and reply.first_token_ms is None:
                    reply.first_token_ms = (time.perf_counter() - begun) * 1000
                _take(reply, event)
        except (OSError, httpx.HTTPError) as error:
            reply.error = type(error).__name__
        return reply

    async def _events(self, question: str, number: int) -> AsyncIterator[dict[str, Any]]:
        body = {"message": question, "stream": True}
        headers = {"Authorization": f"Token {self.tokens[number]}"} if self.tokens else {}
        async with (
            httpx.AsyncClient(base_url=self.url, timeout=PATIENCE_S, headers=headers) as http,
            http.stream("POST", self.path, json=body) as reply,
        ):
            if reply.status_code != 200:
                yield {"type": "error", "code": str(reply.status_code)}
                return
            async for line in reply.aiter_lines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _take(reply: Reply, event: dict[str, Any]) -> None:
    if event["type"] == "chunk":
        reply.text += event["content"]
    elif event["type"] == "sources":
        reply.sources = event["sources"]
    elif event["type"] == "error":
        reply.error = event["code"]
    elif event["type"] == "done" and (message := event.get("message")):
        reply.decision = message["decision"]
        reply.rounds = message["usage"]["llm_rounds"]
        reply.text = message["answer"]
        reply.sources = message["sources"]


# ------------------------------------------------------------------------------------------------ the two sides
def manage(site: RunningSite, variables: Mapping[str, str], *arguments: str) -> str:
    """What a command of the site prints."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment(site.data_dir, site.port, **variables),
        stdout=subprocess.PIPE,
        text=True,
        timeout=LOAD_S,
        check=True,
    )
    return done.stdout


def names_of(site: RunningSite, token: str, documents: Path, passages: Path) -> dict[str, str]:
    """The set's names of the documents by their ids. passages: where their chunks are written, if they are not yet."""
    paths = {file.name: str(file.relative_to(documents)) for file in documents.rglob("*.md")}
    headers = {"Authorization": f"Token {token}"}
    names = {}
    with httpx.Client(base_url=site.url, headers=headers, timeout=60) as http:
        for document in _listed(http, f"/api/documents?collection={COLLECTION}"):
            names[document["id"]] = paths[document["file_name"]]
        if not passages.exists():
            with passages.open("w", encoding="utf-8") as lines:
                for document in names:
                    for chunk in _listed(http, f"/api/documents/{document}/chunks"):
                        text = "\n".join(filter(None, (chunk["heading"], chunk["text"])))
                        lines.write(json.dumps({"document_id": document, "text": text}) + "\n")
    return names


def _listed(http: httpx.Client, address: str | None) -> Iterator[dict[str, Any]]:
    while address:
        page = http.get(address).raise_for_status().json()
        yield from page["results"]
        address = page["next"]


@contextlib.contextmanager
def plain_rag(passages: Path, variables: Mapping[str, str]) -> Iterator[Side]:
    port = free_port()
    kept = {name: value for name, value in os.environ.items() if not OURS.match(name)}
    own = {"RAG_PASSAGES": str(passages), "PLAIN_TOP_K": str(FOUND_AT)}
    command = [sys.executable, "-m", "uvicorn", "benchmarks.plain_rag:app", "--port", str(port)]
    with passages.with_name("plain.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=kept | dict(variables) | own, stdout=log, stderr=log
        )
    side = Side(name="plain RAG", url=f"http://127.0.0.1:{port}", path="/", pid=process.pid)
    try:
        up = wait_until(
            lambda: process.poll() is not None or not asyncio.run(side.ask("Is it up?", 0)).error,
            within_s=LOAD_S,  # it embeds the passages first
        )
        if not up or process.poll() is not None:
            raise SystemExit("The plain RAG did not start; see plain.log beside the passages.")
        yield side
    finally:
        process.terminate()
        process.wait(20)


# ------------------------------------------------------------------------------------------------ asking
async def in_turns(sides: Sequence[Side], questions: Sequence[Question]) -> dict[str, list[Reply]]:
    """One question at a time, of both sides, so that a busy machine is equally busy for them."""
    replies: dict[str, list[Reply]] = {side.name: [] for side in sides}
    for number, question in enumerate(questions):
        for side in sides if number % 2 else reversed(sides):
            replies[side.name].append(await side.ask(question.text, number))
    return replies


async def search(side: Side, question: Question) -> list[str]:
    """Ids of the documents of the first passages."""
    body = {"query": question.text, "collections": [COLLECTION], "top_k": FOUND_AT}
    headers = {"Authorization": f"Token {side.tokens[0]}"}
    async with httpx.AsyncClient(base_url=side.url, headers=headers, timeout=PATIENCE_S) as http:
        reply = (await http.post("/api/search", json=body)).raise_for_status().json()
    return [candidate["document_id"] for candidate in reply["candidates"]]


def outcome(
    question: Question, reply: Reply, found: Sequence[str] | None, names: Mapping[str, str]
) -> Outcome:
    """found: None for the plain RAG, which shows what it found, and refuses where it names no passage."""
    shown = [names[source["document_id"]] for source in reply.sources]
    marked = {int(number) for number in CITED.findall(reply.text)}
    cited = [
        name
        for source, name in zip(reply.sources, shown, strict=True)
        if source["marker"] in marked
    ]
    decision = reply.decision
    if found is None:
        decision = "ANSWER" if cited else "NO_ANSWER"
    return Outcome(
        question=question,
        decision="" if reply.error else decision,
        error=reply.error,
        text=reply.text,
        found=shown if found is None else [names[document] for document in found],
        shown=shown,
        cited=cited,
        first_token_ms=reply.first_token_ms,
        rounds=reply.rounds,
    )


async def measure(
    site: Side,
    plain: Side | None,
    questions: Sequence[Question],
    names: Mapping[str, str],
    options: argparse.Namespace,
) -> list[list[dict[str, object]]]:
    """Tables: answers, first tokens."""
    sides = [plain, site] if plain else [site]
    for text in WARM_UP:
        for side in sides:
            await side.ask(text, len(questions))
    before = {side.name: side.cpu_s() for side in sides}
    replies = await in_turns(sides, questions)
    cpu_s = {side.name: (side.cpu_s() - before[side.name]) / len(questions) for side in sides}
    ours = []
    for question, reply in zip(questions, replies[site.name], strict=True):
        ours.append(outcome(question, reply, await search(site, question), names))
    theirs = []
    for question, reply in zip(questions, replies.get("plain RAG", []), strict=False):
        theirs.append(outcome(question, reply, None, names))
    if options.verbose:
        for one in ours:
            tell(one)
    tables = [[{"side": site.name, **answers_row(ours), "CPU s": cpu_s[site.name]}]]
    if plain:
        tables[0].append({"side": plain.name, **answers_row(theirs), "CPU s": cpu_s[plain.name]})
        tables.append([first_token_row(ours, theirs)])
    return tables


def tell(one: Outcome) -> None:
    right = "right" if one.is_answered else "wrong" if one.cited else "none"
    print(
        f"{one.question.id}  {one.decision or one.error}  found {one.is_found}  rounds {one.rounds}  cited {right}: "
        f"{', '.join(one.cited)}\n    {one.question.text}\n    {' '.join(one.text.split())[:120]}"
    )


# ------------------------------------------------------------------------------------------------ the run
def write_labelled(folder: Path, questions: Sequence[Question], documents: Path) -> None:
    """The set as `manage.py evaluate` reads it; the questions that may be asked back about are left out of its
    decisions."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = []
    for file in sorted(documents.rglob("*.md")):
        text = file.read_text(encoding="utf-8")
        corpus.append({"id": str(file.relative_to(documents)), "text": text})
    asked = []
    qrels = ""
    for question in questions:
        marks = {"unanswerable": not question.answerable, "clarify": question.clarify}
        excluded = question.clarify_ok
        asked.append({"id": question.id, "text": question.text, **marks, "excluded": excluded})
        for name in sorted(question.documents):
            qrels += f"{question.id}\t{name}\t1\n"
    for name, rows in (("corpus.jsonl", corpus), ("queries.jsonl", asked)):
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (folder / name).write_text("".join(lines), encoding="utf-8")
    (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")


def run(options: argparse.Namespace, questions: Sequence[Question], documents: Path) -> None:
    variables = LIMITS | dict(pair.split("=", 1) for pair in options.setting)
    if options.model:
        models = {"RAG_CHAT_MODEL": options.chat_model, "RAG_EMBED_MODEL": options.embed_model}
        variables |= {"RAG_OFFLINE": "0", "OLLAMA_BASE_URL": options.model, **models}
    with contextlib.ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        passages = folder / "passages.jsonl"
        running = stack.enter_context(running_site(folder / "var", **variables))
        if not passages.exists():
            manage(running, variables, "ingest", str(documents), "--collection", COLLECTION)
        make = MAKE_USERS.format(count=len(questions) + 1)
        tokens = manage(running, variables, "shell", "-v", "0", "-c", make).split()
        names = names_of(running, tokens[0], documents, passages)
        site = Side(
            name="site",
            url=running.url,
            path="/api/chat",
            pid=running.part("uvicorn"),
            tokens=tokens,
        )
        plain = None
        if options.model:
            plain = stack.enter_context(plain_rag(passages, variables))
        tables = asyncio.run(measure(site, plain, questions, names, options))
    if options.json:
        show([row for table in tables for row in table], as_json=True)
        return
    for table in tables:
        show(table, as_json=False)
        print()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", type=Path, help="a folder with questions.jsonl")
    parser.add_argument("--documents", type=Path, help="a folder (default: SET/docs)")
    parser.add_argument("--model", help="an Ollama server's address (default: no model)")
    parser.add_argument("--chat-model", default="llama3.2")
    parser.add_argument("--embed-model", default="all-minilm")
    parser.add_argument(
        "--setting", action="append", default=[], metavar="NAME=VALUE", help="of the site"
    )
    parser.add_argument("--limit", type=int, help="so many questions, spread over the set")
    parser.add_argument("--data", type=Path, help="where the loaded site is kept and used again")
    parser.add_argument("--labelled", type=Path, help="write the set there for manage.py evaluate")
    parser.add_argument("--verbose", action="store_true", help="a few lines for each question")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    questions = read_questions(options.set / "questions.jsonl")
    documents = options.documents or options.set / "docs"
    if options.labelled:
        write_labelled(options.labelled, questions, documents)
        return
    count = min(options.limit or len(questions), len(questions))
    chosen = [questions[at * len(questions) // count] for at in range(count)]
    run(options, chosen, documents)


if __name__ == "__main__":
    main()
