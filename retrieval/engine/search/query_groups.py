"""The queries of a question in groups that are searched as one: one vector and one text each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ragsite.core.search_settings import Legs
from ragsite.core.text import CONTROL, strip_invisible
from retrieval.engine.errors import InvalidQueryError
from retrieval.engine.ports import Vectors
from retrieval.engine.text.analysis import search_terms
from retrieval.engine.text.chinese import held_terms
from retrieval.engine.text.languages import HAN_CHARACTER
from retrieval.engine.values import Query

MAX_QUERY_CHARS = 4_000  # what is embedded and analysed of a query; embedding models read no more
MAX_QUERY_TERMS = 96  # BM25's cost grows with every term
WHOLE_WORD_WEIGHT = (
    3  # of a Chinese word, where one that it holds weighs 1: 加班 finds less than 加班费
)
CHINESE_NUMBER_WEIGHT = (
    3  # of a year or an amount in a Chinese query: docs/evaluation.md has the figures
)
_NOT_SEARCHED = re.compile(rf"[{CONTROL}\ud800-\udfff]")


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
        whole = self._whole_word_weight
        for query, repeats in self._worded():
            terms = _terms(query)
            for term in terms:
                weights[term] += repeats * whole * _number_weight(query, term)
            for term in dict.fromkeys(held_terms(terms)):
                weights[term] += repeats
        return " ".join(
            term for term, count in weights.most_common(MAX_QUERY_TERMS) for _ in range(count)
        )

    @property
    def text_weight(self) -> int:
        """How often the text holds a term of every query: BM25's scores are this many times those of one query."""
        return sum(repeats for _, repeats in self._worded()) * self._whole_word_weight or 1

    @property
    def _whole_word_weight(self) -> int:
        """How often a word stands in the text for each of the shorter words that it holds."""
        holds = any(held_terms(_terms(query)) for query, _ in self._worded())
        return WHOLE_WORD_WEIGHT if holds else 1

    def vector(self, vectors: Vectors) -> Vectors:
        """The weighted mean of the queries' vectors, shape (1, dim); `vectors`: theirs, in order.

        Source for imagined answers: Gao et al., ACL 2023 (HyDE), which takes the mean with the question as well.
        """
        others = len(self.queries) - 1
        weights = [0.5, *[0.5 / others] * others] if others else [1.0]
        return np.asarray(np.average(vectors, axis=0, weights=weights), dtype=np.float32)[
            np.newaxis
        ]

    def _worded(self) -> list[tuple[Query, int]]:
        queries = [query for query in self.queries if not query.vector_only]
        return [
            (query, max(1, len(queries) - 1) if at == 0 else 1) for at, query in enumerate(queries)
        ]


def query_groups(queries: Iterable[Query], legs: Legs = "joined") -> list[QueryGroup]:
    """What asks for the same as the first query, then each part of the question; with legs "rrf" each query by itself.
    Queries that say nothing, or the same again, are left out. Raises InvalidQueryError when none is left."""
    texts = (replace(query, text=query_text(query.text)) for query in queries)
    distinct = list(
        {(query.text, query.vector_only): query for query in texts if query.text}.values()
    )
    if not distinct:
        raise InvalidQueryError()
    alone = [query for query in distinct if query.kind == "sub_query" or legs == "rrf"]
    together = tuple(query for query in distinct if query not in alone)
    groups = [QueryGroup(together[0].kind, together)] if together else []
    counts: Counter[str] = Counter()
    for query in alone:
        counts[query.kind] += 1
        number = counts[query.kind]
        groups.append(QueryGroup(query.kind if number == 1 else f"{query.kind}{number}", (query,)))
    return groups


def query_text(text: str) -> str:
    """The text as it is searched for: without invisible characters; control characters and runs of white space are one
    space, the ends are cut."""
    return " ".join(_NOT_SEARCHED.sub(" ", strip_invisible(text)).split())[:MAX_QUERY_CHARS]


def _terms(query: Query) -> tuple[str, ...]:
    return tuple(dict.fromkeys(search_terms(query.text)))[:MAX_QUERY_TERMS]


def _number_weight(query: Query, term: str) -> int:
    return CHINESE_NUMBER_WEIGHT if term[:1].isdigit() and HAN_CHARACTER.search(query.text) else 1
