"""Order: which passages go into the prompt, how many fit, and where the best ones stand.

Source: Liu et al., "Lost in the Middle", TACL 2024; seed 002, position strategies `top_first` and `sandwich`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragsite.core.wording import counted, joined, worded
from retrieval.steps.step import Step
from retrieval.text.quoting import quote_source
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import StepRecord
from retrieval.values import ScoredChunk

Position = Literal["top_first", "sandwich"]
LEAST = 8  # passages that a model is given where so many were found: the right one is often not among the first five
POSITION: Position = "top_first"  # where the best passages stand in the prompt
IN_WORDS: Mapping[Position, str] = {
    "top_first": worded("the best first"),
    "sandwich": worded("the best at both ends"),
}


@dataclass(frozen=True, slots=True)
class Ranking:
    """Passages, best first, out of `total`. `room`: tokens that the prompt has for them; None: no model reads them.
    `replaced`: titles of documents that were left out since a later version says that it replaces them."""

    passages: Sequence[ScoredChunk]
    total: int
    room: int | None
    replaced: Sequence[str] = ()


class Order(Step[Ranking, list[ScoredChunk]]):
    """The passages that fit, in the order in which the prompt holds them."""

    name = "order"

    async def act(self, given: Ranking, entry: StepRecord) -> list[ScoredChunk]:
        position = POSITION
        fitting = given.passages if given.room is None else fit_half(given.passages, room=given.room)
        placed = place(fitting, position)
        entry.summary = worded(
            "{placed} of {passages}, {order}",
            placed=len(placed),
            passages=counted("{count} passage", "{count} passages", given.total),
            order=IN_WORDS[position],
        )
        if given.replaced:
            entry.summary += worded(
                "; left out, as a later version replaces it: {titles}", titles=joined(", ", given.replaced)
            )
            entry.detail["replaced"] = list(given.replaced)
        entry.detail["chunk_ids"] = [passage.chunk_id for passage in placed]
        return placed


def choose(candidates: Sequence[ScoredChunk], *, most: int) -> list[ScoredChunk]:
    """The best `most` candidates. The same text in two documents is given once."""
    chosen: list[ScoredChunk] = []
    texts: set[str] = set()
    for candidate in candidates:
        text = " ".join(candidate.chunk.text.split())
        if text in texts:
            continue
        texts.add(text)
        chosen.append(candidate)
        if len(chosen) == most:
            break
    return chosen


def place(ranked: Sequence[ScoredChunk], position: Position) -> list[ScoredChunk]:
    """`top_first`: best first. `sandwich`: the best at both ends, the weakest in the middle (1 3 5 4 2).

    The seed's code gives 1 2 5 4 3, which leaves the last place, the second most read one, to the third best; Liu et
    al. find both ends to be read best, so the second best stands there.
    """
    if position == "top_first" or len(ranked) <= 2:
        return list(ranked)
    return [*ranked[0::2], *reversed(ranked[1::2])]


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
