"""Order: which passages go into the prompt, and how many fit, the best first.

Source: Liu et al., "Lost in the Middle", TACL 2024; seed 002, position strategy `top_first`.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.steps.deps import Deps
from retrieval.steps.step import step
from retrieval.text.quoting import quote_source
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import note
from retrieval.values import ScoredChunk

LEAST = 8  # passages that a model is given where so many were found: the right one is often not among the first five


@step("order")
async def order(deps: Deps, passages: Sequence[ScoredChunk], *, found: int, room: int | None) -> list[ScoredChunk]:
    """The passages that fit, best first. found: how many there were. room: tokens that the prompt has for them; None:
    no model reads them."""
    fitting = list(passages) if room is None else fit_half(passages, room=room)
    note("ordered", given=len(fitting), found=found, chunk_ids=[passage.chunk_id for passage in fitting])
    return fitting


def choose(candidates: Sequence[ScoredChunk], *, most: int) -> list[ScoredChunk]:
    """The best `most` candidates. The same text in two documents is given once."""
    first: dict[str, ScoredChunk] = {}
    for candidate in candidates:
        first.setdefault(" ".join(candidate.chunk.text.split()), candidate)
    return list(first.values())[:most]


def fit_half(ranked: Sequence[ScoredChunk], *, room: int) -> list[ScoredChunk]:
    """The best ones that fit into half of `room`, in tokens; LEAST, where the whole of it holds so many."""
    half = fit(ranked, tokens=room // 2)
    return half if len(half) >= LEAST else fit(ranked[:LEAST], tokens=room)


def fit(ranked: Sequence[ScoredChunk], *, tokens: int) -> list[ScoredChunk]:
    """The best ones that fit into `tokens` as quoted passages; the first one always stays."""
    kept: list[ScoredChunk] = []
    left = tokens
    for candidate in ranked:
        left -= estimate_tokens(quote_source(len(kept) + 1, candidate.chunk)) + 2
        if kept and left < 0:
            break
        kept.append(candidate)
    return kept
