"""Questions in people's own words, asked of the site, beside a plain RAG in the same run.

    python -m benchmarks.real_questions SET [--documents TAR_OR_FOLDER] [--judge none simulator http://127.0.0.1:11434]
        [--simulator "python sim.py --profile gpu --embed-cache"] [--reader default8b]
        [--noise .1 .3] [--data FOLDER] [--limit 20]

SET is a folder with `questions.jsonl`; its documents are `SET/docs` by default. Each question is asked over the HTTP
API by a user of its own. Judges: `none` (no model, baseline: bm25s alone); `simulator`, whose command is started for
each reader and noise with the set as its oracle; an Ollama server's address, with long time limits. `--data` keeps the
loaded sites and works on copies of them; they are as the code was that loaded them: delete them when the ingest
changes.

    clear         questions that the documents answer and that say what they mean; shares of these up to `shown`
    found@8       the right document is among the first eight of POST /api/search; of the plain RAG: of its own
    found→cited   of the found ones: decision ANSWER, and the right document cited; cited: the same of all
    fact          an answer that has a key fact
    shown         the right document is among the sources, whatever the decision
    right→not confirmed: of the found ones that were answered rightly, those that the second look does not confirm
    no answer→refused, unclear→asked: of the questions without an answer, and of the ambiguous ones
    asked unfairly: of all others than the ambiguous ones and those that may be asked back about
    recall        the right document is among the first passages of the search, of the sources that were shown, of the
                  plain RAG, and of bm25s (`pip install '.[peers]'`) over the same chunks
    one round     questions that the site answered (ANSWER) with one model round; medians of the time to the first token
    CPU s         processor time of the site's web process, a question
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import httpx

from benchmarks.answers.question_scores import (
    DEPTHS,
    FOUND_AT,
    Outcome,
    Question,
    answers_row,
    as_line,
    plain_decision,
    read_questions,
    recall_row,
    times_row,
)
from benchmarks.speed.beside_plain_rag import (
    PlainRag,
    RagSite,
    Reply,
    Side,
    ask,
    cpu_seconds,
    plain_rag,
    rag_site,
)
from benchmarks.support.fault_site import ROOT, free_port, wait_for
from benchmarks.support.tables import show

FILE_PREFIX = {"rs-en": "hh_", "rs-zh": "qh_"}  # parts of a set that have documents of their own
PATIENCE_S = 1800.0  # for one answer of a real model on a small machine
LOAD_S = 4 * 3600.0
HEADING_JOIN = " › "
WARM_UP = ("What is this about?", "Who is it for?", "What is new?")
COUNTED = ("questions", "passages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """environment: of the site and the plain RAG. space: which loaded site it can use. address: the model server's."""

    name: str
    space: str
    environment: Mapping[str, str]
    address: str = ""

    def oracle_counts(self) -> Counter[str]:
        """What the simulator's oracle knew and did not know so far; empty for others."""
        with contextlib.suppress(httpx.HTTPError, ValueError, KeyError):
            oracle = httpx.get(f"{self.address}/_sim/stats?records=0", timeout=30).json()["oracle"]
            return Counter(
                {
                    f"{kind} {known}": oracle[known].get(kind, 0)
                    for kind in COUNTED
                    for known in oracle
                }
            )
        return Counter()


@dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded site's data in `folder/var`, and its chunks: `{"document_id", "title", "collection", "text"}` each.

    title: the set's name of the document. text: with the document's title and headings, as the site searches it.
    """

    folder: Path

    @property
    def passages(self) -> Path:
        return self.folder / "passages.jsonl"

    def rows(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.passages.read_text(encoding="utf-8").splitlines()]


# ------------------------------------------------------------------------------------------------ documents
@contextlib.contextmanager
def unpacked(documents: Path) -> Iterator[Path]:
    if documents.is_dir():
        yield documents
        return
    with (
        tempfile.TemporaryDirectory(prefix="ragsite-documents-") as folder,
        tarfile.open(documents) as archive,
    ):
        archive.extractall(folder, filter="data")
        yield Path(folder)


def files_of(part: str, documents: Path) -> list[Path]:
    return sorted(documents.rglob(f"{FILE_PREFIX.get(part, '')}*.md"))


def write_oracle(folder: Path, questions: Sequence[Question], documents: Path) -> None:
    folder.mkdir(exist_ok=True)
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as lines:
        for file in files_of("", documents):
            row = {
                "_id": str(file.relative_to(documents)),
                "title": "",
                "text": file.read_text(encoding="utf-8"),
            }
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as lines:
        for question in questions:
            unclear = {"clarify": True} if question.clarify else {}
            lines.write(
                json.dumps(
                    {"_id": question.id, "text": question.text, **unclear}, ensure_ascii=False
                )
                + "\n"
            )
    qrels = [
        f"{question.id}\t{name}\t1\n"
        for question in questions
        for name in sorted(question.documents)
    ]
    (folder / "qrels.tsv").write_text("".join(qrels), encoding="utf-8")


# ------------------------------------------------------------------------------------------------ judges
@dataclass(frozen=True, slots=True)
class Erring:
    """How the simulator errs. arguments: of its command."""

    name: str
    arguments: Sequence[str]


def errings(options: argparse.Namespace) -> list[Erring]:
    readers = [Erring(reader, ("--reader", reader)) for reader in options.reader]
    noises = [Erring(f"oracle {noise:g}", ("--noise", str(noise))) for noise in options.noise]
    return [*readers, *noises] or [Erring("oracle 0.1", ("--noise", "0.1"))]


@contextlib.contextmanager
def simulator(
    command: str, oracle: Path, erring: Erring, folder: Path, options: argparse.Namespace
) -> Iterator[Judge]:
    port = free_port()
    more = ["--oracle", str(oracle), *erring.arguments, "--port", str(port)]
    log = folder / "simulator.log"
    with log.open("ab") as output:
        process = subprocess.Popen([*shlex.split(command), *more], stdout=output, stderr=output)
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        if process.poll() is not None:
            raise SystemExit(f"The simulator ended; its log:\n{log.read_text()[-2000:]}")
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{address}/api/tags", timeout=5).status_code == 200
        return False

    try:
        wait_for(answers, within_s=300, what="the simulator")
        yield with_model(erring.name, address, options, {})
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def with_model(
    name: str, address: str, options: argparse.Namespace, more: Mapping[str, str]
) -> Judge:
    models = {
        "OLLAMA_BASE_URL": address,
        "RAG_CHAT_MODEL": options.chat_model,
        "RAG_EMBED_MODEL": options.embed_model,
    }
    return Judge(
        name=name, space=options.embed_model, environment={**models, **more}, address=address
    )


def patient(address: str, options: argparse.Namespace) -> Judge:
    calls = (
        "OLLAMA_FIRST_TOKEN",
        "OLLAMA_STRUCTURED",
        "OLLAMA_EMBED",
        "CORRECTIVE",
        "LIMIT_ANSWER",
    )
    limits = {f"RAG_{name}_TIMEOUT_S": f"{PATIENCE_S:.0f}" for name in calls}
    return with_model(options.chat_model, address, options, limits)


@contextlib.contextmanager
def judges(
    name: str, oracle: Path, folder: Path, erring: Erring, options: argparse.Namespace
) -> Iterator[Judge]:
    if name == "none":
        yield Judge(name="none", space="offline", environment={"RAG_OFFLINE": "1"})
    elif name == "simulator":
        with simulator(options.simulator, oracle, erring, folder, options) as judge:
            yield judge
    else:
        yield patient(name.rstrip("/"), options)


# ------------------------------------------------------------------------------------------------ the site
def load(
    folder: Path, parts: Sequence[str], documents: Path, judge: Judge, named: set[str]
) -> Loaded:
    """The loaded site in this folder, made where it is not there. named: documents that questions are about."""
    loaded = Loaded(folder)
    if folder.exists():
        return loaded
    making = folder.with_name(f"{folder.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    environment = {**judge.environment, "RAG_OLLAMA_EMBED_TIMEOUT_S": f"{PATIENCE_S:.0f}"}
    with (
        rag_site(making, environment, 1) as site,
        Loaded(making).passages.open("w", encoding="utf-8") as lines,
    ):
        for part in parts:
            files = files_of(part, documents)
            site.site.manage(
                "manage.py", "ingest", *map(str, files), "--collection", part, within_s=LOAD_S
            )
            paths = {file.name: str(file.relative_to(documents)) for file in files}
            for row in chunks(site, part, paths):
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    if missing := named - {row["title"] for row in Loaded(making).rows()}:
        raise SystemExit(f"Not among the documents of the site: {', '.join(sorted(missing))}")
    if judge.address:  # which embeds the passages once for all runs
        with plain_rag(making, Loaded(making).passages, judge.environment, start_s=LOAD_S):
            pass
    revision = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    )
    (making / "revision").write_text(revision.stdout.strip())
    making.rename(folder)
    return loaded


def chunks(site: RagSite, part: str, paths: Mapping[str, str]) -> Iterator[dict[str, str]]:
    headers = {"Authorization": f"Token {site.tokens[0]}"}
    with httpx.Client(base_url=site.site.url, headers=headers, timeout=60) as http:
        for document in listed(http, f"/api/documents?collection={part}"):
            title = document["title"]
            name = paths[document["file_name"]]
            for chunk in listed(http, f"/api/documents/{document['id']}/chunks"):
                headings = [
                    heading
                    for heading in chunk["heading"].split(HEADING_JOIN)
                    if heading not in ("", title)
                ]
                text = "\n".join(filter(None, (title, HEADING_JOIN.join(headings), chunk["text"])))
                yield {
                    "document_id": document["id"],
                    "title": name,
                    "collection": part,
                    "text": text,
                }


def listed(http: httpx.Client, address: str | None) -> Iterator[dict[str, Any]]:
    while address:
        page = http.get(address).raise_for_status().json()
        yield from page["results"]
        address = page["next"]


# ------------------------------------------------------------------------------------------------ asking
@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What came of one judge. cpu_s: of the web process, a question. oracle: by side, what the simulator knew."""

    site: list[Outcome]
    plain: list[Outcome]
    cpu_s: float
    oracle: Mapping[str, Counter[str]]


