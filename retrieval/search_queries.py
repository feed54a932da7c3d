"""What a search is asked for: query variants with their terms, and filters that give way one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from retrieval.analysis import analyze, query_terms
from retrieval.errors import InvalidQueryError
from retrieval.values import Query, SearchFilters, StoredChunk

MAX_QUERY_CHARS = 4_000  # what is embedded and analysed of a query; embedding models read no more
MAX_QUERY_TERMS = 96  # BM25's cost grows with every term
RELAX_ORDER = ("tags", "doc_type", "policy_year", "department")  # the filter that is most often too narrow goes first
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff]+")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Variant:
    """A query as the legs are asked: its label in `ranks`, its distinct terms in order."""

    label: str
    query: Query
    terms: tuple[str, ...]


def make_variants(queries: Iterable[Query]) -> list[Variant]:
    """The queries that say something, each once. Raises InvalidQueryError when none does."""
    variants: list[Variant] = []
    seen: set[tuple[str, bool]] = set()
    counts: dict[str, int] = {}
    for query in queries:
        text = _SPACE.sub(" ", _CONTROL.sub(" ", query.text)).strip()[:MAX_QUERY_CHARS]
        if not text or (text, query.vector_only) in seen:
            continue
        seen.add((text, query.vector_only))
        counts[query.kind] = counts.get(query.kind, 0) + 1
        label = query.kind if counts[query.kind] == 1 else f"{query.kind}{counts[query.kind]}"
        terms = tuple(dict.fromkeys(query_terms(text)))[:MAX_QUERY_TERMS]
        variants.append(Variant(label, replace(query, text=text), terms))
    if not variants:
        raise InvalidQueryError()
    return variants


def term_shares(terms: Sequence[str], chunks: Iterable[StoredChunk]) -> dict[str, float]:
    wanted = set(terms)
    return {
        chunk.chunk_id: len(wanted & set(analyze(f"{chunk.title}\n{chunk.heading}\n{chunk.text}"))) / len(wanted)
        for chunk in chunks
    }


def relaxed_filters(filters: SearchFilters) -> tuple[SearchFilters, str]:
    """The filters without the next one of RELAX_ORDER, and its name."""
    name = next(name for name in RELAX_ORDER if getattr(filters, name) not in (None, "", ()))
    empty: dict[str, tuple[()] | None] = {name: () if name == "tags" else None}
    return replace(filters, **empty), name  # type: ignore[arg-type]
