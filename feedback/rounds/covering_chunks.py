"""The chunk of a document that holds nearly all of an earlier text of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import numpy as np

from feedback.ranking.text_overlap import Sketches
from retrieval.models import Chunk

COVERED = 0.8  # the share of a text from which a chunk says the same
AT_ONCE = 500
Name = TypeVar("Name")


class CoveringChunk(NamedTuple):
    chunk: UUID
    text: str


def covering_chunks(document: Any, sketches: Mapping[Name, bytes]) -> dict[Name, CoveringChunk]:
    """For each sketched text the chunk that holds most of it, the first of equal ones; without those that none covers.

    document: its id. Reads all its chunks, about half a millisecond each.
    """
    if not sketches:
        return {}
    names = list(sketches)
    wanted = Sketches(list(sketches.values()))
    most = np.zeros(len(names))
    found: dict[Name, CoveringChunk] = {}
    chunks = Chunk.objects.filter(document=document).order_by("seq").values_list("pk", "text")
    for chunk, text in chunks.iterator(chunk_size=AT_ONCE):
        shares = wanted.shares_in(text)
        for at in np.flatnonzero((shares > most) & (shares >= COVERED)):
            found[names[at]] = CoveringChunk(chunk, text)
        most = np.maximum(most, shares)
    return found
