"""What compression keeps, and what the check of answers catches, on labelled sets whose questions have short answers.

    python -m benchmarks.context FOLDER [--sets squad2_en,cmrc2018_zh] [--limit 300] [--json]

FOLDER holds one folder per set: corpus.jsonl, queries.jsonl {id, text, answers}, qrels.tsv. Passages are found by BM25.

Compression, six passages a question: the share of questions whose answer string is still there, the share of tokens
left out, and the share whose answer is among ten passages that must fit into `--tokens`, whole and compressed.

The check, model-free: the share marked weak of sentences that are right (the passage's own; the question as a statement
with its answer in it) and of ones that are wrong (another question's answer; one figure changed; the passage that ranks
next, and one about something else).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from benchmarks.support.labelled_sets import LabelledSet
from benchmarks.support.tables import show
from ragsite.core.rag_settings import VerifySettings
from retrieval.engine.steps.context import order
from retrieval.engine.steps.context.compress import compress_passages
from retrieval.engine.steps.grounding.support import support
from retrieval.engine.text.analysis import query_terms
from retrieval.engine.text.quoting import estimate_tokens
from retrieval.engine.text.sentences import sentence_spans
from retrieval.engine.values import ScoredChunk, Scores, StoredChunk

PASSAGES, POOL = 6, 10
ASKING = re.compile(
    r"\b(?:what|which|who|whom|whose|where|when|how (?:many|much|long|old|far))\b(?:\s+(?:is|was|are|were)\b)?"
    r"|谁|什么时候|什么|哪[一]?[个位年天些里]?|何时|何地|多少",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Case:
    """A question, the passage that answers it, and the ten that were found, best first, that one among them."""

    question: str
    answer: str
    gold: StoredChunk
    pool: tuple[ScoredChunk, ...]


def cases_of(labelled: LabelledSet, limit: int) -> Iterator[Case]:
    rows = [row for row in labelled.queries if row.get("answers") and not row.get("unanswerable")]
    Random(0).shuffle(rows)
    for row in rows:
        if limit <= 0:
            return
        places = labelled.answers.get(row["id"], ())
        found = [
            (place, answer)
            for place in places
            for answer in row["answers"]
            if answer and answer in labelled.chunks[place].text
        ]
        if not found:
            continue
        limit -= 1
        gold, answer = found[0]
        scores = labelled.bm25.score(query_terms(row["text"]))
        top = [int(at) for at in np.argsort(-scores, kind="stable")[:POOL]]
        top = top if gold in top else [*top[:-1], gold]
        pool = [ScoredChunk(chunk=labelled.chunks[at], scores=Scores(bm25=float(scores[at]))) for at in top]
        yield Case(row["text"], answer, labelled.chunks[gold], tuple(pool))


# ------------------------------------------------------------------------------------------------ compression
def compression(name: str, cases: Sequence[Case], tokens: int) -> dict[str, object]:
    asked = kept = before = after = whole = cut = 0
    for case in cases:
        given = case.pool[:PASSAGES]
        excerpts = compress_passages(case.question, given, tokens=10**6)
        before += sum(estimate_tokens(one.chunk.text) for one in given)
        after += sum(estimate_tokens(one.chunk.text) for one in excerpts)
        if any(one.chunk_id == case.gold.chunk_id for one in given):
            asked += 1
            kept += _holds(excerpts, case)
        whole += _holds(order.fit(case.pool, tokens=tokens), case)
        cut += _holds(compress_passages(case.question, case.pool, tokens=tokens), case)
    return {
        "set": name, "questions": len(cases), "answers kept %": 100 * kept / max(asked, 1),
        "tokens left out %": 100 * (1 - after / max(before, 1)),
        f"in {tokens} tokens, whole %": 100 * whole / len(cases), "compressed %": 100 * cut / len(cases),
    }  # fmt: skip


def _holds(passages: Sequence[ScoredChunk], case: Case) -> bool:
    return any(one.chunk_id == case.gold.chunk_id and case.answer in one.chunk.text for one in passages)


# ------------------------------------------------------------------------------------------------ the check
def grounding(name: str, cases: Sequence[Case]) -> dict[str, object]:
    """Shares marked weak, in percent."""
    marked: dict[str, list[bool]] = {
        kind: [] for kind in ("quoted", "restated", "other answer", "other figure", "next passage", "far passage")
    }
    usable = [case for case in cases if ASKING.search(case.question)]
    for at, case in enumerate(usable):
        text, quoted, restated = case.gold.text, _sentence(case), as_statement(case.question, case.answer)
        marked["quoted"].append(_is_weak(quoted, case.gold, case.question))
        marked["restated"].append(_is_weak(restated, case.gold, case.question))
        other = usable[(at + 5) % len(usable)]
        if other.answer not in text:
            marked["other answer"].append(_is_weak(as_statement(case.question, other.answer), case.gold, case.question))
        figure = re.sub(r"\d", lambda match: str((int(match[0]) + 3) % 10), case.answer, count=1)
        if figure not in text:
            marked["other figure"].append(_is_weak(quoted.replace(case.answer, figure), case.gold, case.question))
        beside = next((one.chunk for one in case.pool if case.answer not in one.chunk.text), None)
        if beside:
            marked["next passage"].append(_is_weak(restated, beside, case.question))
        marked["far passage"].append(_is_weak(restated, usable[(at + 17) % len(usable)].gold, case.question))
    return {"set": name, "questions": len(usable)} | {
        f"{kind} %": 100 * sum(values) / len(values) if values else None for kind, values in marked.items()
    }


def _is_weak(statement: str, passage: StoredChunk, question: str) -> bool:
    score = support(statement, [passage], question=question).score
    return score is not None and score < VerifySettings().supported_score


def _sentence(case: Case) -> str:
    at = case.gold.text.find(case.answer)
    return next(
        (one.text for one in sentence_spans(case.gold.text) if one.start <= at < one.end and case.answer in one.text),
        case.answer,
    )


def as_statement(question: str, answer: str) -> str:
    """The question as a statement, with the answer where it asks."""
    return ASKING.sub(lambda _: answer, question, count=1).rstrip("?？ ") + "."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", default="squad2_en,xquad_en,cmrc2018_zh,hotpotqa_en")
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--tokens", type=int, default=800)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    compressed, checked = [], []
    for name in options.sets.split(","):
        cases = list(cases_of(LabelledSet(name, options.folder, None), options.limit))
        compressed.append(compression(name, cases, options.tokens))
        checked.append(grounding(name, cases))
    show(compressed, as_json=options.json)
    show(checked, as_json=options.json, notes=["Marked weak: the first two should not be, the others should."])


if __name__ == "__main__":
    main()
