"""Dedupe: passages that say the same, once; neighbouring chunks that were found, as one passage."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import DedupeDetails
from retrieval.engine.steps.context.joining import join
from retrieval.engine.steps.step import step
from retrieval.engine.trace import note
from retrieval.engine.values import ScoredChunk, StoredChunk

MERGE_TOKENS = 640  # a passage made of neighbouring chunks that were found holds at most so many
MAX_PRINTS = 1024  # of passages that come up again and again


@step("dedupe")
async def dedupe(
    deps: Deps,
    candidates: Sequence[ScoredChunk],
    *,
    known: Sequence[ScoredChunk] = (),
) -> tuple[ScoredChunk, ...]:
    """The candidates, best first, each said once, and neighbouring chunks of one document merged. known: passages of an
    earlier round; what they hold already is left out.

    Two are duplicates where their letters and digits are the same: two versions of a regulation may differ in one word,
    and that word is what matters. A merged passage keeps the id and the scores of its best chunk, which its citation
    names.
    """
    selection, dropped, merged = await asyncio.to_thread(merge_duplicates, candidates, known=known)
    details = DedupeDetails(
        before=len(candidates), after=len(selection), dropped=dropped, merged=merged
    )
    note("deduped", details)
    return selection


def merge_duplicates(
    candidates: Sequence[ScoredChunk], *, known: Sequence[ScoredChunk] = ()
) -> tuple[tuple[ScoredChunk, ...], dict[str, str], dict[str, list[str]]]:
    """What is kept; the id of each dropped chunk with that of the passage that says the same; ids of the chunks joined
    to a passage. Of two alike the first stays."""
    selection: list[ScoredChunk] = []
    dropped: dict[str, str] = {}
    for candidate in candidates:
        twin = next(
            (other for other in (*known, *selection) if is_like(candidate.chunk, other.chunk)),
            None,
        )
        if twin is None:
            selection.append(candidate)
        else:
            dropped[candidate.chunk_id] = twin.chunk_id
    passages, merged = _merge_neighbours(selection)
    return passages, dropped, merged


@lru_cache(maxsize=MAX_PRINTS)
def _fingerprint(text: str) -> str:
    """What two texts are compared by: letters and digits; the whole of a text that has none."""
    return "".join(filter(str.isalnum, text.casefold())) or " ".join(text.split())


def is_like(chunk: StoredChunk, other: StoredChunk) -> bool:
    """Whether `other` says all that the chunk does."""
    if chunk.chunk_id == other.chunk_id or other.covers(chunk):
        return True
    return _fingerprint(chunk.text) == _fingerprint(other.text)


def _grown(
    passage: StoredChunk, neighbours: Sequence[tuple[int, StoredChunk]]
) -> tuple[StoredChunk, int] | None:
    """The passage with the first of the neighbours that fits, and the rank of that one."""
    for rank, neighbour in neighbours:
        joined = join(passage, neighbour, MERGE_TOKENS)
        if joined:
            return joined, rank
    return None


def _merge_neighbours(
    ranked: Sequence[ScoredChunk],
) -> tuple[tuple[ScoredChunk, ...], dict[str, list[str]]]:
    """Each passage in the place of its best chunk. From the best down, each takes up its neighbours that are candidates
    too, the better one first, while the passage stays within MERGE_TOKENS."""
    rank_at = {
        (candidate.document_id, candidate.chunk.seq): rank for rank, candidate in enumerate(ranked)
    }
    free = set(range(len(ranked)))
    passages = list[ScoredChunk]()
    merged = dict[str, list[str]]()
    for rank, candidate in enumerate(ranked):
        if rank not in free:
            continue
        free.discard(rank)
        passage = candidate.chunk
        while True:
            first, last = passage.places
            beside = [rank_at.get((passage.document_id, seq)) for seq in (first - 1, last + 1)]
            sides = sorted(side for side in beside if side is not None and side in free)
            grown = _grown(passage, [(side, ranked[side].chunk) for side in sides])
            if grown is None:
                break
            passage, joined_rank = grown
            free.discard(joined_rank)
            merged.setdefault(candidate.chunk_id, []).append(ranked[joined_rank].chunk_id)
        passages.append(replace(candidate, chunk=passage))
    return tuple(passages), merged
