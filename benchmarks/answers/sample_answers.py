"""What every workflow makes of the sample handbook's labelled questions, without a model.

    python -m benchmarks.sample_answers [--workflows corrective react] [--data FOLDER] [--misses] [--json]

The handbook is read into a fresh site in a temporary folder, or in FOLDER, which is kept and used again. Counted are
right decisions (ANSWER, CLARIFY, NO_ANSWER), answers that cite a document with the fact, and answers that state it. The
baseline is the default workflow, `corrective`, in the first row: the others part from it in their plan, so they should
be about as good.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.support.tables import show

DECISIONS = ("ANSWER", "CLARIFY", "NO_ANSWER")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`cited`, `stated`: whether a document with the fact is cited, and the fact stands in the answer."""

    entry: Mapping[str, Any]
    decision: str
    cited: bool
    stated: bool
    text: str

    @property
    def miss(self) -> str:
        """What is wrong; empty where nothing is."""
        if self.decision != self.entry["expects"]:
            return f"{self.decision} for {self.entry['expects']}"
        if self.decision != "ANSWER":
            return ""
        return "" if self.cited and self.stated else "other document" if not self.cited else "fact missing"


@contextmanager
def sample_site(folder: str, *, offline: bool = True) -> Iterator[None]:
    """A site, without a model unless said otherwise, that holds the whole sample handbook; Django is set up for it."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "ragsite.settings", "RAGSITE_DATA_DIR": folder, "DATABASE_URL": "",
        "RAG_OFFLINE": str(int(offline)),
    }  # fmt: skip
    import django
    from django.core.management import call_command

    django.setup()
    from retrieval.engine.search import connection

    connection.TIMEOUT_S = 120.0  # a busy machine
    from ragsite.runtime.milvus_lite import ensure_server
    from retrieval.knowledge.services.ingest import document_ingest
    from retrieval.knowledge.services.samples import samples_load

    async def read_all(ids: Sequence[Any]) -> None:
        for document_id in ids:
            await document_ingest(document_id)

    call_command("migrate", verbosity=0)
    with ensure_server(folder):
        loaded = samples_load(queue=False)
        asyncio.run(then_close(read_all([document.pk for document in loaded])))
        yield


async def then_close(work: Any) -> Any:
    from retrieval.compose import close_engine

    try:
        return await work
    finally:
        await close_engine()


async def ask_all(workflow: str, entries: Sequence[Mapping[str, Any]]) -> list[Outcome]:
    from asgiref.sync import sync_to_async

    from retrieval.compose import get_engine
    from retrieval.engine.trace import Trace
    from retrieval.engine.values import Question
    from retrieval.engine.workflows import get_workflow
    from retrieval.knowledge.selectors import scope_for_all

    scope = await sync_to_async(scope_for_all)()
    answering = get_workflow(workflow)
    outcomes = []
    for entry in entries:
        answer = await answering.answer(
            Question(text=entry["question"], scope=scope), engine=get_engine(), trace=Trace()
        )
        names = {Path(name).name for name in entry["documents"]}
        cited = any(source.cited and source.chunk.file_name in names for source in answer.sources)
        outcomes.append(
            Outcome(
                entry=entry, decision=answer.decision, cited=cited, stated=states(answer.text, entry["answer"]),
                text=answer.text,
            )
        )  # fmt: skip
    return outcomes


def states(text: str, fact: str) -> bool:
    """Whichever script it is written in; a number as a whole one, and not as part of another."""
    from retrieval.engine.text.analysis import to_simplified

    said, wanted = (" ".join(to_simplified(one).split()) for one in (text, fact))
    return bool(wanted) and bool(re.search(rf"(?<!\d){re.escape(wanted)}(?!\d)", said))


def row(workflow: str, outcomes: Sequence[Outcome]) -> dict[str, object]:
    """`as ANSWER` and so on: right ones of those that are to be decided so."""
    right = Counter(one.decision for one in outcomes if one.decision == one.entry["expects"])
    wanted = Counter(one.entry["expects"] for one in outcomes)
    answers = [one for one in outcomes if one.entry["expects"] == one.decision == "ANSWER"]
    decided = {f"as {decision}": f"{right[decision]} of {wanted[decision]}" for decision in DECISIONS}
    return {
        "workflow": workflow,
        "right": right.total(),
        **decided,
        "cited": sum(one.cited for one in answers),
        "stated": sum(one.stated for one in answers),
        "without a miss": sum(not one.miss for one in outcomes),
    }


async def measure(
    workflows: Sequence[str], entries: Sequence[Mapping[str, Any]], *, misses: bool
) -> list[dict[str, object]]:
    rows = []
    for workflow in workflows:
        outcomes = await ask_all(workflow, entries)
        rows.append(row(workflow, outcomes))
        for one in outcomes if misses else ():
            if one.miss:
                print(f"{workflow}: {one.miss}: {one.entry['question']}\n{one.text}\n", file=sys.stderr)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workflows", nargs="+", help="all of them by default")
    parser.add_argument("--data", help="the site's data folder, kept; by default a temporary one")
    parser.add_argument("--misses", action="store_true", help="print what went wrong, with the answers")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = options.data or stack.enter_context(tempfile.TemporaryDirectory(prefix="ragsite-benchmark-"))
        stack.enter_context(sample_site(str(Path(folder).resolve())))
        from retrieval.engine.workflows import available_workflows
        from retrieval.knowledge.services.samples import read_questions

        workflows = options.workflows or available_workflows()
        rows = asyncio.run(then_close(measure(workflows, read_questions(), misses=options.misses)))
    show(rows, as_json=options.json)


if __name__ == "__main__":
    main()
