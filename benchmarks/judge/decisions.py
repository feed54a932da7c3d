"""What a workflow decides without a model, on labelled sets that its grader never saw.

    python -m benchmarks.decisions DATA_FOLDER --embeddings EMBEDDINGS_FOLDER [--sets a b] [--limit N] [--json]
        [--workflows corrective react] [--judge TRUE_RATE FALSE_RATE]

Each set's questions go through the whole workflow (offline), by default `corrective`: with their passages in the
collection (present), with these taken out (absent), and those that were written to have no answer there
(unanswerable). The searches are exact ones in memory; the grader is trained on the other sets, at most 400 questions of
each. Needs scikit-learn.

baseline: NO_ANSWER where the best passage's own probability is low, at the threshold that turns away as many of the
`present`; what the estimate for the whole list adds stands in the difference.

--judge: three rows of each case. Without a model; with one that says yes to passages that hold the answer at the first
rate, and to others at the second, by lot, as a site knows it that never tried it; and as one that has tried it with its
known cases (`retrieval.steps.judge.probes`), where it said yes at the same rates. It writes and rewrites nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import numpy as np

from benchmarks.judge.grader_report import left_out
from benchmarks.judge.train_grader import SETS, Examples, read_sets, relatives
from benchmarks.support.grader_data import LabelledSet
from benchmarks.support.set_searcher import SEED, SetSearcher, cases, gold
from benchmarks.support.tables import Row, show
from ragsite.core.rag_settings import OllamaSettings, RagSettings
from retrieval.errors import ModelOutputError
from retrieval.evaluation.memory_store import MemoryChunkStore
from retrieval.ports import ChatModel, Prompt, Schema
from retrieval.prompting import PromptLibrary
from retrieval.providers.registry import ModelRegistry
from retrieval.steps.judge.probes import probes
from retrieval.steps.schemas import RetrievalJudgement
from retrieval.steps.toolbox import Toolbox
from retrieval.trace import Trace
from retrieval.values import CollectionRef, EmbeddingSpace, JudgeRecord, Question, SearchScope
from retrieval.workflows import DEFAULT_WORKFLOW, WORKFLOWS

DECISIONS = ("ANSWER", "CLARIFY", "NO_ANSWER")
TRAINED_ON = 300  # questions of each set


@dataclass(frozen=True)
class Outcome:
    """best: the best passage's P. clear: the first search was clearly good, so its words were not improved on."""

    decision: str
    best: float
    clear: bool
    asked: bool


class RatedJudge:
    """`retrieval.ports.ChatModel` that judges by labels, and is wrong at its rates. held: the label of the question."""

    name = "rated"
    prompt_budget = 1_000_000

    def __init__(self, rates: tuple[float, float]) -> None:
        self.rates, self.question, self.held, self.calls = rates, "", False, 0

    async def complete_json(self, prompt: Prompt, schema: type[Schema]) -> Schema:
        if not issubclass(schema, RetrievalJudgement):
            raise ModelOutputError("it only judges")
        self.calls += 1
        lot = zlib.crc32(f"{self.held}:{self.question}".encode()) / 0xFFFFFFFF
        yes = lot < self.rates[0 if self.held else 1]
        return schema(relevant_passages=[1] if yes else [], verdict="ANSWER" if yes else "NO_ANSWER")

    async def tells_probabilities(self) -> bool:
        return False

    def stream(self, prompt: Prompt) -> Any:
        raise ModelOutputError("it only judges")

    async def yes_probability(self, prompt: Prompt) -> float:
        raise ModelOutputError("it only judges")


class OneJudge(ModelRegistry):
    """No model but this one, for judging."""

    def __init__(self, settings: OllamaSettings, judge: RatedJudge) -> None:
        super().__init__(settings)
        self.judge = judge

    async def chat(self, role: Literal["answer", "fast"], *, name: str = "") -> ChatModel:
        return self.judge if role == "fast" else await super().chat(role, name=name)


@dataclass(frozen=True)
class Known:
    """`retrieval.ports.JudgeRecords` of the one judge."""

    of_judge: JudgeRecord

    async def record(self, model: str) -> JudgeRecord:
        return self.of_judge


def tried(rates: tuple[float, float]) -> JudgeRecord:
    """What the known cases come to, on average, with a judge of these rates."""
    count = len(probes()) / 2
    true, false = (count * rate for rate in rates)
    return JudgeRecord(yes_held=true, no_held=count - true, yes_absent=false, no_absent=count - false)


