"""Queries: what all steps that look for other words share. A query that was tried never comes back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelOutputError
from retrieval.engine.path_details import QueriesDetails
from retrieval.engine.providers.reply_form import limited
from retrieval.engine.text.quoting import one_line
from retrieval.engine.trace import note
from retrieval.engine.values import Query, QueryKind, Question

VARIANTS = 3  # wordings that come with a strategy (`dual_loop`)
QUERY_CHARS = 500
NONE = "-"
QueryText = Annotated[str, limited(minLength=3, maxLength=200)]
LongText = Annotated[str, limited(minLength=3, maxLength=400)]


class ClearQuery(BaseModel):
    query: QueryText


def initial_queries(question: Question) -> tuple[Query, ...]:
    """What is searched for before a model has made anything of the question: its words, and in a conversation also
    together with those of the question before. Reciprocal rank puts first what both find."""
    asked = Query(question.standalone)
    if not question.previous_question:
        return (asked,)
    before = " ".join(question.previous_question.split())
    together = Query(f"{before} {question.text.strip()}", kind="condensed")
    return (asked, together)


def no_queries(deps: Deps, question: Question, **_: object) -> tuple[Query, ...]:
    """Without a model: no rule knows other words."""
    note("no_other_words", QueriesDetails(queries=()))
    return ()


def distinct(texts: Iterable[str], *, tried: Iterable[str] = ()) -> list[str]:
    """Cleaned texts in order, each once, without empty ones and without those that were searched for before."""
    seen = {_folded(text) for text in tried} | {""}
    distinct_texts: list[str] = []
    for text in texts:
        text = one_line(text)[:QUERY_CHARS]
        if (folded := _folded(text)) not in seen:
            seen.add(folded)
            distinct_texts.append(text)
    return distinct_texts


def _folded(text: str) -> str:
    """Two queries with the same words in the same order are one."""
    words = "".join(char if char.isalnum() else " " for char in text.casefold())
    return " ".join(words.split())


def new_query(text: str, tried: Sequence[str]) -> str:
    """Raises ModelOutputError for a query that was tried before, or says nothing."""
    if fresh := distinct([text], tried=tried):
        return fresh[0]
    raise ModelOutputError("query_tried_before")


def noted_queries(
    texts: Sequence[str],
    kind: QueryKind = "rewrite",
    *,
    tried: Sequence[str] | None = None,
    missing: str | None = None,
) -> tuple[Query, ...]:
    """The texts as queries, and in the running step's entry. tried, missing: see `QueriesDetails`."""
    code = "queries_made" if texts else "no_other_words"
    before = None if tried is None else tuple(tried)
    note(code, QueriesDetails(queries=tuple(texts), tried=before, missing=missing))
    return tuple(Query(text, kind=kind) for text in texts)


def distinct_queries(queries: tuple[Query, ...]) -> tuple[Query, ...]:
    """Each text once; the first one with it stays."""
    by_text: dict[str, Query] = {}
    for query in queries:
        by_text.setdefault(" ".join(query.text.casefold().split()), query)
    return tuple(by_text.values())
