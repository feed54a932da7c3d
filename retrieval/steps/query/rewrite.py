"""Rewrite: other words for a search, at four moments.

`rewrite`: variants beside the user's own words. `rewrite_to_concepts`: key concepts in place of a short or chatty
message (seed 004, tool 1). `rewrite_to_retry`: another query after one that found too little (seed 000, node 3).
`rewrite_to_correct`: others after an answer was rejected (seed 001). A query that was tried never comes back.
Source: Ma et al., EMNLP 2023.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from retrieval.errors import ModelOutputError
from retrieval.steps.deps import Deps
from retrieval.steps.schemas import ClearQuery, RewrittenQueries, RewrittenQuery, exactly
from retrieval.steps.step import step
from retrieval.text.quoting import label, neutralise, one_line, quote_history
from retrieval.trace import note, skip
from retrieval.values import Query, Question, ScoredChunk

VARIANTS = 3  # wordings asked for
QUERY_CHARS = 500
NONE = "-"
MAX_FAILED = 5  # documents that the model is shown
FAILED_CHARS = 160  # of each one's text
ANSWER_CHARS = 1200
REASON_CHARS = 300
MAX_KEYWORDS = 8


def no_queries(deps: Deps, question: Question, **given: object) -> tuple[Query, ...]:
    """Without a model: no rule knows other words."""
    note("no_other_words", queries=[])
    return ()


def rewriting_is_on(deps: Deps, question: Question) -> bool:
    asked = question.options.rewrite
    return deps.settings.rewrite.enabled if asked is None else asked


@step("rewrite", fallback=no_queries, optional=True)
async def rewrite(deps: Deps, question: Question) -> tuple[Query, ...]:
    """Variants of the question, and its parts where it asks several things."""
    if not rewriting_is_on(deps, question):
        skip("switched_off")
        return ()
    reply = await deps.complete(
        "rewrite",
        exactly(RewrittenQueries, "queries", VARIANTS),
        history=quote_history(question.history),
        question=question.standalone,
        variants=VARIANTS,
    )
    return _noted(distinct(reply.queries, tried=[question.standalone]))


@step("rewrite", fallback=no_queries, optional=True)
async def rewrite_to_concepts(
    deps: Deps, question: Question, *, tried: Sequence[str] = (), missing: str = ""
) -> tuple[Query, ...]:
    """One query of key concepts, in the message's own language. missing: what the passages lacked so far."""
    reply = await deps.complete(
        "query_rewriter",
        ClearQuery,
        history=quote_history(question.history),
        tried="; ".join(map(one_line, tried)) or NONE,
        missing=one_line(missing) or NONE,
        question=one_line(question.text),
    )
    queries = _noted([_new(reply.query, tried)], tried=list(tried), missing=missing)
    await deps.trace.announce("query_rewriter", f"“{question.text}” → “{queries[0].text}”")
    return queries


@step("rewrite", fallback=no_queries, optional=True)
async def rewrite_to_retry(
    deps: Deps, question: Question, *, tried: Sequence[str], failed: Sequence[tuple[ScoredChunk, str]]
) -> tuple[Query, ...]:
    """One query in place of the last one. tried: the question, then its rewrites. failed: documents that do not serve,
    and why."""
    await deps.trace.announce("rewrite", tried[-1])
    attempts = (f"{number}. {one_line(text)}" for number, text in enumerate(tried[1:], start=1))
    reply = await deps.complete(
        "retry_rewrite",
        RewrittenQuery,
        passages=_quote_failed(failed),
        attempts="\n".join(attempts) or NONE,
        query=one_line(tried[-1]),
        question=one_line(question.standalone),
    )
    query = _new(reply.rewritten_query, tried)
    keywords = dict.fromkeys(filter(None, map(one_line, reply.keywords)))
    note(
        "rewritten",
        original=tried[-1],
        rewritten=query,
        rewrite_reason=one_line(reply.rewrite_reason)[:REASON_CHARS],
        keywords=list(keywords)[:MAX_KEYWORDS],
        attempt=len(tried),
        queries=[query],
    )
    return (Query(query, kind="rewrite"),)


@step("rewrite", fallback=no_queries, optional=True)
async def rewrite_to_correct(
    deps: Deps, question: Question, *, tried: Sequence[str], missing: str, answer: str
) -> tuple[Query, ...]:
    """Queries that look for what a rejected answer lacked."""
    reply = await deps.complete(
        "corrective_rewrite",
        exactly(RewrittenQueries, "queries", VARIANTS),
        answer=neutralise(answer)[:ANSWER_CHARS],
        missing=one_line(missing) or NONE,
        tried="; ".join(map(one_line, tried)),
        variants=VARIANTS,
        question=one_line(question.standalone),
    )
    return _noted(distinct(reply.queries, tried=tried), missing=missing, corrective=True)


def distinct(texts: Iterable[str], *, tried: Iterable[str] = ()) -> list[str]:
    """Cleaned texts in order, each once, without empty ones and without those that were searched for before."""
    seen = {_folded(text) for text in tried} | {""}
    kept: list[str] = []
    for text in texts:
        text = one_line(text)[:QUERY_CHARS]
        if (folded := _folded(text)) not in seen:
            seen.add(folded)
            kept.append(text)
    return kept


def _folded(text: str) -> str:
    """Two queries with the same words in the same order are one."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())


def _new(text: str, tried: Sequence[str]) -> str:
    """Raises ModelOutputError for a query that was tried before, or says nothing."""
    if fresh := distinct([text], tried=tried):
        return fresh[0]
    raise ModelOutputError("query_tried_before")


def _noted(texts: Sequence[str], **detail: object) -> tuple[Query, ...]:
    texts = texts[:VARIANTS]
    note("queries_made" if texts else "no_other_words", queries=list(texts), **detail)
    return tuple(Query(text, kind="rewrite") for text in texts)


def _quote_failed(failed: Sequence[tuple[ScoredChunk, str]]) -> str:
    lines = [
        f"[{number}] {label(document.chunk)}: {one_line(document.chunk.text)[:FAILED_CHARS]}"
        + (f" (rejected: {one_line(reason)})" if reason else "")
        for number, (document, reason) in enumerate(failed[:MAX_FAILED], start=1)
    ]
    return "\n".join(lines) or NONE
