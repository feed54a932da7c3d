"""Chunks of one document that follow each other, as one text."""

from __future__ import annotations

from dataclasses import replace

from retrieval.engine.text.quoting import estimate_tokens
from retrieval.engine.values import StoredChunk

MAX_GAP = 16  # characters of white space that the chunker leaves out between two chunks


def join(best: StoredChunk, neighbour: StoredChunk, most_tokens: int) -> StoredChunk | None:
    """`best` with its neighbour's text before or after it, what both hold once; None where they do not fit together.

    char_start … char_end is the place of the whole text; the page is the one on which it begins.
    """
    left, right = (best, neighbour) if best.seq < neighbour.seq else (neighbour, best)
    added = seam(left, right)
    if added is None or estimate_tokens(text := left.text + added) > most_tokens:
        return None
    return replace(
        best,
        text=text,
        heading=_common_heading(left.heading, right.heading),
        page=left.page,
        char_start=left.char_start,
        char_end=right.char_end,
        seqs=(left.places[0], right.places[1]),
        table_rows=joined_rows(left.table_rows, right.table_rows),
    )


def joined_rows(
    left: tuple[int, int, int] | None, right: tuple[int, int, int] | None
) -> tuple[int, int, int] | None:
    """Of neighbours; None where they hold all rows of a table together."""
    if left is None or right is None:
        return left or right
    is_one_table = left[2] == right[2] and right[0] in (left[1], left[1] + 1)
    if not is_one_table:
        return right
    first = left[0]
    last = right[1]
    count = right[2]
    return None if (first, last) == (1, count) else (first, last, count)


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