async def decide(
    name: str,
    labelled: LabelledSet,
    *,
    dense: bool,
    limit: int,
    settings: RagSettings,
    judge: RatedJudge | None = None,
    record: JudgeRecord | None = None,
) -> dict[str, list[Outcome]]:
    """`name`: of the workflow. record: of the judge."""
    searcher = SetSearcher(labelled, dense)
    tools = Toolbox(
        settings=settings,
        models=OneJudge(settings.ollama, judge) if judge else ModelRegistry(settings.ollama),
        prompts=PromptLibrary(),
        searcher=searcher,
        store=MemoryChunkStore(labelled.chunks),
        judge_records=Known(record) if record else None,
    )
    workflow = WORKFLOWS[name](tools)
    space = EmbeddingSpace("minilm", 384)
    scope = SearchScope((CollectionRef(id=labelled.name, name=labelled.name, space=space),))
    in_turn = list(cases(labelled, limit))
    outcomes: dict[str, list[Outcome]] = {case: [] for case, _ in in_turn}
    random.Random(SEED).shuffle(in_turn)  # a judge that says the same for a hundred questions would lose its weight
    for case, at in in_turn:
        searcher.at, searcher.without = at, gold(labelled, at) if case == "absent" else set()
        calls = 0
        if judge:
            # The searches are exact, and what a labelled question is about is nearly always among the candidates.
            judge.question, judge.held, calls = labelled.queries[at]["text"], case == "present", judge.calls
        trace = Trace()
        answer = await workflow.answer(Question(text=labelled.queries[at]["text"], scope=scope), trace=trace)
        best = max((step.detail.get("best", 0.0) for step in trace.steps), default=0.0)
        clear = any(step.name == "rewrite" and step.status == "skipped" for step in trace.steps)
        asked = judge is not None and judge.calls > calls
        outcomes[case].append(Outcome(answer.decision, best, clear, asked))
    return outcomes


def rows(
    workflow: str, name: str, mode: str, outcomes: Mapping[str, Sequence[Outcome]], *, judge: str = ""
) -> list[Row]:
    present = outcomes["present"]
    refused = sum(one.decision == "NO_ANSWER" for one in present) / len(present)
    threshold = float(np.quantile([one.best for one in present], refused))
    found: list[Row] = []
    for case, judged in outcomes.items():
        counts = Counter(one.decision for one in judged)
        shares = {decision: counts[decision] / len(judged) for decision in DECISIONS}
        baseline = sum(one.best < threshold for one in judged) / len(judged)
        clear = sum(one.clear for one in judged) / len(judged)
        extra: Row = {"baseline NO_ANSWER": baseline, "first search clear": clear}
        if judge:
            extra = {"judge": judge, "asked": sum(one.asked for one in judged) / len(judged)}
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
            for (mode, workflow), (known, record) in product(
                product(found, options.workflows), judges(options.judge).items()
            ):
                judge = RatedJudge(tuple(options.judge)) if record else None
                judged = asyncio.run(
                    decide(
                        workflow, labelled, dense=mode == "hybrid", limit=options.limit, settings=settings, judge=judge,
                        record=record,
                    )
                )  # fmt: skip
                table += rows(workflow, name, mode, judged, judge=known)
                print(*table[-len(judged) :], sep="\n", file=sys.stderr, flush=True)
    return table


def judges(rates: Sequence[float] | None) -> dict[str, JudgeRecord | None]:
    """Name of a row → what is known of its judge; None: there is none."""
    if not rates:
        return {"": None}
    true, false = rates
    return {"no model": None, "unknown": JudgeRecord(), "tried": tried((true, false))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="one folder per set")
    parser.add_argument("--embeddings", type=Path, help="{set}.corpus.npy and {set}.queries.npy")
    parser.add_argument("--sets", nargs="+", default=SETS, help="that are judged; all are trained on")
    parser.add_argument("--limit", type=int, default=100, help="questions of each case")
    parser.add_argument("--workflows", nargs="+", default=[DEFAULT_WORKFLOW])
    parser.add_argument("--judge", nargs=2, type=float, metavar=("TRUE_RATE", "FALSE_RATE"), help="0..1 each")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with redirect_stdout(sys.stderr):
        examples = read_sets(SETS, options.data, options.embeddings, TRAINED_ON)
    show(measure(examples, options), as_json=options.json)


if __name__ == "__main__":
    main()
