"""What a search is asked for: groups of queries, each with a text for BM25 and a vector of its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragsite.core.text import CONTROL
from retrieval.errors import InvalidQueryError
from retrieval.ports import Vectors
from retrieval.text.analysis import analyze, search_terms
from retrieval.text.language import HAN_CHARACTER
from retrieval.values import Query, StoredChunk

MAX_QUERY_CHARS = 4_000  # what is embedded and analysed of a query; embedding models read no more
MAX_QUERY_TERMS = 96  # BM25's cost grows with every term
CHINESE_NUMBER_WEIGHT = 3  # of a year or an amount in a Chinese query: docs/evaluation.md has the figures
_NOT_SEARCHED = re.compile(rf"[{CONTROL}\ud800-\udfff\ufeff]")


@dataclass(frozen=True, slots=True)
class QueryGroup:
    """Queries that ask for the same thing and are searched as one: the first weighs as much as all others together.

    label: the first one's kind, in `ranks`. A part of a compound question is a group of its own.
    """

    label: str
    queries: tuple[Query, ...]

    @property
    def terms(self) -> tuple[str, ...]:
        """The distinct terms of the first query, in order."""
        return _terms(self.queries[0])

    @property
    def text(self) -> str:
        """The terms of all queries but imagined answers, each as often as its queries weigh.

        BM25 adds up over a query's terms, so this text scores a chunk by the weighted sum of what the queries would
        have scored it; Milvus Lite goes through each text of a call by itself, so one is several times cheaper.
        """
        weights: Counter[str] = Counter()
        for query, repeats in self._worded():
            for term in _terms(query):
                weights[term] += repeats * _number_weight(query, term)
        return " ".join(term for term, count in weights.most_common(MAX_QUERY_TERMS) for _ in range(count))

    @property
    def text_weight(self) -> int:
        """How often the text holds a term of every query: BM25's scores are this many times those of one query."""
        return sum(repeats for _, repeats in self._worded()) or 1

    def vector(self, vectors: Vectors) -> Vectors:
        """The weighted mean of the queries' vectors, shape (1, dim); `vectors`: theirs, in order.

        Source for imagined answers: Gao et al., ACL 2023 (HyDE), which takes the mean with the question as well.
        """
        others = len(self.queries) - 1
        weights = [0.5, *[0.5 / others] * others] if others else [1.0]
        return np.asarray(np.average(vectors, axis=0, weights=weights), dtype=np.float32)[np.newaxis]

    def _worded(self) -> list[tuple[Query, int]]:
        queries = [query for query in self.queries if not query.vector_only]
        return [(query, max(1, len(queries) - 1) if at == 0 else 1) for at, query in enumerate(queries)]


def query_groups(queries: Iterable[Query]) -> list[QueryGroup]:
    """What asks for the same as the first query, then each part of the question. Queries that say nothing, or the same
    again, are left out. Raises InvalidQueryError when none is left."""
    texts = (replace(query, text=query_text(query.text)) for query in queries)
    distinct = list({(query.text, query.vector_only): query for query in texts if query.text}.values())
    if not distinct:
        raise InvalidQueryError()
    alike = tuple(query for query in distinct if query.kind != "sub_query")
    parts = [query for query in distinct if query.kind == "sub_query"]
    groups = [QueryGroup(alike[0].kind, alike)] if alike else []
    return groups + [
        QueryGroup("sub_query" if number == 1 else f"sub_query{number}", (query,))
        for number, query in enumerate(parts, start=1)
    ]


def query_text(text: str) -> str:
    """The text as it is searched for: control characters and runs of white space are one space, the ends are cut."""
    return " ".join(_NOT_SEARCHED.sub(" ", text).split())[:MAX_QUERY_CHARS]


def term_shares(terms: Sequence[str], chunks: Iterable[StoredChunk]) -> dict[str, float]:
    """By chunk, which share of the terms its title, heading and text hold, 0..1."""
    wanted = set(terms)
    return {
        chunk.chunk_id: len(wanted & set(analyze(f"{chunk.title}\n{chunk.heading}\n{chunk.text}"))) / len(wanted)
        for chunk in chunks
    }


def _terms(query: Query) -> tuple[str, ...]:
    return tuple(dict.fromkeys(search_terms(query.text)))[:MAX_QUERY_TERMS]


def _number_weight(query: Query, term: str) -> int:
    return CHINESE_NUMBER_WEIGHT if term[:1].isdigit() and HAN_CHARACTER.search(query.text) else 1
