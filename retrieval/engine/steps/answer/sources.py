"""The sources of an answer: passages under their markers."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from retrieval.engine.values import AnswerSource, ScoredChunk


def as_sources(passages: Sequence[ScoredChunk]) -> tuple[AnswerSource, ...]:
    """Numbered from 1 in the order of the prompt."""
    return tuple(
        AnswerSource(marker=number, chunk=passage.chunk, scores=passage.scores)
        for number, passage in enumerate(passages, start=1)
    )


def marked_cited(sources: Sequence[AnswerSource], cited: Set[int]) -> tuple[AnswerSource, ...]:
    return tuple(replace(source, cited=source.marker in cited) for source in sources)
