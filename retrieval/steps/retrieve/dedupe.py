"""Dedupe: what says the same is given once, and neighbouring chunks of one document become one passage.

A passage that was made of several chunks keeps the id and the scores of the best one, which its citation names.
Two passages are duplicates where their letters and digits are the same, whatever the case, the spaces and the marks
between them: two versions of a regulation may differ in one word, and that word is what matters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from retrieval.steps.deps import Deps
from retrieval.steps.step import step
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import note
from retrieval.values import ScoredChunk, StoredChunk

MERGE_TOKENS = 640  # a passage made of neighbouring chunks holds at most so many
PRINTS_KEPT = 1024  # of passages that come up again and again
MAX_GAP = 16  # characters of white space that the chunker leaves out between two chunks


@step("dedupe")
async def dedupe(
    deps: Deps, candidates: Sequence[ScoredChunk], *, known: Sequence[ScoredChunk] = ()
) -> tuple[ScoredChunk, ...]:
    """The candidates, best first, merged and each said once. known: passages of an earlier round; what they hold
    already is left out."""
    result = await asyncio.to_thread(merge_duplicates, candidates, known=known)
    note(
        "deduped",
        before=len(candidates),
        after=len(result.kept),
        dropped=dict(result.dropped),
        merged={chunk_id: list(parts) for chunk_id, parts in result.merged.items()},
    )
    return result.kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduped:
    """dropped: chunk id → the id of the passage that says the same. merged: passage id → ids of the chunks joined to
    it."""

    kept: tuple[ScoredChunk, ...]
    dropped: dict[str, str]
    merged: dict[str, tuple[str, ...]]


def merge_duplicates(candidates: Sequence[ScoredChunk], *, known: Sequence[ScoredChunk] = ()) -> Deduped:
    """Pure and deterministic; the order of `candidates` decides which of two alike stays: the first."""
    kept: list[ScoredChunk] = []
    dropped: dict[str, str] = {}
    for candidate in candidates:
        twin = next((other for other in (*known, *kept) if is_like(candidate.chunk, other.chunk)), None)
        if twin is None:
            kept.append(candidate)
        else:
            dropped[candidate.chunk_id] = twin.chunk_id
    passages, merged = _merge_neighbours(kept, MERGE_TOKENS)
    return Deduped(kept=passages, dropped=dropped, merged=merged)


# ------------------------------------------------------------------------------------------------ the same said twice
@lru_cache(maxsize=PRINTS_KEPT)
def _print(text: str) -> str:
    """What two texts are compared by: letters and digits; the whole of a text that has none."""
    return "".join(filter(str.isalnum, text.casefold())) or " ".join(text.split())


def is_like(chunk: StoredChunk, other: StoredChunk) -> bool:
    """Whether `other` says all that the chunk does."""
    return chunk.chunk_id == other.chunk_id or other.covers(chunk) or _print(chunk.text) == _print(other.text)


# ------------------------------------------------------------------------------------------------ neighbours
def _merge_neighbours(
    ranked: Sequence[ScoredChunk], most_tokens: int
) -> tuple[tuple[ScoredChunk, ...], dict[str, tuple[str, ...]]]:
    """Each passage in the place of its best chunk. From the best down, each takes up its neighbours that are candidates
    too, the better one first, while the passage stays within `most_tokens`."""
    by_place = {(candidate.chunk.document_id, candidate.chunk.seq): rank for rank, candidate in enumerate(ranked)}
    free = set(range(len(ranked)))
    passages: list[ScoredChunk] = []
    merged: dict[str, tuple[str, ...]] = {}
    for rank, candidate in enumerate(ranked):
        if rank not in free:
            continue
        free.discard(rank)
        passage, first, last, parts = candidate.chunk, candidate.chunk.seq, candidate.chunk.seq, []
        while True:
            sides = [by_place.get((passage.document_id, seq)) for seq in (first - 1, last + 1)]
            for neighbour in sorted(side for side in sides if side in free and side is not None):
                joined = join(passage, ranked[neighbour].chunk, most_tokens)
                if joined is not None:
                    break
            else:
                break
            free.discard(neighbour)
            parts.append(ranked[neighbour].chunk_id)
            passage = joined
            first, last = min(first, ranked[neighbour].chunk.seq), max(last, ranked[neighbour].chunk.seq)
        passages.append(replace(candidate, chunk=passage))
        if parts:
            merged[candidate.chunk_id] = tuple(parts)
    return tuple(passages), merged


def join(best: StoredChunk, neighbour: StoredChunk, most_tokens: int) -> StoredChunk | None:
    """`best` with its neighbour's text before or after it, what both hold once; None where they do not fit together.

    char_start … char_end is the place of the whole text; the page is the one on which it begins.
    """
    left, right = (best, neighbour) if best.seq < neighbour.seq else (neighbour, best)
    added = seam(left, right)
    if added is None:
        return None
    text = left.text + added
    if estimate_tokens(text) > most_tokens:
        return None
    heading = best.heading if left.heading == right.heading else _common_heading(left.heading, right.heading)
    return replace(
        best,
        text=text,
        heading=heading,
        page=left.page,
        char_start=left.char_start,
        char_end=right.char_end,
        seqs=(left.places[0], right.places[1]),
    )


def seam(left: StoredChunk, right: StoredChunk) -> str | None:
    """What the right chunk adds to the left text; None where the two are not neighbours after all."""
    if not (left.char_start < left.char_end and right.char_start < right.char_end):
        return None
    overlap = left.char_end - right.char_start
    if overlap < 0:
        return "\n" * -overlap + right.text if -overlap <= MAX_GAP else None
    return right.text[overlap:] if left.text.endswith(right.text[:overlap]) else None


def _common_heading(left: str, right: str) -> str:
    """The headings above both."""
    shared = []
    for above_left, above_right in zip(left.split(" › "), right.split(" › "), strict=False):
        if above_left != above_right:
            break
        shared.append(above_left)
    return " › ".join(shared)
