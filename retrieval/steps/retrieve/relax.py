"""Relax: a preferred filter gives way where what it leaves does not answer the question.

Strict filters (those that a request names, unless it says `prefer`) are never touched. Whether something answers is
the trained estimate's to say, not how much was found: of one travel policy of 2023 and one of 2025, the single passage
of 2023 answers "the allowance in 2023", and the other one may not join it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from retrieval.answerability import LIST_LENGTH, estimate_answerability
from retrieval.ports import Searcher, SearchRequest, SearchResult
from retrieval.values import SearchFilters

RELAX_ORDER = ("tags", "doc_type", "policy_year", "department")  # the filter that is most often too narrow goes first


@dataclass(frozen=True, slots=True)
class Look:
    """A search under these filters. answerability: P(what it found answers the question); best: id of the chunk that
    answers best; None and empty: that was not asked."""

    filters: SearchFilters
    result: SearchResult
    answerability: float | None = None
    best: str = ""

    def as_dict(self) -> dict[str, object]:
        """For the decision path."""
        return {
            "filters": self.filters.as_dict(),
            "candidates": len(self.result.candidates),
            "answerability": round(self.answerability or 0.0, 3),
        }

    def answers(self, probability: float) -> bool:
        return (self.answerability or 0.0) >= probability


async def search_relaxing(
    searcher: Searcher, request: SearchRequest, *, answers: float
) -> tuple[SearchResult, list[Look]]:
    """Preferred filters are dropped one after the other until what is found answers with a probability of `answers`,
    and best by a passage that they hid: a longer list alone makes the estimate rise.

    Where it never does, the filters stay, unless they left nothing at all. `relaxed` in the result names those that
    were dropped. Also gives what was looked at, in order: one entry where no filter had to give way. Raises as
    `Searcher.search`.
    """
    if not request.filters.preferred:
        result = await searcher.search(request)
        return result, [Look(request.filters, result)]
    first = await _look(searcher, request)
    looks, left = [first], {candidate.chunk_id for candidate in first.result.candidates}
    if first.answers(answers):
        return first.result, looks
    chosen: Look | None = None
    while looks[-1].filters.preferred and chosen is None:
        looks.append(await _look(searcher, replace(request, filters=without_next(looks[-1].filters))))
        chosen = looks[-1] if looks[-1].answers(answers) and looks[-1].best not in left else None
    chosen = chosen or next((look for look in looks if look.result.candidates), looks[-1])
    kept = chosen.filters.as_dict()
    relaxed = tuple(name for name in RELAX_ORDER if name in request.filters.as_dict() and name not in kept)
    return replace(chosen.result, relaxed=relaxed), looks


def without_next(filters: SearchFilters) -> SearchFilters:
    """Without the next preferred one of RELAX_ORDER."""
    name = next(name for name in RELAX_ORDER if name in filters.preferred)
    empty: dict[str, tuple[()] | None] = {name: () if name == "tags" else None}
    return replace(filters, preferred=filters.preferred - {name}, **empty)  # type: ignore[arg-type]


async def _look(searcher: Searcher, request: SearchRequest) -> Look:
    result = await searcher.search(request)
    passages = result.candidates[:LIST_LENGTH]
    estimate = await asyncio.to_thread(
        estimate_answerability, request.queries[0].text, passages, semantic=request.scope.semantic
    )
    best = max(zip(estimate.passages, passages, strict=True), key=lambda pair: pair[0], default=None)
    return Look(request.filters, result, estimate.answerability, best[1].chunk_id if best else "")
