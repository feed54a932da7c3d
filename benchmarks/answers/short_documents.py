"""What every workflow makes of questions about a few short documents, without a model, through a real index.

    python -m benchmarks.short_documents [--workflows corrective react] [--misses] [--json]

Eight documents of one chunk each and questions in a user's words (`benchmarks/data/short_documents`): what somebody
has who tries the site with their own first files. Labelled sets are searched in memory, with exact scores for every
passage; here a leg of the index leaves out what it does not find. Counted as in `benchmarks.sample_answers`, whose
sample handbook is the baseline: much of it was tuned on that, nothing on these.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.answers.sample_answers import measure, then_close
from benchmarks.support.own_site import set_up
from benchmarks.support.tables import show

DATA = Path(__file__).resolve().parents[1] / "data" / "short_documents"


def read_questions() -> list[dict[str, Any]]:
    """Those that the documents answer: without a model none is refused."""
    lines = (DATA / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [entry for entry in map(json.loads, lines) if entry["expects"] == "ANSWER"]


@contextmanager
def short_documents_site(folder: str) -> Iterator[None]:
    """A site without a model that holds the documents; Django is set up for it."""
    set_up(folder, "")
    from django.core.management import call_command

    from ragsite.runtime.milvus_lite import ensure_server

    with ensure_server(folder):
        call_command("ingest", str(DATA / "documents"), collection="short", verbosity=0)
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workflows", nargs="+", help="all of them by default")
    parser.add_argument("--misses", action="store_true", help="print what went wrong")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ragsite-benchmark-") as folder, short_documents_site(folder):
        from retrieval.engine.workflows.registry import available_workflows

        workflows = options.workflows or available_workflows()
        rows = asyncio.run(then_close(measure(workflows, read_questions(), misses=options.misses)))
    show(rows, as_json=options.json)


if __name__ == "__main__":
    main()
