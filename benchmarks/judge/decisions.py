"""What a workflow decides without a model, on labelled sets that its grader never saw.

    python -m benchmarks.decisions DATA_FOLDER --embeddings EMBEDDINGS_FOLDER [--sets a b] [--limit N] [--json]
        [--workflows corrective react]

Each set's questions go through the whole workflow (offline), by default `corrective`: with their passages in the
collection (present), with these taken out (absent), and those that were written to have no answer there
(unanswerable). The searches are exact ones in memory; the grader is trained on the other sets, at most 400 questions of
each. Needs scikit-learn.

baseline: NO_ANSWER where the best passage's own probability is low, at the threshold that turns away as many of the
`present`; what the estimate for the whole list adds stands in the difference.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.judge.grader_report import left_out
from benchmarks.judge.train_grader import SETS, Examples, read_sets, relatives
from benchmarks.support.grader_data import LabelledSet
from benchmarks.support.set_searcher import SetSearcher, cases, gold
from benchmarks.support.tables import Row, show
from ragsite.core.rag_settings import RagSettings
from retrieval.evaluation.memory_store import MemoryChunkStore
from retrieval.prompting import PromptLibrary
from retrieval.providers.registry import ModelRegistry
from retrieval.steps.toolbox import Toolbox
from retrieval.trace import Trace
from retrieval.values import CollectionRef, EmbeddingSpace, Question, SearchScope
from retrieval.workflows import DEFAULT_WORKFLOW, WORKFLOWS

DECISIONS = ("ANSWER", "CLARIFY", "NO_ANSWER")
TRAINED_ON = 300  # questions of each set


@dataclass(frozen=True)
class Outcome:
    """best: the best passage's P. clear: the first search was clearly good, so its words were not improved on."""

    decision: str
    best: float
    clear: bool


async def decide(
    name: str, labelled: LabelledSet, *, dense: bool, limit: int, settings: RagSettings
) -> dict[str, list[Outcome]]:
    """`name`: of the workflow."""
    searcher = SetSearcher(labelled, dense)
    tools = Toolbox(
        settings=settings,
        models=ModelRegistry(settings.ollama),
        prompts=PromptLibrary(),
        searcher=searcher,
        store=MemoryChunkStore(labelled.chunks),
    )
    workflow = WORKFLOWS[name](tools)
    space = EmbeddingSpace("minilm", 384)
    scope = SearchScope((CollectionRef(id=labelled.name, name=labelled.name, space=space),))
    outcomes: dict[str, list[Outcome]] = {}
    for case, at in cases(labelled, limit):
        searcher.at, searcher.without = at, gold(labelled, at) if case == "absent" else set()
        trace = Trace()
        answer = await workflow.answer(Question(text=labelled.queries[at]["text"], scope=scope), trace=trace)
        best = max((step.detail.get("best", 0.0) for step in trace.steps), default=0.0)
        clear = any(step.name == "rewrite" and step.status == "skipped" for step in trace.steps)
        outcomes.setdefault(case, []).append(Outcome(answer.decision, best, clear))
    return outcomes


def rows(workflow: str, name: str, mode: str, outcomes: Mapping[str, Sequence[Outcome]]) -> list[Row]:
    present = outcomes["present"]
    refused = sum(one.decision == "NO_ANSWER" for one in present) / len(present)
    threshold = float(np.quantile([one.best for one in present], refused))
    found: list[Row] = []
    for case, judged in outcomes.items():
        counts = Counter(one.decision for one in judged)
        shares = {decision: counts[decision] / len(judged) for decision in DECISIONS}
        baseline = sum(one.best < threshold for one in judged) / len(judged)
        clear = sum(one.clear for one in judged) / len(judged)
        extra = {"baseline NO_ANSWER": baseline, "first search clear": clear}
        found.append(
            {"workflow": workflow, "set": name, "mode": mode, "case": case, "n": len(judged), **shares, **extra}
        )
    return found


def measure(examples: Examples, options: argparse.Namespace) -> list[Row]:
    settings = RagSettings()
    settings = settings.replace(ollama=settings.ollama.replace(offline="1"))
    table: list[Row] = []
    for name, found in examples.items():
        if name not in options.sets:
            continue
        grader = left_out(examples, relatives(name))
        labelled = LabelledSet(name, options.data, options.embeddings)
        with patch("retrieval.answerability.estimate.shipped_model", lambda g=grader: g):
            for mode, workflow in product(found, options.workflows):
                judged = asyncio.run(
                    decide(workflow, labelled, dense=mode == "hybrid", limit=options.limit, settings=settings)
                )
                table += rows(workflow, name, mode, judged)
                print(*table[-len(judged) :], sep="\n", file=sys.stderr, flush=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="one folder per set")
    parser.add_argument("--embeddings", type=Path, help="{set}.corpus.npy and {set}.queries.npy")
    parser.add_argument("--sets", nargs="+", default=SETS, help="that are judged; all are trained on")
    parser.add_argument("--limit", type=int, default=100, help="questions of each case")
    parser.add_argument("--workflows", nargs="+", default=[DEFAULT_WORKFLOW])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with redirect_stdout(sys.stderr):
        examples = read_sets(SETS, options.data, options.embeddings, TRAINED_ON)
    show(measure(examples, options), as_json=options.json)


if __name__ == "__main__":
    main()
