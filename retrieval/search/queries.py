"""What a search is asked for: query variants with their terms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ragsite.core.text import CONTROL
from retrieval.errors import InvalidQueryError
from retrieval.text.analysis import analyze, search_terms
from retrieval.text.language import HAN_CHARACTER
from retrieval.values import Query, StoredChunk

MAX_QUERY_CHARS = 4_000  # what is embedded and analysed of a query; embedding models read no more
MAX_QUERY_TERMS = 96  # BM25's cost grows with every term
CHINESE_NUMBER_WEIGHT = 3  # of a year or an amount in a Chinese query: docs/evaluation.md has the figures
_NOT_SEARCHED = re.compile(rf"[{CONTROL}\ud800-\udfff\ufeff]")


@dataclass(frozen=True, slots=True)
class Variant:
    """A query as the legs are asked: its label in `ranks`, its distinct terms in order."""

    label: str
    query: Query
    terms: tuple[str, ...]

    def weight(self, term: str) -> int:
        """How often BM25 is asked for a term of the query."""
        chinese = bool(HAN_CHARACTER.search(self.query.text))
        return CHINESE_NUMBER_WEIGHT if chinese and term[:1].isdigit() else 1


@dataclass(frozen=True, slots=True)
class VariantGroup:
    """Variants that ask for the same: the first one weighs as much as all others together. A part of a compound
    question is a group of its own."""

    variants: tuple[Variant, ...]

    @property
    def worded(self) -> list[Variant]:
        """Those that take part in text search."""
        return [variant for variant in self.variants if not variant.query.vector_only]

    @property
    def weights(self) -> list[float]:
        """Of the variants in order, together 1."""
        others = len(self.variants) - 1
        return [0.5] + [0.5 / others] * others if others else [1.0]

    @property
    def label(self) -> str:
        """Of the group's list in `ranks`."""
        return "+".join(variant.label for variant in self.worded)

    @property
    def text_weight(self) -> int:
        """What BM25 counts a word that stands in every variant: its scores are this many times a single text's."""
        return sum(self._repeats())

    @property
    def text(self) -> str:
        """All variants' terms, each as often as its variants weigh.

        BM25 adds up over a query's terms, so this one text scores a passage by the weighted sum of what the variants
        would have scored it; Milvus Lite goes through each text of a call by itself, so one is several times cheaper.
        """
        counts: dict[str, int] = {}
        for variant, repeats in zip(self.worded, self._repeats(), strict=True):
            for term in variant.terms:
                counts[term] = counts.get(term, 0) + repeats * variant.weight(term)
        kept = sorted(counts, key=lambda term: -counts[term])[:MAX_QUERY_TERMS]
        return " ".join(term for term in kept for _ in range(counts[term]))

    def _repeats(self) -> list[int]:
        others = len(self.worded) - 1
        return [max(1, others), *[1] * others] if self.worded else []


def group_variants(variants: Sequence[Variant]) -> list[VariantGroup]:
    """Sub-queries stand alone; everything else asks for the same as the first."""
    alike = tuple(variant for variant in variants if variant.query.kind != "sub_query")
    parts = [VariantGroup((variant,)) for variant in variants if variant.query.kind == "sub_query"]
    return [VariantGroup(alike), *parts] if alike else parts


def query_text(text: str) -> str:
    """The text as it is searched for: control characters and runs of white space are one space, the ends are cut."""
    return " ".join(_NOT_SEARCHED.sub(" ", text).split())[:MAX_QUERY_CHARS]


def make_variants(queries: Iterable[Query]) -> list[Variant]:
    """The queries that say something, each once. Raises InvalidQueryError when none does."""
    variants: list[Variant] = []
    seen: set[tuple[str, bool]] = set()
    counts: dict[str, int] = {}
    for query in queries:
        text = query_text(query.text)
        if not text or (text, query.vector_only) in seen:
            continue
        seen.add((text, query.vector_only))
        counts[query.kind] = counts.get(query.kind, 0) + 1
        label = query.kind if counts[query.kind] == 1 else f"{query.kind}{counts[query.kind]}"
        terms = tuple(dict.fromkeys(search_terms(text)))[:MAX_QUERY_TERMS]
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
