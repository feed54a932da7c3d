"""The sources of an answer: passages under their markers."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from retrieval.engine.values import ScoredChunk, Source


def as_sources(passages: Sequence[ScoredChunk]) -> tuple[Source, ...]:
    """Numbered from 1 in the order of the prompt."""
    return tuple(
        Source(marker=number, chunk=passage.chunk, scores=passage.scores)
        for number, passage in enumerate(passages, start=1)
    )


def marked_cited(sources: Sequence[Source], cited: Set[int]) -> tuple[Source, ...]:
    return tuple(replace(source, cited=source.marker in cited) for source in sources)
