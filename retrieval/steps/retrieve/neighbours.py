"""Neighbours: a passage that is cut off is given to the model with the chunk before or after it.

A long paragraph, table or list may be parted between two chunks. Whether a passage is cut shows at its two ends: a row
without its table's head, a sentence without an end, a line that announces a list. All chunks that may continue one are
read at once; one is joined where the two ends really belong together, and where the prompt has room.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from retrieval.steps.deps import Deps
from retrieval.steps.retrieve.dedupe import join, seam
from retrieval.steps.step import step
from retrieval.text.markdown import is_row, list_sign, passage_blocks
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import note
from retrieval.values import ScoredChunk, SearchScope, StoredChunk

MOST_TOKENS = 1400  # of a passage with its neighbours
UNFINISHED_CHARS = 60  # a shorter last line without a full stop may be a label or a signature

_ENDS = re.compile(r"[.!?。！？…；;][”’\"'」』）)\]】*_`]*$")
_ANNOUNCES = re.compile(r"[:：,，、（(–—-]$")
_GOES_ON = re.compile(r"[a-zà-öø-ÿ,;:.)\]，。；：、）】」』]")


async def with_neighbours(
    deps: Deps, passages: Sequence[ScoredChunk], *, scope: SearchScope, tokens: int
) -> list[ScoredChunk]:
    """The passages, joined with what they are continued in, while they fit into `tokens` together. No step where none
    of them is cut off."""
    if deps.documents is None or not (places := wanted_places(passages)):
        return list(passages)
    return await join_neighbours(deps, passages, places, scope=scope, tokens=tokens)


@step("order")
async def join_neighbours(
    deps: Deps,
    passages: Sequence[ScoredChunk],
    places: Sequence[tuple[str, int]],
    *,
    scope: SearchScope,
    tokens: int,
) -> list[ScoredChunk]:
    """Ids, scores and order stay. places: (document id, seq) of the chunks to look at."""
    found = await deps.documents.at(places, scope=scope) if deps.documents else ()
    beside = {(chunk.document_id, chunk.seq): chunk for chunk in found}
    grown, joined = list(passages), dict[str, list[str]]()
    left = tokens - sum(estimate_tokens(passage.chunk.text) for passage in passages)
    for at, passage in enumerate(passages):
        for chunk, longer in _grown(passage.chunk, beside):
            cost = estimate_tokens(longer.text) - estimate_tokens(grown[at].chunk.text)
            if cost > left:
                break
            left -= cost
            grown[at] = replace(passage, chunk=longer)
            joined.setdefault(passage.chunk_id, []).append(chunk.chunk_id)
    note("neighbours_joined", joined=joined, count=len(joined))
    return grown


def wanted_places(passages: Sequence[ScoredChunk]) -> list[tuple[str, int]]:
    """(document id, seq) of the chunks that may continue one of them and are not among them."""
    there = {
        (passage.document_id, seq)
        for passage in passages
        for seq in range(passage.chunk.places[0], passage.chunk.places[1] + 1)
    }
    wanted: dict[tuple[str, int], None] = {}
    for passage in passages:
        chunk = passage.chunk
        if chunk.kind != "document" or not chunk.char_end or not chunk.text.strip():
            continue
        first, last = chunk.places
        if may_begin_before(chunk.text) and first > 0:
            wanted[chunk.document_id, first - 1] = None
        if may_go_on(chunk.text):
            wanted[chunk.document_id, last + 1] = None
    return [place for place in wanted if place not in there]


def _grown(
    chunk: StoredChunk, beside: Mapping[tuple[str, int], StoredChunk]
) -> Iterator[tuple[StoredChunk, StoredChunk]]:
    """What is joined, and the passage with it: the chunk before, then the one after it."""
    first, last = chunk.places
    for seq in (first - 1, last + 1):
        other = beside.get((chunk.document_id, seq))
        if other is None:
            continue
        left, right = (other, chunk) if seq < first else (chunk, other)
        added = seam(left, right)
        if added is None or not belong_together(left.text, added):
            continue
        grown = join(chunk, other, MOST_TOKENS)
        if grown is not None:
            chunk = grown
            yield other, grown


# ------------------------------------------------------------------------------------------------ where a text is cut
def may_begin_before(text: str) -> bool:
    """It begins inside a sentence, a list, or a table without its head."""
    line = text.lstrip("\n").split("\n", 1)[0]
    if is_row(line):
        return not _has_head(text)
    return bool(list_sign(line.strip()) or _GOES_ON.match(line.strip()))


def may_go_on(text: str) -> bool:
    """It ends in a table, a list, a heading, an announcement, or without the end of a sentence."""
    line = text.rstrip().rsplit("\n", 1)[-1].strip()
    return bool(is_row(line) or list_sign(line) or line.startswith("#") or _ANNOUNCES.search(line)) or _unfinished(line)


def belong_together(left: str, right: str) -> bool:
    """Whether `right` continues what `left` ends with. Both as they stand in the document, without an overlap."""
    last, first = left.rstrip().rsplit("\n", 1)[-1].strip(), right.strip().split("\n", 1)[0].strip()
    if not first or first.startswith("#"):
        return False
    if is_row(last) or is_row(first):
        return is_row(last) and is_row(first)
    if _ANNOUNCES.search(last) or last.startswith("#") or _GOES_ON.match(first):
        return True
    if list_sign(first):
        return bool(list_sign(last))
    return _unfinished(last) and not right.startswith("\n\n")


def _unfinished(line: str) -> bool:
    return len(line) >= UNFINISHED_CHARS and not _ENDS.search(line)


def _has_head(text: str) -> bool:
    block = next(iter(passage_blocks(text)), None)
    return block is not None and block.kind == "table" and block.headed
