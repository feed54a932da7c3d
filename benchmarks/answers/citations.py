"""Whether the sentences of an answer cite the passages that bear them out, and whether wrong facts are refused.

    python -m benchmarks.answers.citations FOLDER [--sets squad2_en,xquad_en,cmrc2018_zh,hotpotqa_en]
                                            [--limit 100] [--json]

FOLDER holds one folder per set: corpus.jsonl, queries.jsonl {id, text, answers}, qrels.tsv. The answer is one sentence,
made by rule: the question as a statement with its answer in it; its sources are six passages found by BM25, the one
that answers among them. The model's marker is right, absent, wrong (another passage's), or all of them stand there.
A refusal in a model's own words, with a marker of its own, is to cite none: `refusal: none`.

Baseline: the markers as the model wrote them. False facts: a figure of the answer is changed, or another question's
answer stands in its place; refused is what is marked as not supported.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.answers.context import ASKING, Case, as_statement, cases_of
from benchmarks.support.labelled_sets import LabelledSet
from benchmarks.support.tables import show
from ragsite.core.rag_settings import OllamaSettings, VerifySettings
from retrieval.engine.ports import Models
from retrieval.engine.providers.registry import ModelRegistry
from retrieval.engine.steps.grounding.alignment import Aligner
from retrieval.engine.steps.grounding.support import support
from retrieval.engine.values import Scores, Source

PASSAGES = 6
REFUSALS = {
    "en": (
        "I don't know: the sources given do not say.",
        "The passages do not mention this.",
        "Unfortunately the provided context does not contain an answer to your question.",
        "Nothing is said about that.",
    ),
    "zh": (
        "根据提供的资料，我不知道答案。",
        "很抱歉，提供的段落中没有提到这个问题的答案。",
        "文档没有说明。",
        "目前没有相关信息。",
    ),
}
MARKERS = ("right", "absent", "wrong", "all")


async def measure(name: str, cases: Sequence[Case], models: Models) -> dict[str, object]:
    """Percentages. cited: the right passage is among the citations; alone: and no other one."""
    counts: dict[str, list[bool]] = {}
    begun, aligned = time.process_time(), 0
    for at, case in enumerate(cases):
        sources = _sources(case)
        gold = next(source.marker for source in sources if source.chunk.chunk_id == case.gold.chunk_id)
        every = tuple(source.marker for source in sources)
        wrong = every[(gold + at % (len(every) - 1)) % len(every)]
        statement = as_statement(case.question, case.answer)
        hints = {"right": (gold,), "absent": (), "wrong": (wrong,), "all": every}
        for kind in MARKERS:
            ours = tuple(await Aligner(sources, question=case.question, models=models)(statement, hints[kind]))
            aligned += 1
            counts.setdefault(f"{kind}: model", []).append(hints[kind] == (gold,))
            counts.setdefault(f"{kind}: ours", []).append(gold in ours)
            counts.setdefault(f"{kind}: alone", []).append(ours == (gold,))
        refusals = REFUSALS[name.rpartition("_")[2]]
        refusal = refusals[at % len(refusals)]
        ours = tuple(await Aligner(sources, question=case.question, models=models)(refusal, (wrong,)))
        counts.setdefault("refusal: none", []).append(not ours)
        counts.setdefault("kept", []).append(await _is_supported(statement, sources, case, models))
        figure = re.sub(r"\d", lambda match: str((int(match[0]) + 3) % 10), case.answer, count=1)
        other = cases[(at + 5) % len(cases)].answer
        for kind, answer in (("figure refused", figure), ("other answer refused", other)):
            if answer != case.answer and answer not in case.gold.text:
                refused = not await _is_supported(as_statement(case.question, answer), sources, case, models)
                counts.setdefault(kind, []).append(refused)
    took = 1000 * (time.process_time() - begun) / max(1, aligned)
    shares: dict[str, object] = {kind: 100 * sum(values) / len(values) for kind, values in counts.items()}
    return {"set": name, "answers": len(cases), **shares, "ms a sentence": took}


def _sources(case: Case) -> list[Source]:
    chunks = [one.chunk for one in case.pool[:PASSAGES]]
    if all(chunk.chunk_id != case.gold.chunk_id for chunk in chunks):
        chunks[-1] = case.gold
    return [Source(marker=number, chunk=chunk, scores=Scores()) for number, chunk in enumerate(chunks, start=1)]


async def _is_supported(statement: str, sources: Sequence[Source], case: Case, models: Models) -> bool:
    """As an answer without markers would be: aligned first, then held against what it cites."""
    ours = await Aligner(sources, question=case.question, models=models)(statement, ())
    cited = [source.chunk for source in sources if source.marker in ours]
    found = support(statement, cited or [source.chunk for source in sources], question=case.question)
    return found.score is None or (bool(cited) and found.score >= VerifySettings().supported_score)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", default="squad2_en,xquad_en,cmrc2018_zh,hotpotqa_en")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    models = ModelRegistry(OllamaSettings(offline="1"))
    for name in options.sets.split(","):
        found = cases_of(LabelledSet(name, options.folder, None), 3 * options.limit)
        cases = [case for case in found if ASKING.search(case.question)][: 2 * options.limit]
        rows.append(
            asyncio.run(measure(name, cases[name == "squad2_en" :: 2], models))
        )  # its other half was looked at most
    show(rows, as_json=options.json, notes=["Right passage cited, in percent, by what the model marked; then facts."])


if __name__ == "__main__":
    main()