async def ask_all(
    site: RagSite,
    plain: PlainRag | None,
    judge: Judge,
    questions: Sequence[Question],
    names: Mapping[str, str],
    options: argparse.Namespace,
) -> Run:
    """One question at a time, of both sides in turns; every question by a user of its own, the last one warms up.

    names: the set's names of documents, by their ids."""
    sides: list[Side] = [site] if plain is None else [plain, site]
    more: dict[str, Any] = {"workflow": options.workflow} if options.workflow else {}
    more |= {"options": {"judge": True}} if options.judge_first else {}
    for text in WARM_UP:
        for side in sides:
            await ask(side, text, len(questions), collections=[questions[0].part])
    replies: dict[str, list[Reply]] = {"site": [], "plain": []}
    oracle: dict[str, Counter[str]] = {"site": Counter(), "plain": Counter()}
    before = cpu_seconds(site.processes())["web"]
    for number, question in enumerate(questions):
        for side in sides if number % 2 else reversed(sides):
            known = judge.oracle_counts()
            asked = {"collections": [question.part], **(more if side is site else {})}
            replies[side.name].append(await ask(side, question.text, number, **asked))
            oracle[side.name].update(judge.oracle_counts() - known)
        if sys.stderr.isatty():
            print(
                f"\r{judge.name}: {number + 1} of {len(questions)} ",
                end="",
                file=sys.stderr,
                flush=True,
            )
    cpu_s = (cpu_seconds(site.processes())["web"] - before) / len(questions)
    found = [await search(site, question, names) for question in questions]
    return Run(
        site=[
            outcome(*each, names=names)
            for each in zip(questions, replies["site"], found, strict=True)
        ],
        plain=[
            outcome(*each, names=names) for each in zip(questions, replies["plain"], strict=False)
        ],
        cpu_s=cpu_s,
        oracle=oracle,
    )


def outcome(
    question: Question,
    reply: Reply,
    found: Sequence[str] | None = None,
    *,
    names: Mapping[str, str],
) -> Outcome:
    """found: None for the plain RAG, which shows what it found, and decides nothing."""
    shown = [names[source["document_id"]] for source in reply.sources]
    decision = plain_decision(reply.cited) if found is None else reply.decision
    return Outcome(
        question=question,
        decision="" if reply.error else decision,
        support=reply.support,
        text=reply.text,
        error=reply.error,
        shown=shown,
        cited=list(dict.fromkeys(names[source["document_id"]] for source in reply.cited)),
        found=shown if found is None else found,
        first_token_ms=reply.first_token_ms,
        rounds=reply.usage["llm_rounds"],
        calls=reply.model_calls,
    )


