"""Compress: passages without the sentences that have nothing to do with the question.

Source: Yan et al., 2024, arXiv:2401.15884, §4.4 (strips).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import CompressDetails
from retrieval.engine.steps.context.order import fit
from retrieval.engine.steps.step import step
from retrieval.engine.text.analysis import terms_of
from retrieval.engine.text.quoting import estimate_tokens
from retrieval.engine.text.statements import headed_statements_of
from retrieval.engine.text.term_weights import held_share, term_weights
from retrieval.engine.trace import note, skip
from retrieval.engine.values import ScoredChunk

THRESHOLD = 0.3  # statements below this share of the best one of all are left out; 0: none
_GAPS = re.compile(r"…(?:\s*…)+")


@step("compress")
async def compress(
    deps: Deps, question: str, passages: Sequence[ScoredChunk], *, room: int | None
) -> list[ScoredChunk]:
    """The passages without the sentences that have nothing to do with the question; ids, places and scores stay, and
    sources keep their whole text. room: tokens that the prompt has; None: no model reads them."""
    if room is None or not passages:
        skip("no_model_reads" if passages else "nothing_found")
        return list(passages)
    selection = await asyncio.to_thread(compress_passages, question, passages, tokens=room)
    ids = {passage.chunk_id for passage in selection}
    details = CompressDetails(
        before=sum(estimate_tokens(passage.chunk.text) for passage in passages),
        after=sum(estimate_tokens(passage.chunk.text) for passage in selection),
        dropped=tuple(passage.chunk_id for passage in passages if passage.chunk_id not in ids),
    )
    note("compressed", details)
    return selection


def compress_passages(
    question: str, passages: Sequence[ScoredChunk], *, tokens: int
) -> list[ScoredChunk]:
    """Statements far below the best one of all are left out, with "…" in their place; headings and heads of tables
    stay, and what stands beside a statement that stays. Then as many passages as fit into `tokens`."""
    weights = term_weights(question, [terms_of(passage.chunk.text) for passage in passages])
    shares_of: list[list[float]] = []  # of the question's weight, in each statement of each passage
    best = 0.0
    for passage in passages:
        statements = headed_statements_of(passage.chunk.text)
        shares = [held_share(weights, terms_of(statement.text)) for statement in statements]
        shares_of.append(shares)
        best = max([best, *shares])
    least = THRESHOLD * best
    compressed = []
    for passage, shares in zip(passages, shares_of, strict=True):
        text = _without_weak_statements(passage.chunk.text, shares, least=least)
        compressed.append(replace(passage, chunk=replace(passage.chunk, text=text)))
    return fit(compressed, tokens=tokens)


def _without_weak_statements(text: str, shares: Sequence[float], *, least: float) -> str:
    """shares: of each statement of the text. A statement stays beside one that reaches `least`."""
    statements = list(enumerate(headed_statements_of(text)))
    for at, statement in reversed(statements):
        nearby = shares[max(0, at - 1) : at + 2]
        if max(nearby) < least and statement.kind != "code":
            text = f"{text[: statement.start]}…{text[statement.end :]}"
    return _GAPS.sub("…", text)
