"""The query of another search, in place of one whose documents do not serve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import RewriteDetails
from retrieval.engine.providers.reply_form import limited
from retrieval.engine.steps.query.queries import (
    NONE,
    QueryText,
    new_query,
    no_queries,
)
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import label, one_line
from retrieval.engine.trace import note
from retrieval.engine.values import Query, Question, ScoredChunk

MAX_FAILED = 5  # documents that the model is shown
FAILED_CHARS = 160  # of each one's text
REASON_CHARS = 300
MAX_KEYWORDS = 8


class RewrittenQuery(BaseModel):
    rewrite_reason: Annotated[str, limited(maxLength=160)] = ""
    rewritten_query: QueryText
    keywords: Annotated[
        list[Annotated[str, limited(minLength=1, maxLength=40)]],
        limited(minItems=1, maxItems=6),
    ] = []


@step("rewrite", fallback=no_queries, optional=True)
async def rewrite_to_retry(
    deps: Deps,
    question: Question,
    *,
    tried: Sequence[str],
    failed: Sequence[tuple[ScoredChunk, str]],
) -> tuple[Query, ...]:
    """One query in place of the last one. tried: the question, then its rewrites. failed: documents that do not serve,
    and why."""
    await deps.trace.announce("rewrite", tried[-1])
    attempts = [f"{number}. {one_line(text)}" for number, text in enumerate(tried[1:], start=1)]
    reply = await deps.complete(
        "retry_rewrite",
        RewrittenQuery,
        passages=_quote_failed(failed),
        attempts="\n".join(attempts) or NONE,
        query=one_line(tried[-1]),
        question=one_line(question.standalone),
    )
    query = new_query(reply.rewritten_query, tried)
    keywords = dict.fromkeys(filter(None, map(one_line, reply.keywords)))
    details = RewriteDetails(
        original=tried[-1],
        rewritten=query,
        rewrite_reason=one_line(reply.rewrite_reason)[:REASON_CHARS],
        keywords=tuple(keywords)[:MAX_KEYWORDS],
        attempt=len(tried),
        queries=(query,),
    )
    note("rewritten", details)
    return (Query(query, kind="rewrite"),)


def _quote_failed(failed: Sequence[tuple[ScoredChunk, str]]) -> str:
    lines: list[str] = []
    for number, (document, reason) in enumerate(failed[:MAX_FAILED], start=1):
        excerpt = one_line(document.chunk.text)[:FAILED_CHARS]
        line = f"[{number}] {label(document.chunk)}: {excerpt}"
        if reason:
            line += f" (rejected: {one_line(reason)})"
        lines.append(line)
    return "\n".join(lines) or NONE
