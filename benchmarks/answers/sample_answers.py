"""What every workflow makes of the sample handbook's labelled questions, without a model.

    python -m benchmarks.sample_answers [--workflows corrective react] [--data FOLDER] [--misses] [--json]

The handbook is read into a fresh site in a temporary folder, or in FOLDER, which is kept and used again. Without a
model passages are shown, nothing is refused and nothing asked back, so that questions with an answer alone are asked.
Counted are answers that cite a document with the fact, those that state it, and those whose first passage does. The
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.support.tables import show

if TYPE_CHECKING:  # Django is set up first
    from retrieval.engine.values import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Whether a document with the fact is cited, and the fact stands in the answer, and in its first passage."""

    entry: Mapping[str, Any]
    decision: str
    cited: bool
    stated: bool
    stated_first: bool
    text: str

    @property
    def miss(self) -> str:
        """What is wrong; empty where nothing is."""
        if self.decision != "ANSWER":
            return self.decision
        if not self.cited:
            return "other document"
        return (
            ""
            if self.stated_first
            else "not in the first passage"
            if self.stated
            else "fact missing"
        )


@contextmanager
def sample_site(folder: str, *, offline: bool = True) -> Iterator[None]:
    """A site, without a model unless said otherwise, that holds the whole sample handbook; Django is set up for it."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "ragsite.settings",
        "RAGSITE_DATA_DIR": folder,
        "DATABASE_URL": "",
        "RAG_OFFLINE": str(int(offline)),
    }
    import django
    from django.core.management import call_command

    django.setup()
    from retrieval.engine.search.milvus import connection

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
    from retrieval.engine.workflows.registry import get_workflow
    from retrieval.knowledge.scopes import scope_for_all

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
                entry=entry,
                decision=answer.decision,
                cited=cited,
                stated=states(answer.text, entry["answer"]),
                stated_first=states(first_passage(answer), entry["answer"]),
                text=answer.text,
            )
        )
    return outcomes


def first_passage(answer: Answer) -> str:
    """As it is shown; empty where none is."""
    return next((answer.text[one.start : one.end] for one in answer.grounding), "")


def states(text: str, fact: str) -> bool:
    """Whichever script it is written in, marked or not; a number as a whole one, and not as part of another."""
    from retrieval.engine.text.languages import to_simplified

    plain = text.replace("**", "").replace("\\", "")
    said, wanted = (" ".join(to_simplified(one).split()) for one in (plain, fact))
    return bool(wanted) and bool(re.search(rf"(?<!\d){re.escape(wanted)}(?!\d)", said))


def row(workflow: str, outcomes: Sequence[Outcome]) -> dict[str, object]:
    return {
        "workflow": workflow,
        "questions": len(outcomes),
        "ANSWER": sum(one.decision == "ANSWER" for one in outcomes),
        "cited": sum(one.cited for one in outcomes),
        "stated": sum(one.stated for one in outcomes),
        "in the first passage": sum(one.stated_first for one in outcomes),
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
                print(
                    f"{workflow}: {one.miss}: {one.entry['question']}\n{one.text}\n",
                    file=sys.stderr,
                )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workflows", nargs="+", help="all of them by default")
    parser.add_argument("--data", help="the site's data folder, kept; by default a temporary one")
    parser.add_argument(
        "--misses", action="store_true", help="print what went wrong, with the answers"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = options.data or stack.enter_context(
            tempfile.TemporaryDirectory(prefix="ragsite-benchmark-")
        )
        stack.enter_context(sample_site(str(Path(folder).resolve())))
        from retrieval.engine.workflows.registry import available_workflows
        from retrieval.knowledge.services.samples import read_questions

        workflows = options.workflows or available_workflows()
        answerable = [entry for entry in read_questions() if entry["expects"] == "ANSWER"]
        rows = asyncio.run(then_close(measure(workflows, answerable, misses=options.misses)))
    show(rows, as_json=options.json)


if __name__ == "__main__":
    main()
