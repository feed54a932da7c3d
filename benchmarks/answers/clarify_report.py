"""How often a question is asked back about: ambiguous ones, the same as they were, and unanswerable ones.

    python -m benchmarks.clarify_report DATA_FOLDER [--sets a b] [--limit N] [--traditional]
                                                 [--workflow W] [--json]

The ambiguous questions are made of each set's own by `benchmarks.answers.clarify_set`. All go through the whole
workflow without a model, over exact BM25 searches in memory, with the grader that is shipped. Recall is the share of
CLARIFY among the ambiguous, false alarms that among the others; baseline: a question of one or two words with a meaning
of their own is asked back about, whatever was found.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.answers.clarify_set import SETS, made_of
from benchmarks.support.grader_data import LabelledSet
from benchmarks.support.set_searcher import SetSearcher
from benchmarks.support.tables import Row, show
from ragsite.core.rag_settings import RagSettings
from retrieval.answerability.question import view_question
from retrieval.evaluation.memory_store import MemoryChunkStore
from retrieval.prompting import PromptLibrary
from retrieval.providers.registry import ModelRegistry
from retrieval.steps.answer.clarify import VAGUE_TERMS
from retrieval.steps.toolbox import Toolbox
from retrieval.text.language import converted
from retrieval.trace import Trace
from retrieval.values import CollectionRef, EmbeddingSpace, Question, SearchScope
from retrieval.workflows import DEFAULT_WORKFLOW, WORKFLOWS

SEED = 1
DECISIONS = ("ANSWER", "CLARIFY", "NO_ANSWER")


def cases(labelled: LabelledSet, limit: int) -> dict[str, list[str]]:
    """Questions by case, at most `limit` of each. The untouched are drawn from all answerable ones."""
    draw = np.random.default_rng(SEED)
    usable = [query for query in labelled.queries if not query.get("excluded")]
    untouched = [query["text"] for query in usable if labelled.answers.get(query["id"])]
    unanswerable = [query["text"] for query in usable if query.get("unanswerable")]
    drawn = {
        case: [texts[at] for at in draw.permutation(len(texts))[:limit]]
        for case, texts in (("untouched", untouched), ("unanswerable", unanswerable))
    }
    return {"ambiguous": [str(row["text"]) for row in made_of(labelled)[:limit]]} | drawn


async def decisions(labelled: LabelledSet, questions: Sequence[str], workflow: str) -> Counter[str]:
    settings = RagSettings()
    settings = settings.replace(ollama=settings.ollama.replace(offline="1"))
    tools = Toolbox(
        settings=settings,
        models=ModelRegistry(settings.ollama),
        prompts=PromptLibrary(),
        searcher=SetSearcher(labelled, dense=False),
        store=MemoryChunkStore(labelled.chunks),
    )
    answering = WORKFLOWS[workflow](tools)
    space = EmbeddingSpace("lexical-0", 384)
    scope = SearchScope((CollectionRef(id=labelled.name, name=labelled.name, space=space),))
    counts: Counter[str] = Counter()
    for text in questions:
        answer = await answering.answer(Question(text=text, scope=scope), trace=Trace())
        counts[answer.decision] += 1
    return counts


def vague(question: str) -> bool:
    view = view_question(question)
    return len(set(view.terms) - view.weak) <= VAGUE_TERMS


def measure(options: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    for name in options.sets:
        labelled = LabelledSet(name, options.data, None)
        for case, questions in cases(labelled, options.limit).items():
            if not questions:
                continue
            if options.traditional:
                questions = [converted(text, "s2t") for text in questions]
            counts = asyncio.run(decisions(labelled, questions, options.workflow))
            shares = {decision: counts[decision] / len(questions) for decision in DECISIONS}
            baseline = sum(map(vague, questions)) / len(questions)
            rows.append({"set": name, "case": case, "n": len(questions), **shares, "baseline CLARIFY": baseline})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="one folder per set")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--limit", type=int, default=200, help="questions of each case")
    parser.add_argument("--traditional", action="store_true", help="questions in Traditional characters")
    parser.add_argument("--workflow", default=DEFAULT_WORKFLOW)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    show(measure(options), as_json=options.json)


if __name__ == "__main__":
    main()
