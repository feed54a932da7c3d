"""Model rounds: the time to the first token, and how many calls it takes.

    python -m benchmarks.rounds [--questions 6] [--overhead-chunks 10000] [--overhead-questions 25] [--json]

1. `corrective` with everything on, as the seed has it for every question, against `corrective` as it is: same prompts,
   same questions, same server, in turns.
2. Every workflow: rounds before the first token, and calls.
3. What our own code costs an answer, with a model that takes no time, over the index calls that the answer makes.

The sample handbook is ingested into a fresh site in a temporary folder. The model server is a simulated Ollama in this
process with 250 ms to the first token, 40 tokens/s and 4 calls at once; with OLLAMA_BASE_URL set it is that one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.support.tables import show

FIRST_TOKEN_S, TOKENS_PER_S, AT_ONCE = 0.25, 40.0, 4
HISTORY = ("I am new at the university and have a few questions.", "Welcome! What would you like to know?")
PLAN = {
    "query_type": "factual", "complexity": "simple",
    "tasks": [{"id": "t1", "type": "retrieve", "input": "", "depends_on": [], "priority": 1}],
}  # fmt: skip
LANGUAGES = ("en", "zh-Hans", "zh-Hant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One answer. Times in ms."""

    first_token_ms: float
    total_ms: float
    rounds: int
    calls: int
    decision: str


@contextmanager
def a_site(folder: str, model_server: str) -> Iterator[None]:
    """A fresh site with the sample handbook; Django is set up for it."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "ragsite.settings", "RAGSITE_DATA_DIR": folder, "DATABASE_URL": "",
        "OLLAMA_BASE_URL": model_server, "RAG_OFFLINE": "auto",
    }  # fmt: skip
    import django
    from django.core.management import call_command

    django.setup()
    from retrieval.engine.search.milvus import connection

    connection.TIMEOUT_S = 120.0  # a busy machine
    from ragsite.runtime.milvus_lite import ensure_server
    from retrieval.knowledge.services.samples import SAMPLES_DIR, read_manifest

    call_command("migrate", verbosity=0)
    with ensure_server(folder):
        for entry in read_manifest()["documents"]:
            if entry["collection"] != "handbook":
                continue
            facts = {name: entry[name] for name in ("department", "doc_type", "policy_year")}
            with redirect_stderr(StringIO()):
                call_command(
                    "ingest", str(SAMPLES_DIR / entry["file"]), collection="handbook", stdout=StringIO(), **facts
                )
        yield


def sample_questions(count: int) -> list[str]:
    """Answerable ones, the languages in turns."""
    from retrieval.knowledge.services.samples import read_questions

    by_language = {
        language: [
            one["question"] for one in read_questions() if one["language"] == language and one["expects"] == "ANSWER"
        ]
        for language in LANGUAGES
    }
    longest = max(map(len, by_language.values()))
    turns = [texts[at] for at in range(longest) for texts in by_language.values() if at < len(texts)]
    return turns[:count]


# ------------------------------------------------------------------------------------------------ measuring
async def compare(texts: Sequence[str]) -> list[dict[str, object]]:
    """Both of them in turns, question by question."""
    from retrieval.engine.values import AnswerOptions
    from retrieval.engine.workflows.registry import get_workflow

    corrective = get_workflow("corrective")
    runs = {
        "corrective, everything on": (corrective, AnswerOptions(rewrite=True, hyde=True, rerank=True)),
        "corrective, as it is": (corrective, AnswerOptions()),
    }
    measured: dict[str, list[Measured]] = {name: [] for name in runs}
    for text in ["warm up: how long may books be kept?", *texts]:
        for name, (workflow, options) in runs.items():
            measured[name].append(await measure(workflow, text, with_history=True, options=options))
    rows = [_row(name, results[1:]) for name, results in measured.items()]
    return [_with_ratio(row, rows[0]) for row in rows]


async def every_workflow(texts: Sequence[str]) -> list[dict[str, object]]:
    from retrieval.engine.workflows.registry import available_workflows, get_workflow

    rows = []
    for name in available_workflows():
        workflow = get_workflow(name)
        results = [await measure(workflow, text, with_history=False) for text in texts]
        rows.append(_row(name, results))
    return rows


async def measure(workflow: Any, text: str, *, with_history: bool, options: Any = None) -> Measured:
    from asgiref.sync import sync_to_async

    from retrieval.compose import get_engine
    from retrieval.engine.trace import Trace
    from retrieval.engine.values import AnswerOptions, HistoryMessage, Question
    from retrieval.knowledge.selectors import scope_for_all

    scope = await sync_to_async(scope_for_all)(names=["handbook"])
    history = (HistoryMessage("user", HISTORY[0]), HistoryMessage("assistant", HISTORY[1])) if with_history else ()
    trace = Trace()
    question = Question(text=text, scope=scope, history=history, options=options or AnswerOptions())
    answer = await workflow.answer(question, engine=get_engine(), trace=trace)
    usage = trace.usage()
    return Measured(
        first_token_ms=float(usage.first_token_ms or 0),
        total_ms=float(usage.total_ms),
        rounds=usage.llm_rounds,
        calls=usage.llm_calls,
        decision=answer.decision,
    )


def _row(name: str, results: Sequence[Measured]) -> dict[str, object]:
    return {
        "what": name,
        "first token p50 ms": median(one.first_token_ms for one in results),
        "first token max ms": max(one.first_token_ms for one in results),
        "rounds p50": median(one.rounds for one in results),
        "rounds max": max(one.rounds for one in results),
        "calls mean": sum(one.calls for one in results) / len(results),
        "calls max": max(one.calls for one in results),
        "answered": f"{sum(one.decision == 'ANSWER' for one in results)} of {len(results)}",
    }


def _with_ratio(row: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, object]:
    time, calls = "first token p50 ms", "calls mean"
    return {**row, "× time": row[time] / base[time], "× calls": row[calls] / base[calls]}


async def _rounds(texts: Sequence[str], chunks: int, count: int) -> dict[str, list[dict[str, object]]]:
    from benchmarks.speed.overhead import measure_overhead
    from retrieval.compose import close_engine

    try:
        tables = {"corrective": await compare(texts), "every workflow": await every_workflow(texts)} if texts else {}
        if chunks:
            tables["our own code"] = await measure_overhead(chunks, count)
        return tables
    finally:
        await close_engine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=6, help="0 leaves the first two parts out")
    parser.add_argument("--overhead-chunks", type=int, default=10_000, help="0 leaves this part out")
    parser.add_argument("--overhead-questions", type=int, default=25)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ragsite-benchmark-"))
        server = os.environ.get("OLLAMA_BASE_URL") or stack.enter_context(simulated())
        stack.enter_context(a_site(str(Path(folder)), server))
        texts = sample_questions(options.questions)
        tables = asyncio.run(_rounds(texts, options.overhead_chunks, options.overhead_questions))
    if options.json:
        print(json.dumps(tables, ensure_ascii=False, indent=2))
        return
    for title, rows in tables.items():
        print(f"\n{title}")
        show(rows, as_json=False)


@contextmanager
def simulated() -> Iterator[str]:
    from benchmarks.support.paced_ollama import PacedOllama

    server = PacedOllama(first_token_s=FIRST_TOKEN_S, tokens_per_s=TOKENS_PER_S, at_once=AT_ONCE)
    server.reply(match='"query_type"', json=PLAN)  # shared words make no plan
    server.start()
    try:
        yield server.url
    finally:
        server.stop()


if __name__ == "__main__":
    main()
