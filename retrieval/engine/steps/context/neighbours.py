"""Neighbours: a passage that is cut off, with the chunk before or after it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from retrieval.engine.deps import Deps
from retrieval.engine.steps.context.joining import join, joined_rows, seam
from retrieval.engine.text.quoting import estimate_tokens
from retrieval.engine.text.sentences import is_small
from retrieval.engine.text.statements import is_row, list_sign
from retrieval.engine.values import ScoredChunk, SearchScope, StoredChunk

MOST_TOKENS = 512  # of a passage with neighbours that were not found
UNFINISHED_CHARS = 60  # a shorter last line without a full stop may be a label or a signature
_ENDS = re.compile(r"[.!?。！？…；;][”’\"'」』）)\]】*_`]*$")
_ANNOUNCES = re.compile(r"[:：,，、（(–—-]$")
_GOES_ON = re.compile(r"[,;:.)\]，。；：、）】」』]")


async def with_neighbours(
    deps: Deps, passages: Sequence[ScoredChunk], *, scope: SearchScope, tokens: int
) -> tuple[list[ScoredChunk], dict[str, list[str]]]:
    """The passages; one that is cut off (a table's row, a list, a sentence) with the chunk before or after it, while
    they fit into `tokens` together. Ids, scores and order stay. And what was joined to each, by ids."""
    beside = await _beside(deps, passages, scope)
    grown = list(passages)
    joined = dict[str, list[str]]()
    left = tokens - sum(estimate_tokens(passage.chunk.text) for passage in passages)
    for at, passage in enumerate(passages):
        chunk = passage.chunk
        first, last = chunk.places
        for seq in (first - 1, last + 1):
            other = beside.get((chunk.document_id, seq))
            longer = (
                join(chunk, other, MOST_TOKENS)
                if other and _belong_together(chunk, other)
                else None
            )
            cost = estimate_tokens(longer.text) - estimate_tokens(chunk.text) if longer else 0
            if other and longer and cost <= left:
                left = left - cost
                chunk = longer
                joined.setdefault(passage.chunk_id, []).append(other.chunk_id)
        grown[at] = replace(passage, chunk=chunk)
    return grown, joined


async def _beside(
    deps: Deps, passages: Sequence[ScoredChunk], scope: SearchScope
) -> Mapping[tuple[str, int], StoredChunk]:
    """The chunks before and after them that are not among them, by document and place: one read."""
    chunks = [
        passage.chunk
        for passage in passages
        if passage.chunk.kind == "document" and passage.chunk.char_end
    ]
    here = {
        (chunk.document_id, seq)
        for chunk in chunks
        for seq in range(chunk.places[0], chunk.places[1] + 1)
    }
    ends = {
        (chunk.document_id, seq)
        for chunk in chunks
        for seq in (chunk.places[0] - 1, chunk.places[1] + 1)
    }
    places = sorted(place for place in ends - here if place[1] >= 0)
    found = await deps.documents.at(places, scope=scope) if deps.documents and places else ()
    return {(chunk.document_id, chunk.seq): chunk for chunk in found}


def _belong_together(chunk: StoredChunk, other: StoredChunk) -> bool:
    """Whether the later of the two continues what the earlier one ends with."""
    left, right = (chunk, other) if chunk.seq < other.seq else (other, chunk)
    if (
        left.table_rows
        and right.table_rows
        and joined_rows(left.table_rows, right.table_rows) != right.table_rows
    ):
        return True
    added = seam(left, right)
    last = left.text.rstrip().rsplit("\n", 1)[-1].strip()
    first = (added or "").strip().split("\n", 1)[0].strip()
    if added is None or not first or first.startswith("#"):
        return False
    if is_row(last) or is_row(first):
        return is_row(last) and is_row(first)
    if (
        _ANNOUNCES.search(last)
        or last.startswith("#")
        or is_small(first[0])
        or _GOES_ON.match(first)
    ):
        return True
    if list_sign(first):
        return bool(list_sign(last))
    return len(last) >= UNFINISHED_CHARS and not _ENDS.search(last) and not added.startswith("\n\n")
