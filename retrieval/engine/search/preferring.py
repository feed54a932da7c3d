"""Search with filters that prefer: the passages that they name come first, the others after them.

Two searches run side by side, with and without the preferring filters. Fused scores of two lists can't be compared, so
every passage keeps the one of the search without them; what the filters name is then raised above the others. A passage
is raised only where it is about the question: one whose words and meaning are far from those of the best passage stays
in its place, since a year or a department may be named in passing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from retrieval.engine.ports import Searcher, SearchRequest, SearchResult
from retrieval.engine.values import ScoredChunk, TailHit, Vocabulary

NEAR_BM25 = 0.6  # of the best passage's score, from which on a passage is about the question
NEAR_DENSE = 0.7  # the same for cosines, which lie closer together


async def search_preferring(searcher: Searcher, request: SearchRequest) -> SearchResult:
    """Strict filters hold. What the preferring ones name comes first, as far as it is about the question; `relaxed`
    names them where passages that they do not name follow. Raises as `HybridSearcher.search`."""
    preferred = request.filters.preferred
    if not preferred:
        return await searcher.search(request)
    without = replace(request, filters=replace(request.filters, preferred=Vocabulary()))
    whole, named = await asyncio.gather(searcher.search(without), searcher.search(request))
    attached = frozenset(ref.id for ref in request.scope.collections if ref.attached)
    most = request.depth or request.top_k
    ranked = _ranked(whole, named, preferred, attached)[:most]
    shown = {hit.chunk_id for hit in ranked}
    others = [hit for hit in ranked if not _fields_held(hit, preferred, attached)]
    return replace(
        whole,
        candidates=tuple(ranked),
        tail_hits=tuple(hit for hit in whole.tail_hits if hit.chunk_id not in shown),
        relaxed=preferred.fields if others else (),
        degraded=tuple(dict.fromkeys((*whole.degraded, *named.degraded))),
        notes={**whole.notes, "preferred": len(ranked) - len(others)},
    )


def _ranked(
    whole: SearchResult, named: SearchResult, preferred: Vocabulary, attached: frozenset[str]
) -> list[ScoredChunk]:
    """Best first: those that the most fields name, then by fused score, which is raised so that it says the same."""
    found: tuple[ScoredChunk | TailHit, ...] = (*whole.candidates, *whole.tail_hits)
    fused = {hit.chunk_id: hit.scores.fused or 0.0 for hit in found}
    lowest = min(fused.values(), default=0.0)
    hits: dict[str, ScoredChunk] = {
        hit.chunk_id: hit for hit in (*named.candidates, *whole.candidates)
    }
    scored = [
        replace(hit, scores=replace(hit.scores, fused=fused.get(hit.chunk_id, lowest)))
        for hit in hits.values()
    ]
    best = max(scored, key=lambda hit: hit.scores.fused or 0.0, default=None)
    groups: dict[int, list[ScoredChunk]] = {}
    for hit in scored:
        held = _fields_held(hit, preferred, attached) if best and _is_near(hit, best) else 0
        groups.setdefault(held, []).append(hit)
    ranked: list[ScoredChunk] = []
    for held in sorted(groups):  # the last ones first: each group stands above those before it
        group = sorted(groups[held], key=lambda hit: -(hit.scores.fused or 0.0))
        ranked = [*_raised(group, ranked), *ranked]
    return ranked


def _raised(group: Sequence[ScoredChunk], below: Sequence[ScoredChunk]) -> list[ScoredChunk]:
    """The group, whose last one scores no less than the first one below it."""
    if not below:
        return list(group)
    lift = max(0.0, (below[0].scores.fused or 0.0) - (group[-1].scores.fused or 0.0))
    raised = []
    for hit in group:
        score = (hit.scores.fused or 0.0) + lift
        raised.append(replace(hit, scores=replace(hit.scores, fused=score, final=score)))
    return raised


def _is_near(hit: ScoredChunk, best: ScoredChunk) -> bool:
    """In either leg; both scores are those of the leg, whatever the search was filtered by."""
    legs = (
        (hit.scores.bm25, best.scores.bm25, NEAR_BM25),
        (hit.scores.dense, best.scores.dense, NEAR_DENSE),
    )
    return any(score is not None and score >= share * (top or 0.0) for score, top, share in legs)


def _fields_held(hit: ScoredChunk, preferred: Vocabulary, attached: frozenset[str]) -> int:
    """How many fields name it. A tag counts where no other field is preferred: many documents may share it. No filter
    lowers what is attached to the conversation."""
    chunk = hit.chunk
    if chunk.collection_id in attached:
        return len(preferred.fields)
    if preferred.fields == ("tags",):
        return int(not set(preferred.tags).isdisjoint(chunk.tags))
    held = (
        chunk.department in preferred.departments,
        chunk.doc_type in preferred.doc_types,
        chunk.policy_year in preferred.policy_years,
    )
    return sum(held)
