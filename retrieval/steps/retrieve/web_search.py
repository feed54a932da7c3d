"""Web search: what the documents don't hold, from the search engine that the operator has configured.

Only where one is configured and the request (or the site's default) wants it. What goes out are words of the user's
own messages, never what documents, answers or memories hold: `is_the_users` guards that. What comes back are titles and
snippets: passages of their own kind, with link and date, which no filter and no rating applies to.
Source: seed 002 §3.3.3 (rewrite for the web: filler removed; topic, aspect, qualifier) and §3.3.4; Yan et al., 2024,
arXiv:2401.15884 (web search as the corrective action).
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragsite.core.wording import counted, worded
from retrieval.errors import WebSearchError
from retrieval.ports import SearchResult, WebResult, WebSearcher
from retrieval.providers import web_search
from retrieval.steps.query.condense import condense_without_model
from retrieval.steps.query.wording import without_filler
from retrieval.steps.schemas import WebQuery
from retrieval.steps.step import Asked, Step
from retrieval.steps.toolbox import Toolbox
from retrieval.text.quoting import one_line
from retrieval.text.term_coverage import strong_terms, terms_of
from retrieval.trace import StepRecord
from retrieval.values import Question, ScoredChunk, StoredChunk

MAX_RESULTS = 5  # taken from one search
PROMPT = "web_query"  # its file in retrieval/prompts

QUERY_CHARS = 200
MIN_LEFT = 2  # words or Chinese characters that must be left when function words go
LEG = "web"
# Words that carry a question and mean nothing to a search engine; prepositions stay: "out of range".
_FUNCTION_WORDS = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how|is|are|am|was|were|be|do|does|did|can|could|would|should|shall"
    r"|will|may|might|must|have|has|had|i|me|my|mine|we|us|our|ours|you|your|a|an|the|there|keeps?|giving|getting"
    r"|gets?|help|know|figure)\b(?:['’](?:s|re|m|d|ll|ve))?"
    r"|(?:是什么|是什麼|是多少|有哪些|有什么|有什麼|为什么|為什麼|为何|為何|什么是|什麼是|怎么样|怎麼樣|怎么|怎麼"
    r"|(?:帮|幫)(?:我|忙)(?:找|查)?|关于|關於|的(?:资料|資料|东西|東西)$|我们|我們|我的|我|你|您|吗|嗎|呢|啊|吧|请|請)",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[?!？！。，、；：“”\"‘()（）]|(?<=\w)[.,;:](?=\s|$)")


def may_search_web(question: Question, tools: Toolbox) -> bool:
    """Configured, and wanted: by the request, or by the site's default where the request does not say."""
    asked = question.options.web_search
    wanted = tools.settings.web_search.by_default if asked is None else asked
    return wanted and tools.web is not None


def is_the_users(text: str, question: Question) -> bool:
    """Whether every content word of a text stands in what the user has written in this conversation."""
    opened = [question.open_clarification.question] if question.open_clarification else []
    earlier = [message.text for message in question.history if message.role == "user"]
    own = terms_of("\n".join([question.text, *opened, *earlier]))
    return bool(text) and all(term in own for term in strong_terms(text))


@dataclass(frozen=True, slots=True)
class WebQuestion:
    """`use_model=False`: no model round is left for the query's words, so rules make them."""

    asked: Asked
    use_model: bool = True


class WebSearch(Step[WebQuestion, SearchResult]):
    """Web results as candidates, best first, without scores: they are still to be judged.

    Where the self-contained question holds words that are not the user's (a model may have taken them from an answer),
    the question as rules complete it serves instead. Never raises for a search engine that fails: `degraded` then says
    why nothing could be looked up. Not configured or not wanted: no candidates, and a skipped entry in the path.
    """

    name = "web_search"
    optional = True  # the model's wording of the query, for which there are rules

    async def act(self, given: WebQuestion, entry: StepRecord) -> SearchResult:
        web, question, text = self.tools.web, given.asked.question, given.asked.text
        if web is None or not may_search_web(question, self.tools):
            entry.skip(worded("not asked for") if web else worded("no web search is configured"))
            return SearchResult()
        if not await asyncio.to_thread(is_the_users, text, question):
            text = await asyncio.to_thread(condense_without_model, question)
            entry.detail["own_words_only"] = True
        reply = await self.attempt(entry, self._ask_model(text), fallback=str) if given.use_model else ""
        query = one_line(reply).strip("\"'“”")[:QUERY_CHARS].strip() or web_query_without_model(text)
        entry.detail |= {"query": query, "engine": web.name}
        result = await self._look_up(web, query, entry)
        await self.run.trace.sink.tool_called("web_search", f"{web.name}: {query}", entry)
        return result

    async def _ask_model(self, text: str) -> str:
        return (await self.complete(PROMPT, WebQuery, question=one_line(text))).query

    async def _look_up(self, web: WebSearcher, query: str, entry: StepRecord) -> SearchResult:
        limit_s = self.run.deadline.limit(web_search.TIMEOUT_S)
        try:
            async with asyncio.timeout(limit_s):
                results = await web.search(query, limit=MAX_RESULTS)
        except WebSearchError as error:
            return could_not_look(entry, error.reason)
        except TimeoutError:
            return could_not_look(entry, worded("no result within {limit_s:.1f} s", limit_s=limit_s))
        entry.detail["results"] = [
            {"title": result.title, "url": result.url, "published": result.published} for result in results
        ]
        entry.summary = (
            counted("{query}: {count} result", "{query}: {count} results", len(results), query=query)
            if results
            else worded("{query}: nothing found", query=query)
        )
        return SearchResult(candidates=as_candidates(results))


def could_not_look(step: StepRecord, reason: str) -> SearchResult:
    step.degrade(reason)
    step.summary = worded("the web could not be searched: {reason}", reason=reason)
    return SearchResult(degraded=(reason,))


def as_candidates(results: Sequence[WebResult]) -> tuple[ScoredChunk, ...]:
    """In the engine's order; the id belongs to the address, so the same page has it again the next time."""
    return tuple(ScoredChunk(chunk=as_chunk(result), ranks={LEG: rank}) for rank, result in enumerate(results, start=1))


def as_chunk(result: WebResult) -> StoredChunk:
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


def web_query_without_model(question: str) -> str:
    """Filler and function words removed, the rest in its order; the filler-free question where too little is left."""
    plain = without_filler(question)
    kept = " ".join(_MARKS.sub(" ", _FUNCTION_WORDS.sub(" ", plain)).split())
    enough = len(kept.split()) >= MIN_LEFT or len(re.findall(r"[\u4e00-\u9fff]", kept)) >= MIN_LEFT
    return (kept if enough else " ".join(_MARKS.sub(" ", plain).split()) or plain)[:QUERY_CHARS]
