"""Order: which passages a model is given, and in which places of its prompt.

Source: Liu et al., "Lost in the Middle", TACL 2024.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragsite.core.search_settings import PositionStrategy
from retrieval.engine.deps import Deps
from retrieval.engine.path_details import OrderDetails
from retrieval.engine.steps.context.neighbours import with_neighbours
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import estimate_tokens, quote_source
from retrieval.engine.trace import note
from retrieval.engine.values import Question, ScoredChunk, SearchScope

LEAST = 8  # passages that a model is given where so many were found: the right one is often not among the first five
CONTEXT_TOKENS = (
    2048  # of all passages, where LEAST of them fit: what the first token waits for is the prompt
)


@step("order")
async def order(
    deps: Deps,
    candidates: Sequence[ScoredChunk],
    *,
    most: int,
    scope: SearchScope,
    room: int | None,
    strategy: PositionStrategy = "top_first",
) -> list[ScoredChunk]:
    """The best `most` candidates, best first, with neighbours where they are cut off; those that fit. room: tokens that
    the prompt has for them; None: no model reads them. strategy: of their places in the prompt (`positions`)."""
    chosen = list(candidates[:most])
    joined = dict[str, list[str]]()
    if room is not None:
        chosen, joined = await with_neighbours(
            deps, chosen, scope=scope, tokens=min(room // 2, CONTEXT_TOKENS)
        )
        chosen = fit_half(chosen, room=room)
    code = "ordered_sandwich" if strategy == "sandwich" else "ordered"
    details = OrderDetails(
        given=len(chosen),
        found=len(candidates),
        chunk_ids=tuple(passage.chunk_id for passage in chosen),
        joined=joined,
        positions=tuple(positions(len(chosen), strategy)),
    )
    note(code, details)
    return chosen


def position_strategy(deps: Deps, question: Question) -> PositionStrategy:
    return question.options.position_strategy or deps.settings.answer.position_strategy


def positions(count: int, strategy: PositionStrategy) -> list[int]:
    """The ranks, from 1, in the order in which they stand in a prompt. sandwich: 1 3 5 6 4 2, since what stands in the
    middle of a long prompt is read least (Liu et al., 2024)."""
    ranks = range(1, count + 1)
    return [*ranks[::2], *reversed(ranks[1::2])] if strategy == "sandwich" else list(ranks)


def fit_half(ranked: Sequence[ScoredChunk], *, room: int) -> list[ScoredChunk]:
    """The best ones that fit into half of `room`, in tokens; LEAST, where the whole of it holds so many."""
    half = fit(ranked, tokens=min(room // 2, CONTEXT_TOKENS))
    return half if len(half) >= LEAST else fit(ranked[:LEAST], tokens=room)


def fit(ranked: Sequence[ScoredChunk], *, tokens: int) -> list[ScoredChunk]:
    """The best ones that fit into `tokens` as quoted passages; the first one always stays."""
    selection: list[ScoredChunk] = []
    left = tokens
    for candidate in ranked:
        left -= estimate_tokens(quote_source(len(selection) + 1, candidate.chunk)) + 2
        if selection and left < 0:
            break
        selection.append(candidate)
    return selection
