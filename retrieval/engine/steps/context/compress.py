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
from retrieval.engine.text.analysis import held_share, term_weights, terms_of
from retrieval.engine.text.quoting import estimate_tokens
from retrieval.engine.text.statements import headed_statements_of
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


def compress_passages(question: str, passages: Sequence[ScoredChunk], *, tokens: int) -> list[ScoredChunk]:
    """Statements far below the best one of all are left out, with "…" in their place; headings and heads of tables
    stay, and what stands beside a statement that stays. Then as many passages as fit into `tokens`."""
    weights = term_weights(question, [terms_of(passage.chunk.text) for passage in passages])
    found = [headed_statements_of(passage.chunk.text) for passage in passages]
    shares = [[held_share(weights, terms_of(statement.text)) for statement in own] for own in found]
    least = THRESHOLD * max((share for own in shares for share in own), default=0.0)
    compressed = []
    for passage, statements, own in zip(passages, found, shares, strict=True):
        text = passage.chunk.text
        for at, statement in reversed(list(enumerate(statements))):
            if max(own[max(0, at - 1) : at + 2]) < least and statement.kind != "code":
                text = f"{text[: statement.start]}…{text[statement.end :]}"
        chunk = replace(passage.chunk, text=_GAPS.sub("…", text))
        compressed.append(replace(passage, chunk=chunk))
    return fit(compressed, tokens=tokens)