async def search(site: RagSite, question: Question, names: Mapping[str, str]) -> list[str]:
    body = {"query": question.text, "collections": [question.part], "top_k": max(DEPTHS)}
    headers = {"Authorization": f"Token {site.tokens[0]}"}
    async with httpx.AsyncClient(
        base_url=site.site.url, headers=headers, timeout=PATIENCE_S
    ) as http:
        reply = (await http.post("/api/search", json=body)).raise_for_status().json()
    return [names[candidate["document_id"]] for candidate in reply["candidates"]]


def bm25_ranked(
    questions: Sequence[Question], rows: Sequence[Mapping[str, str]]
) -> list[list[str]] | None:
    """Documents of bm25s' best chunks for each question; None where it is not installed."""
    try:
        import bm25s
    except ImportError:
        return None
    import jieba
    import snowballstemmer

    jieba.setLogLevel("WARNING")
    stem = snowballstemmer.stemmer("english").stemWords

    def terms(text: str) -> list[str]:
        words = [
            word
            for word in jieba.lcut_for_search(text.lower())
            if any(letter.isalnum() for letter in word)
        ]
        return list(stem(words))

    ranked = {}
    for part in {question.part for question in questions}:
        own = [row for row in rows if row["collection"] == part]
        index = bm25s.BM25()
        index.index([terms(row["text"]) for row in own], show_progress=False)
        for question in questions:
            if question.part == part:
                scores = index.get_scores(terms(question.text))
                ranked[question.id] = [
                    own[at]["title"] for at in (-scores).argsort()[: max(DEPTHS)]
                ]
    return [ranked[question.id] for question in questions]


# ------------------------------------------------------------------------------------------------ report
def report(
    judge: Judge, run: Run, bm25: list[list[str]] | None
) -> dict[str, list[dict[str, object]]]:
    questions = [one.question for one in run.site]
    sides = {"site": run.site, "plain RAG": run.plain}
    ranked = {
        "search": [one.found for one in run.site],
        "sources shown": [one.shown for one in run.site],
        "plain RAG": [one.shown for one in run.plain],
        "bm25s": bm25 or [],
    }
    parts = sorted({question.part for question in questions})
    tables: dict[str, list[dict[str, object]]] = {"answers": [], "recall": [], "times": []}
    for part in ("all", *(parts if len(parts) > 1 else ())):
        for name, outcomes in sides.items():
            if own := [one for one in outcomes if part in ("all", one.question.part)]:
                tables["answers"].append(
                    {"judge": judge.name, "side": name, "part": part, **answers_row(own)}
                )
        for name, lists in ranked.items():
            pairs = [
                pair
                for pair in zip(questions, lists, strict=False)
                if part in ("all", pair[0].part)
            ]
            if pairs:
                tables["recall"].append(
                    {"judge": judge.name, "of": name, "part": part, **recall_row(pairs)}
                )
    times = times_row(run.site, run.plain) if run.plain else {}
    counts = {
        "rounds": mean(one.rounds for one in run.site),
        "calls": mean(one.calls for one in run.site),
    }
    tables["times"].append({"judge": judge.name, **counts, "CPU s": run.cpu_s, **times})
    return tables


def tell_each(judge: Judge, run: Run) -> None:
    for one in run.site:
        expected = (
            "ANSWER" if one.question.clear else "CLARIFY" if one.question.clarify else "NO_ANSWER"
        )
        right = "right" if one.answered else "wrong" if one.cited else "none"
        names = ", ".join(Path(name).name for name in one.cited)
        print(
            f"{judge.name}  {one.question.id}  {one.decision or one.error} for {expected}  found "
            f"{one.question.rank(one.found)}  rounds {one.rounds}  cited {right}: {names}\n"
            f"    {one.question.text}\n    {' '.join(one.text.split())[:120]}"
        )


def notes_of(judge: Judge, run: Run, loaded: Loaded) -> list[str]:
    notes = [
        f"{judge.name}: documents loaded by revision {(loaded.folder / 'revision').read_text()}"
    ]
    for side, counts in run.oracle.items():
        if counts:
            notes.append(
                f"{judge.name}: the oracle, asked by {side}: {dict(sorted(counts.items()))}"
            )
    if errors := Counter(one.error for one in (*run.site, *run.plain) if one.error):
        notes.append(f"{judge.name}: failed: {dict(errors)}")
    return notes


