"""Twenty questions about all of some 300 documents: is the count exact, and are they the right ones?

    python -m benchmarks.count_questions [--misses] [--chunks 20000] [--json]

The documents are read, cut and analysed as at an upload; what they hold is known from how they were made. Each question
is asked by its filter, without a model. --chunks: how long the slowest of them take over so many chunks, the same
documents again and again.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.support.countable_files import File, countable_files
from benchmarks.support.own_site import set_up
from benchmarks.support.tables import show

Truth = Callable[[File], Any]  # of a file: whether it counts, or which of its rows do


@dataclass(frozen=True)
class Asked:
    """request: as `POST /api/count` takes it. truth: True of a file that counts, or the suppliers of its rows."""

    question: str
    request: dict[str, Any]
    truth: Truth


def _rule(column: str, operator: str, value: str, upper: str = "") -> dict[str, Any]:
    rule = {"column": column, "operator": operator, "value": value}
    return {"columns": [rule | ({"upper": upper} if upper else {})]}


def _fact(name: str, check: Callable[[Any], bool] = bool) -> Truth:
    def of(file: File) -> bool:
        return file.facts.get(name) is not None and check(file.facts[name])

    return of


def _rows(check: Callable[[dict[str, Any]], bool]) -> Truth:
    return lambda file: [row["Supplier"] for row in file.rows if check(row)]


def _policy(**wanted: Any) -> Truth:
    return lambda file: all(file.facts.get(name) == value for name, value in wanted.items())


MOST_ROWS = 10_000
DOCUMENTS = {"unit": "document"}
QUESTIONS = [
    Asked(
        "Which suppliers' contracts end before March 2026?",
        DOCUMENTS | _rule("End date", "<", "2026-03"),
        _fact("ends", lambda day: day < date(2026, 3, 1)),
    ),
    Asked(
        "Which contracts end in May 2026?",
        DOCUMENTS | _rule("End date", "=", "2026-05"),
        _fact("ends", lambda day: (day.year, day.month) == (2026, 5)),
    ),
    Asked(
        "Contracts that end between 1 July and 30 September 2026",
        DOCUMENTS | _rule("End date", "between", "2026-07-01", "2026-09-30"),
        _fact("ends", lambda day: date(2026, 7, 1) <= day <= date(2026, 9, 30)),
    ),
    Asked(
        "Contracts of more than 100,000 a year",
        DOCUMENTS | _rule("Annual value", ">", "100000"),
        _fact("value", lambda value: value > 100_000),
    ),
    Asked(
        "Contracts of 20,000 a year at most",
        DOCUMENTS | _rule("Annual value", "<=", "20000"),
        _fact("value", lambda value: value <= 20_000),
    ),
    Asked(
        "How many contracts with suppliers in Japan are there?",
        DOCUMENTS | _rule("Country", "=", "Japan"),
        _fact("country", lambda name: name == "Japan"),
    ),
    Asked(
        "Which contracts of more than 100,000 end in 2025?",
        DOCUMENTS
        | {
            "columns": [
                *_rule("Annual value", ">", "100000")["columns"],
                *_rule("End date", "=", "2025")["columns"],
            ]
        },
        lambda file: (
            bool(file.facts.get("ends"))
            and file.facts["value"] > 100_000
            and file.facts["ends"].year == 2025
        ),
    ),
    Asked(
        "Which contracts have an indemnity?",
        {"words": "indemnify", "filters": {"doc_type": "contract"}},
        _fact("indemnity"),
    ),
    Asked(
        "How many policies mention parental leave?",
        {"words": "parental leave", "match": "phrase", "filters": {"doc_type": "policy"}},
        _fact("parental"),
    ),
    Asked(
        "Which HR policies mention parental leave?",
        {"words": "parental leave", "match": "phrase", "filters": {"department": "HR"}},
        _policy(parental=True, department="HR"),
    ),
    Asked(
        "Policies since 2024 that mention parental leave",
        {
            "words": "parental leave",
            "match": "phrase",
            "year_from": 2024,
            "filters": {"doc_type": "policy"},
        },
        lambda file: bool(file.facts.get("parental")) and file.facts["year"] >= 2024,
    ),
    Asked(
        "Policies with remote work",
        {"words": "remote working", "filters": {"doc_type": "policy"}},
        _fact("remote"),
    ),
    Asked(
        "How many policies of IT are there?",
        {"filters": {"doc_type": "policy", "department": "IT"}},
        _fact("department", lambda name: name == "IT"),
    ),
    Asked("哪些办法提到育婴假?", {"words": "育婴假"}, _fact("leave_zh")),
    Asked("哪些辦法提到育嬰假?", {"words": "育嬰假"}, _fact("leave_zh")),
    Asked(
        "Letters about REF-7003",
        {"words": "REF-7003"},
        _fact("code", lambda code: code == "REF-7003"),
    ),
    Asked(
        "Suppliers with a score of at least 90",
        _rule("Score", ">=", "90"),
        _rows(lambda row: row["Score"] >= 90),
    ),
    Asked(
        "Suppliers of Kenya whose audit is due before April 2026",
        {
            "columns": [
                *_rule("Region", "=", "Kenya")["columns"],
                *_rule("Next audit", "<", "2026-04-01")["columns"],
            ]
        },
        _rows(lambda row: row["Region"] == "Kenya" and row["Next audit"] < date(2026, 4, 1)),
    ),
    Asked(
        "Catering suppliers with a score below 20",
        {"words": "catering", **_rule("Score", "<", "20")},
        _rows(lambda row: "Catering" in row["Supplier"] and row["Score"] < 20),
    ),
    Asked(
        "How many suppliers are audited in December 2026?",
        _rule("Next audit", "=", "2026-12"),
        _rows(lambda row: row["Next audit"].month == 12),
    ),
]


# ------------------------------------------------------------------------------------------------ the site
def store(files: Iterable[File], collection: Any, folder: Path) -> list[Any]:
    """As the ingest leaves them, but without vectors. Their chunks."""
    from retrieval.engine.text.analysis import terms_text
    from retrieval.knowledge.index_sync.rows import embedding_text
    from retrieval.knowledge.ingest.chunk_size import ChunkSize
    from retrieval.knowledge.ingest.reading import read_document
    from retrieval.knowledge.ingest.sniff import kind_by_name
    from retrieval.knowledge.services.ingest import rows_of_read
    from retrieval.knowledge.term_search import stored_terms
    from retrieval.models import Chunk, Document

    chunks: list[Chunk] = []
    for file in files:
        path = folder / "file"
        path.write_bytes(file.data)
        read = read_document(path, kind=kind_by_name(file.name), size=ChunkSize(128, 20))
        document = Document.objects.create(
            collection=collection,
            title=file.name,
            file_name=file.name,
            content_hash=uuid.uuid4().hex,
            language=read.language,
            status=Document.Status.READY,
            chunk_count=len(read.chunks),
            **file.metadata,
        )
        rows, _ = rows_of_read(document, read)
        for row in rows:
            row.terms = stored_terms(terms_text(embedding_text(document, row)))
        chunks += rows
    Chunk.objects.bulk_create(chunks, batch_size=500)
    return chunks


def store_again(chunks: Iterable[Any]) -> None:
    """The same documents once more."""
    from retrieval.models import Chunk, Document

    documents: dict[uuid.UUID, Document] = {}
    copies = []
    for chunk in chunks:
        document = documents.get(chunk.document_id)
        if document is None:
            document = copy(chunk.document)
            document.pk = uuid.uuid4()
            document.content_hash = document.pk.hex
            documents[chunk.document_id] = document
        again = copy(chunk)
        again.pk = uuid.uuid4()
        again.document = document
        copies.append(again)
    Document.objects.bulk_create(documents.values(), batch_size=500)
    Chunk.objects.bulk_create(copies, batch_size=500)


def measure(files: list[File], *, misses: bool) -> list[dict[str, object]]:
    from retrieval.knowledge.api.count import CountInputSerializer
    from retrieval.knowledge.counting.columns import columns_of
    from retrieval.knowledge.counting.count import count
    from retrieval.knowledge.scopes import scope_for_all

    scope = scope_for_all()
    begun = time.perf_counter()
    offered = columns_of(scope, timeout_s=600)
    seconds = time.perf_counter() - begun
    rows: list[dict[str, object]] = []
    none = {"question": "(columns that are offered)", "true": None, "counted": len(offered.columns)}
    rows.append({**none, "exact": None, "evidence": None, "s": round(seconds, 2)})
    for asked in QUESTIONS:
        serializer = CountInputSerializer(data=asked.request)
        serializer.is_valid(raise_exception=True)
        begun = time.perf_counter()
        result = count(scope, serializer.counted(), limit=MOST_ROWS, timeout_s=600)
        seconds = time.perf_counter() - begun
        expected = [
            name
            for file in files
            if (truth := asked.truth(file))
            for name in ([file.name] if truth is True else truth)
        ]
        found = [dict(row.cells).get("Supplier", row.title) for row in result.rows]
        is_whole = len(expected) > MOST_ROWS or sorted(found) == sorted(expected)
        exact = result.total == len(expected) and is_whole
        backed = all(row.evidence for row in result.rows)
        if misses and not (exact and backed):
            differ = sorted(set(found) ^ set(expected))
            print(f"{asked.question}: {result.total} for {len(expected)}: {differ[:8]}")
        line = {"question": asked.question, "true": len(expected), "counted": result.total}
        rows.append(line | {"exact": exact, "evidence": backed, "s": round(seconds, 2)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--misses", action="store_true", help="print what differs")
    parser.add_argument("--chunks", type=int, default=0, help="measure the times over so many")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ragsite-benchmark-") as folder:
        set_up(folder, "")
        from retrieval.models import Collection

        collection = Collection.objects.create(name="counted")
        files = countable_files()
        chunks = store(files, collection, Path(folder))
        held = len(chunks)
        asked_of = list(files)
        while held < options.chunks:
            store_again(chunks)
            held += len(chunks)
            asked_of += files
        rows = measure(asked_of, misses=options.misses)
    exact = sum(bool(row.get("exact")) for row in rows)
    note = f"exact: {exact} of {len(QUESTIONS)}; {len(asked_of)} documents, {held} chunks"
    show(rows, as_json=options.json, notes=[note])


if __name__ == "__main__":
    main()
