"""What judges that are wrong in bulk make of the sample handbook's labelled questions, beside no model at all.

    python -m benchmarks.scripted_judges [--workflows corrective react] [--judges echo "all 0"] [--data FOLDER] [--json]

The baseline is each workflow's row without a model, in the same run; both find the same passages. `honest` judges by
shared words. `cited`: answers that cite a document with the fact; `stated`: that state it. No judge should cost more
than one right decision; the exit status says whether one did.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.answers.sample_answers import ask_all, row, sample_site, then_close
from benchmarks.judge.scripted_ollama import JUDGES, ScriptedOllama
from benchmarks.support.tables import show

ALLOWED = 1  # right decisions that a judge may cost


async def measure(
    server: ScriptedOllama, workflows: Sequence[str], judges: Sequence[str], *, misses: bool
) -> list[dict[str, object]]:
    from django.conf import settings

    from retrieval.engine import close_engine
    from retrieval.services.samples import read_questions

    entries, offline = read_questions(), settings.RAG
    online = offline.replace(ollama=offline.ollama.replace(base_url=server.url, offline="auto"))
    rows = []
    for workflow in workflows:
        right = 0
        for judge in ("", *judges):
            settings.RAG = online if judge else offline
            await close_engine()  # what an engine has learned of one judge does not hold for the next
            server.reset()
            server.judge = judge or "honest"
            outcomes = await ask_all(workflow, entries)
            counted = row(workflow, outcomes)
            here = int(str(counted["right"]))
            right = right if judge else here
            asked = [request for request in server.chats if isinstance(request.body.get("format"), dict)]
            rows.append(
                {
                    "workflow": workflow,
                    "judge": judge or "(no model)",
                    "right": here,
                    "beside no model": here - right,
                    "cited": counted["cited"],
                    "stated": counted["stated"],
                    "structured calls": len(asked),
                    "verdict": "" if here >= right - ALLOWED else "TOO MUCH",
                }
            )
            print(rows[-1], file=sys.stderr, flush=True)
            for one in outcomes if misses else ():
                if one.miss:
                    print(f"{workflow}, {judge}: {one.miss}: {one.entry['question']}", file=sys.stderr)
    settings.RAG = offline
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workflows", nargs="+", help="all of them by default")
    parser.add_argument("--judges", nargs="+", choices=JUDGES, default=list(JUDGES))
    parser.add_argument("--data", help="the site's data folder, kept; by default a temporary one")
    parser.add_argument("--misses", action="store_true", help="print what went wrong")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = options.data or stack.enter_context(tempfile.TemporaryDirectory(prefix="ragsite-benchmark-"))
        stack.enter_context(sample_site(str(Path(folder).resolve())))
        server = ScriptedOllama()
        server.start()
        stack.callback(server.stop)
        from retrieval.workflows import available_workflows

        workflows = options.workflows or available_workflows()
        rows = asyncio.run(then_close(measure(server, workflows, options.judges, misses=options.misses)))
    show(rows, as_json=options.json)
    sys.exit(any(entry["verdict"] for entry in rows))


if __name__ == "__main__":
    main()
