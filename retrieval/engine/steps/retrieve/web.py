"""Web search: pages beside the documents, where a search engine is configured and the request, or the site's default,
wants it.

What goes out are words of the user's own messages, never what documents, answers or memories hold: `is_the_users`
guards that. What comes back are titles and snippets: passages of their own kind, with link and date, which no filter
and no rating applies to.
Sources: seed 002 §3.3.3 (rewrite for the web: filler removed; topic, aspect, qualifier) and §3.3.4; Yan et al., 2024,
arXiv:2401.15884 (web search as the corrective action).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.errors import WebSearchError
from retrieval.engine.path_details import FoundPage, WebSearchDetails
from retrieval.engine.ports import SearchResult, WebResult
from retrieval.engine.providers import web_search as engine
from retrieval.engine.providers.reply_form import limited
from retrieval.engine.reasons import reason_of
from retrieval.engine.steps.step import step, try_call
from retrieval.engine.text.analysis import query_terms, terms_of
from retrieval.engine.text.quoting import one_line
from retrieval.engine.trace import degrade, note, skip
from retrieval.engine.values import Question, ScoredChunk, StoredChunk

MAX_RESULTS = 5  # taken from one search
QUERY_CHARS = 200
LEG = "web"


def may_search_web(deps: Deps, question: Question) -> bool:
    """Configured, and wanted: by the request, or by the site's default where the request does not say."""
    if deps.web is None:
        return False
    option = question.options.web_search
    return deps.settings.web_search.by_default if option is None else option


def is_the_users(text: str, question: Question) -> bool:
    """Whether every word of a text stands in what the user has written in this conversation."""
    opened = [question.open_clarification.question] if question.open_clarification else []
    own = terms_of("\n".join([question.text, *opened, *question.earlier_questions()]))
    return bool(text) and all(term in own for term in query_terms(text))


@step("web_search")
async def web_search(
    deps: Deps, question: Question, *, words: str = "", tried: Sequence[str] = ()
) -> SearchResult:
    """Web results as candidates, best first, without scores: they are still to be judged.

    words: to look up in place of the self-contained question; where either holds words that are not the user's (a
    model may have taken them from an answer), the message as it was typed serves instead. tried: queries that are not
    asked again; where no other is left, nothing is searched for. `notes["query"]`: the one that was asked. Never raises
    for a search engine that fails: `degraded` then says why nothing could be looked up. Not configured or not wanted:
    no candidates, and a skipped entry in the path.
    """
    if deps.web is None or not may_search_web(deps, question):
        skip("web_not_wanted" if deps.web else "no_web_search")
        return SearchResult()
    text = words or question.standalone
    if not await asyncio.to_thread(is_the_users, text, question):
        text = question.text
    query = await _query(deps, text, tried)
    if not query:
        skip("no_other_words")
        return SearchResult()
    await deps.trace.announce("web_search", f"{deps.web.name}: {query}")
    limit_s = deps.deadline.limit(engine.TIMEOUT_S)
    try:
        async with asyncio.timeout(limit_s):
            results = await deps.web.search(query, limit=MAX_RESULTS)
    except (WebSearchError, TimeoutError) as error:
        reason = reason_of(error)
        degrade(reason)
        deps.progress.web = deps.progress.web or "web_away"
        note(
            "web_away",
            WebSearchDetails(query=query, engine=deps.web.name),
            reason=reason,
        )
        return SearchResult(degraded=(reason.text,), notes={"query": query})
    deps.progress.web = "web_searched"
    pages = tuple(
        FoundPage(title=page.title, url=page.url, published=page.published) for page in results
    )
    note(
        "web_found",
        WebSearchDetails(query=query, engine=deps.web.name, results=pages, count=len(pages)),
    )
    ranked = enumerate(map(as_chunk, results), start=1)
    candidates = tuple(ScoredChunk(chunk=chunk, ranks={LEG: rank}) for rank, chunk in ranked)
    return SearchResult(candidates=candidates, notes={"query": query})


class WebQuery(BaseModel):
    query: Annotated[str, limited(minLength=3, maxLength=120)]


async def _query(deps: Deps, text: str, tried: Sequence[str]) -> str:
    """The model's words for a search engine, or the text itself; "" where both were tried."""
    call = deps.complete(
        "web_query",
        WebQuery,
        tried="; ".join(map(one_line, tried)) or "-",
        question=one_line(text),
    )
    reply = await try_call(deps, call, optional=True)
    words = one_line(reply.query).strip("\"'“”") if reply else ""
    known = {one.casefold() for one in tried}
    for query in (words, one_line(text)):
        query = query[:QUERY_CHARS].strip()
        if query and query.casefold() not in known:
            return query
    return ""


def as_chunk(result: WebResult) -> StoredChunk:
    """Its id belongs to the address, so the same page has it again the next time."""
    digest = hashlib.sha256(result.url.encode("utf-8", "surrogatepass")).hexdigest()
    return StoredChunk(
        chunk_id=f"web:{digest[:32]}",
        document_id=result.url,
        collection_id="",
        seq=0,
        title=result.title,
        text=result.snippet,
        kind="web",
        url=result.url,
        published=result.published,
    )
