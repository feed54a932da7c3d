"""Questions for whole documents: are they recognised, and how many ordinary questions are taken for one?

    python -m benchmarks.whole_documents [SET…] [--json]

1. The labelled questions of benchmarks/data/whole_documents, in three scripts, over the sample handbook's titles: right
   are those that are read, asked back, refused or left alone as labelled, with the right documents.
2. Of each SET (a folder with corpus.jsonl and queries.jsonl) the questions that are taken for one, with its titles as
   the documents. Beside it the baseline: a rule that takes every question with a word of these tasks for one.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.support.tables import show
from retrieval.steps.document.naming import Meant, Missing, Resolved, Unclear, hints_of, resolve
from retrieval.steps.document.task import read_task
from retrieval.values import DocumentRef

PROJECT = Path(__file__).resolve().parents[2]
LABELLED = PROJECT / "benchmarks/data/whole_documents/questions.jsonl"
SAMPLES = PROJECT / "retrieval/samples/manifest.json"
OUTCOMES: dict[type, str] = {Meant: "read", Unclear: "ask", Missing: "missing", type(None): "ordinary"}
BASELINE = re.compile(
    r"\b(?:summar\w+|overview|outline|main points|list|all|changed?|changes|differences?|compare)\b"
    r"|总结|概括|摘要|列出|所有|全部|区别|变化|比较|總結|摘要|區別|變化|比較|不同",
    re.IGNORECASE,
)


def resolved(question: str, documents: Sequence[DocumentRef]) -> Resolved:
    wanted = read_task(question)
    if wanted is None:
        return None
    hints = [hint.lower() for hint in hints_of(wanted)]
    seen = [
        one for one in documents if not hints or any(hint in f"{one.title} {one.file_name}".lower() for hint in hints)
    ]
    return resolve(wanted, seen)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def labelled() -> list[dict[str, object]]:
    samples = json.loads(SAMPLES.read_text(encoding="utf-8"))["documents"]
    documents = [
        DocumentRef(
            id=one["file"], title=one["title"], file_name=one["file"].rpartition("/")[2], policy_year=one["policy_year"]
        )
        for one in samples
    ]
    counts = {name: {"questions": 0, "right": 0, "baseline": 0} for name in ("for whole documents", "ordinary")}
    for one in lines(LABELLED):
        this, ordinary = one["outcome"] == "this", one["outcome"] == "ordinary"
        found = resolved(one["question"], documents[:1] if this else documents)
        titles = {document.title for document in found.documents} if isinstance(found, Meant) else set()
        right = OUTCOMES[type(found)] == ("read" if this else one["outcome"])
        count = counts["ordinary" if ordinary else "for whole documents"]
        count["questions"] += 1
        count["right"] += right and (one["outcome"] != "read" or titles == set(one["documents"]))
        count["baseline"] += bool(BASELINE.search(one["question"])) != ordinary
    return [{"set": f"labelled, {name}", **count} for name, count in counts.items()]


def false_routes(folder: Path) -> dict[str, object]:
    titles = {one.get("title") or "": str(one.get("id", one.get("_id", ""))) for one in lines(folder / "corpus.jsonl")}
    documents = [DocumentRef(id=key, title=title) for title, key in titles.items() if title]
    questions = [one["text"] for name in ("queries.jsonl", "queries_train.jsonl") if (folder / name).exists()
                 for one in lines(folder / name)]  # fmt: skip
    left_alone = [question for question in questions if resolved(question, documents) is None]
    return {
        "set": folder.name,
        "questions": len(questions),
        "right": len(left_alone),
        "baseline": sum(not BASELINE.search(question) for question in questions),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", type=Path, metavar="SET")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [*labelled(), *map(false_routes, options.sets)]
    for row in rows:
        row["wrong_share"] = f"{1 - int(str(row['right'])) / max(1, int(str(row['questions']))):.2%}"
    show(rows, as_json=options.json, notes=["baseline: right by the rule that goes by a word alone"])


if __name__ == "__main__":
    main()
