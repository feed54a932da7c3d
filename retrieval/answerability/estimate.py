"""The answerability of what a search found (docs/grader.md).

The model was trained on lists of ten chunks as a search gives them. Passages are often something else: neighbours are
joined, repetitions are left out. So the list is looked at as it was found, and a passage has the answerability of its
best chunk.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.answerability.model import Estimate, shipped_model
from retrieval.values import ScoredChunk

LIST_LENGTH = 10  # of the lists that the model was trained on


def estimate_answerability(
    question: str,
    passages: Sequence[ScoredChunk],
    *,
    listed: Sequence[ScoredChunk] = (),
    beside: Sequence[ScoredChunk] = (),
    semantic: bool = True,
) -> Estimate:
    """P(it answers the question) for each passage, in their order, and P(the documents hold the answer).

    listed: the chunks of which the passages were made, as found, best first; empty: the passages themselves.
    beside: the best passages of earlier searches, which those newly found are measured against. Where none of these is
    better than the best of them, the new ones bring no answer, and P of the list is no higher than theirs: another list
    of the same quality looks a little better every other time, and the best of two would rise without cause.
    semantic: whether dense scores come from an embedding model (`SearchScope.semantic`).
    In a short list (a small collection) the estimate for the list counts less, and its best passage more.
    A few ms of CPU for each passage that it has not seen yet: keep it off the event loop.
    """
    parts = [part for part in listed or passages if any(_is_in(part, passage) for passage in passages)]
    by_chunk: dict[str, float] = {}
    answerability = 0.0
    room = max(1, LIST_LENGTH - len(beside))
    for begin in range(0, len(parts), room):
        window = parts[begin : begin + room]
        estimate = shipped_model().estimate(question, [*beside, *window], semantic=semantic)
        by_chunk.update(zip((part.chunk_id for part in window), estimate.passages[len(beside) :], strict=True))
        if not begin:
            answerability = _of_new_ones(estimate, len(beside)) if beside else _of_short_list(estimate)
    best = [
        max((by_chunk[part.chunk_id] for part in parts if _is_in(part, passage)), default=0.0) for passage in passages
    ]
    return Estimate(passages=best, answerability=answerability)


def _of_short_list(estimate: Estimate) -> float:
    """The model knows lists of ten: gaps and spreads among two or three passages tell it little, and the best of a few
    looks better than it is. So: a geometric mean of both, with less of the best passage the longer the list."""
    share = 0.5 * max(0.0, 1.0 - len(estimate.passages) / LIST_LENGTH)
    return float(estimate.answerability ** (1.0 - share) * max(estimate.passages, default=0.0) ** share)


def _of_new_ones(estimate: Estimate, known: int) -> float:
    best_before = max(estimate.passages[:known], default=0.0)
    best_new = max(estimate.passages[known:], default=0.0)
    return estimate.answerability if best_new > best_before else min(estimate.answerability, best_new)


def _is_in(part: ScoredChunk, passage: ScoredChunk) -> bool:
    return part.chunk_id == passage.chunk_id or passage.chunk.covers(part.chunk)