def chosen(questions: Sequence[Question], options: argparse.Namespace) -> list[Question]:
    if options.only:
        return [question for question in questions if question.id in options.only]
    count = min(options.limit or len(questions), len(questions))
    return [questions[at * len(questions) // count] for at in range(count)]


def run(options: argparse.Namespace) -> None:
    everything = read_questions(options.set / "questions.jsonl")
    questions = chosen(everything, options)
    parts = sorted({question.part for question in everything})
    named = {name for question in everything for name in question.documents}
    told = []
    with contextlib.ExitStack() as stack:
        documents = stack.enter_context(unpacked(options.documents or options.set / "docs"))
        temporary = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="ragsite-benchmark-"))
        )
        write_oracle(temporary / "oracle", everything, documents)
        for name in options.judge:
            for erring in errings(options) if name == "simulator" else (Erring(name, ()),):
                with (
                    tempfile.TemporaryDirectory(prefix="ragsite-benchmark-") as folder,
                    judges(name, temporary / "oracle", Path(folder), erring, options) as judge,
                ):
                    kept = (options.data or temporary) / f"{options.set.name}-{judge.space}"
                    loaded = load(kept, parts, documents, judge, named)
                    done = measured(judge, loaded, questions, Path(folder), options)
                told.append(tell(judge, done, loaded, options))
    if options.json:
        print(json.dumps(told, ensure_ascii=False, indent=2))


def tell(
    judge: Judge, run: Run, loaded: Loaded, options: argparse.Namespace
) -> Mapping[str, object]:
    """What `--json` prints of this judge; else it is printed at once."""
    bm25 = bm25_ranked([one.question for one in run.site], loaded.rows())
    tables = report(judge, run, bm25)
    notes = notes_of(judge, run, loaded)
    if bm25 is None:
        notes.append("bm25s is not installed: pip install '.[peers]'")
    if not options.json:
        if options.verbose:
            tell_each(judge, run)
        for rows in tables.values():
            show(rows, as_json=False)
            print()
        print("\n".join([*notes, ""]), flush=True)
    return {
        "judge": judge.name,
        **tables,
        "questions": [as_line(one) for one in run.site],
        "notes": notes,
    }


def measured(
    judge: Judge,
    loaded: Loaded,
    questions: Sequence[Question],
    folder: Path,
    options: argparse.Namespace,
) -> Run:
    shutil.copytree(loaded.folder / "var", folder / "var", symlinks=True)
    environment = {
        **judge.environment,
        **dict(one.split("=", 1) for one in options.setting),
        "PLAIN_TOP_K": str(FOUND_AT),
    }
    names = {row["document_id"]: row["title"] for row in loaded.rows()}
    with contextlib.ExitStack() as stack:
        plain = None
        if judge.address:
            plain = stack.enter_context(
                plain_rag(folder, loaded.passages, environment, answer_s=PATIENCE_S)
            )
        site = stack.enter_context(
            rag_site(folder, environment, len(questions) + 1, answer_s=PATIENCE_S)
        )
        return asyncio.run(ask_all(site, plain, judge, questions, names, options))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", type=Path, help="a folder with questions.jsonl")
    parser.add_argument("--documents", type=Path, help="a folder or a tar (default: SET/docs)")
    parser.add_argument(
        "--judge",
        nargs="+",
        default=["none"],
        help="none, simulator, or an Ollama server's address",
    )
    parser.add_argument(
        "--simulator",
        help="the simulator's command, to which --oracle, --noise and --port are added",
    )
    parser.add_argument(
        "--noise", type=float, nargs="+", default=[], help="shares of wrong judgements"
    )
    parser.add_argument(
        "--reader", nargs="+", default=[], help="the simulator's readers, each with its own errors"
    )
    parser.add_argument("--chat-model", default="llama3.2")
    parser.add_argument("--embed-model", default="all-minilm")
    parser.add_argument("--data", type=Path, help="where loaded sites are kept and used again")
    parser.add_argument("--workflow", help="the default one by default")
    parser.add_argument(
        "--judge-first", action="store_true", help="ask with options.judge: judge before writing"
    )
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of the site, many times",
    )
    parser.add_argument("--limit", type=int, help="so many questions, spread over the set")
    parser.add_argument("--only", nargs="+", help="ids of questions")
    parser.add_argument("--verbose", action="store_true", help="a few lines for each question")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if "simulator" in options.judge and not options.simulator:
        parser.error("--judge simulator needs --simulator COMMAND")
    run(options)


if __name__ == "__main__":
    main()
