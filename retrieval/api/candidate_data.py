"""The JSON of a search result, the same from the API and the command."""

from __future__ import annotations

from typing import Any

from retrieval.ports import SearchResult
from retrieval.values import ScoredChunk


def search_data(result: SearchResult) -> dict[str, Any]:
    """`{"candidates", "timings_ms", "relaxed", "degraded", "notes"}`, best first."""
    return {
        "candidates": [candidate_data(candidate) for candidate in result.candidates],
        "timings_ms": dict(result.timings_ms),
        "relaxed": list(result.relaxed),
        "degraded": list(result.degraded),
        "notes": dict(result.notes),
    }


def candidate_data(candidate: ScoredChunk) -> dict[str, Any]:
    chunk = candidate.chunk
    return {
        "document_id": chunk.document_id,
        "chunk_id": chunk.chunk_id,
        "title": chunk.title,
        "page": chunk.page,
        "heading": chunk.heading,
        "text": chunk.text,
        "scores": candidate.scores.as_dict(),
        "ranks": dict(candidate.ranks),
    }
