"""Questions that lean on the answer before them ("可以预约多长时间？" after one about study rooms), in three languages.

    python -m benchmarks.follow_ups [--workflows corrective] [--ollama URL] [--data FOLDER] [--misses] [--json]
    python -m benchmarks.follow_ups --oracle DIR

Twenty pairs over the sample handbook (`benchmarks/data/follow_ups`). The baseline is the follow-up alone; beside it,
the same after the first question's answer, and the first question alone and after another pair, to cost nothing.
Counted are follow-ups for which a passage with the fact was found; answers that cite the document with it; follow-ups
whose answers state it, and those that do and are decided ANSWER; by language, those that state it. Without `--ollama`
no model is used; `--oracle` writes what a simulated server needs to judge passages rightly (corpus, queries, qrels).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.answers.sample_answers import sample_site, states, then_close
from benchmarks.support.tables import show

ALONE, AFTER = "follow-up alone", "follow-up after the answer"
NEW, ELSEWHERE = "first question", "first question after another pair"
PAIRS = Path(__file__).resolve().parent.parent / "data" / "follow_ups" / "questions.json"


async def measure(workflow: str, pairs: Sequence[Mapping[str, Any]], *, misses: bool) -> list[dict[str, object]]:
    from asgiref.sync import sync_to_async

    from retrieval.compose import get_engine
    from retrieval.engine.trace import Trace
    from retrieval.engine.values import HistoryMessage, Question
    from retrieval.engine.workflows.registry import get_workflow
    from retrieval.knowledge.selectors import scope_for_all

    scope, answering = await sync_to_async(scope_for_all)(), get_workflow(workflow)

    async def ask(text: str, history: tuple[HistoryMessage, ...] = ()) -> Any:
        asked = Question(text=text, scope=scope, history=history)
        return await answering.answer(asked, engine=get_engine(), trace=Trace())

    rows: dict[str, Counter[str]] = {}
    others: tuple[HistoryMessage, ...] = ()
    for pair in pairs:
        first = await ask(pair["first"])
        before = (HistoryMessage("user", pair["first"]), HistoryMessage("assistant", first.text))
        asked = [(ALONE, "question", ()), (AFTER, "question", before), (NEW, "first", ()), (ELSEWHERE, "first", others)]
        for name, part, history in asked:
            answer = await ask(pair[part], history) if history or part == "question" else first
            files = {Path(document).name for document in pair["documents"]}
            cited = any(source.cited and source.chunk.file_name in files for source in answer.sources)
            given = (source.chunk for source in answer.sources if source.chunk.file_name in files)
            found = part == "question" and any(states(chunk.text, pair["answer"]) for chunk in given)
            stated = cited and part == "question" and states(answer.text, pair["answer"])
            row = rows.setdefault(name, Counter())
            row.update(["found"] * found + ["cited"] * cited + ["stated", pair["language"]] * stated)
            row["answered"] += stated and answer.decision == "ANSWER"
            if misses and name == AFTER and not stated:
                print(f"{workflow}: {pair['first']} / {pair['question']}\n{answer.text[:600]}\n", file=sys.stderr)
        others = before
    columns = ("found", "cited", "stated", "answered", *sorted({pair["language"] for pair in pairs}))
    return [
        {"workflow": workflow, "asked": name, **{column: row[column] for column in columns}}
        for name, row in rows.items()
    ]


def write_oracle(folder: Path, pairs: Sequence[Mapping[str, Any]]) -> None:
    """Whole documents as its corpus: the simulator finds their passages by shared words."""
    from retrieval.models import Chunk, Document

    folder.mkdir(parents=True, exist_ok=True)
    documents = {f"{row.collection.name}/{row.file_name}": row for row in Document.objects.select_related("collection")}
    chunks = {
        str(chunk.pk): {"title": row.title, "text": chunk.text, "document": name}
        for name, row in documents.items()
        for chunk in Chunk.objects.filter(document=row)
    }
    corpus = [{"_id": key, "title": one["title"], "text": one["text"]} for key, one in chunks.items()]
    queries = [
        {"_id": f"{number}{part}", "text": pair[field]}
        for number, pair in enumerate(pairs)
        for part, field in (("a", "first"), ("b", "question"))
    ]
    relevant = [
        f"{number}{part}\t{key}\t1"
        for number, pair in enumerate(pairs)
        for part in "ab"
        for key, one in chunks.items()
        if one["document"] in pair["documents"] and (part == "a" or states(one["text"], pair["answer"]))
    ]
    for name, rows in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
        (folder / name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    (folder / "qrels.tsv").write_text("\n".join(relevant) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workflows", nargs="+", default=["corrective"])
    parser.add_argument("--ollama", help="the address of a server; none: without a model")
    parser.add_argument("--oracle", help="write a simulator's folder, and measure nothing")
    parser.add_argument("--data", help="the site's data folder, kept; by default a temporary one")
    parser.add_argument("--misses", action="store_true", help="print what was not stated, with the answers")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    pairs = json.loads(PAIRS.read_text("utf-8"))
    with ExitStack() as stack:
        folder = options.data or stack.enter_context(tempfile.TemporaryDirectory(prefix="ragsite-benchmark-"))
        if options.ollama:
            os.environ["OLLAMA_BASE_URL"] = options.ollama
        stack.enter_context(sample_site(str(Path(folder).resolve()), offline=not options.ollama))
        if options.oracle:
            write_oracle(Path(options.oracle), pairs)
            return

        async def all_of_them() -> list[dict[str, object]]:
            return [row for name in options.workflows for row in await measure(name, pairs, misses=options.misses)]

        rows = asyncio.run(then_close(all_of_them()))
    show(rows, as_json=options.json)


if __name__ == "__main__":
    main()
