"""What the trained grader (`retrieval.answerability`, docs/grader.md) makes of the passages of a search.

It was trained on lists of ten chunks as a search gives them. Passages are often less: neighbours joined, repetitions
left out. So the list is graded as it was found, and a passage is worth what the best chunk in it is worth.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.answerability import Grading, shipped_grader
from retrieval.values import ScoredChunk

LIST_LENGTH = 10  # of the lists that the grader was trained on


def grade_passages(
    question: str,
    passages: Sequence[ScoredChunk],
    *,
    listed: Sequence[ScoredChunk] = (),
    beside: Sequence[ScoredChunk] = (),
    semantic: bool = True,
) -> Grading:
    """P(it answers the question) for each passage, in their order, and P(the documents hold the answer).

    listed: the chunks of which the passages were made, as found, best first; empty: the passages themselves.
    beside: the best passages of earlier searches, which those newly found are measured against.
    semantic: whether dense scores come from an embedding model (`SearchScope.semantic`).
    Of a short list (a small collection), what is estimated for the list counts less, and its best passage more.
    A few ms of CPU a passage that it has not seen yet: keep it off the event loop.
    """
    parts = [part for part in listed or passages if any(_is_in(part, passage) for passage in passages)]
    worth: dict[str, float] = {}
    holds_answer = 0.0
    room = max(1, LIST_LENGTH - len(beside))
    for begin in range(0, len(parts), room):
        window = parts[begin : begin + room]
        grading = shipped_grader().judge(question, [*beside, *window], semantic=semantic)
        worth.update(zip((part.chunk_id for part in window), grading.passages[len(beside) :], strict=True))
        if not begin:
            holds_answer = grading.holds_answer if beside else _of_short_list(grading)
    grades = [
        max((worth[part.chunk_id] for part in parts if _is_in(part, passage)), default=0.0) for passage in passages
    ]
    return Grading(passages=grades, holds_answer=holds_answer)


def _of_short_list(grading: Grading) -> float:
    """The list's estimate knows lists of ten: gaps and spreads among two or three passages tell it little, and the best
    of a few looks better than it is. Their geometric mean, with less of the best passage the longer the list."""
    share = 0.5 * max(0.0, 1.0 - len(grading.passages) / LIST_LENGTH)
    return float(grading.holds_answer ** (1.0 - share) * max(grading.passages, default=0.0) ** share)


def _is_in(part: ScoredChunk, passage: ScoredChunk) -> bool:
    return part.chunk_id == passage.chunk_id or passage.chunk.covers(part.chunk)
