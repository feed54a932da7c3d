"""Web search: title, link, snippet and date from a search engine that the operator has configured.

    SearXNG                      GET {URL}/search?q=…&format=json     → {"results": [{"title", "url", "content", …}]}
    Google Programmable Search   GET …/customsearch/v1?key=…&cx=…&q=… → {"items": [{"title", "link", "snippet"}]}

Only that server is called, and no link that it gives is ever opened. What it says is cut to size and stripped of markup
here, and is data from then on.
Source: seed 002 §3.3.4 (ExternalSearcher: title, link, snippet); docs.searxng.org/dev/search_api;
developers.google.com/custom-search/v1/using_rest.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import httpx
import nh3

from ragsite.core.messages import worded
from ragsite.core.server_settings import WebSearchSettings
from ragsite.core.text import HIDDEN, clean_line, replace_hidden, shortened, strip_invisible
from retrieval.engine.errors import (
    ModelError,
    ModelOutputError,
    ModelUnavailableError,
    WebSearchError,
)
from retrieval.engine.ports import WebResult
from retrieval.engine.providers.server import CircuitBreaker, address_of, request

GOOGLE_URL = "https://www.googleapis.com/customsearch/v1"
GOOGLE_RESULTS = 10  # the most that one call may ask for
# Of one result.
SNIPPET_CHARS = 600
TITLE_CHARS = 200
TIMEOUT_S = 8.0  # one search
AT_ONCE = 4
MAX_QUERY_CHARS = 300  # Google takes 2,048 characters of address; no search needs that many words
MAX_URL_CHARS = 2000
MAX_RAW_CHARS = 20_000  # of one field, before its markup is taken out
_NOT_IN_URLS = re.compile(rf"[\s\\<>\"'`{{}}|^{HIDDEN}]")
_BLOCK = re.compile(r"<(?=/?(?:br|p|div|li|ul|ol|tr|td|h[1-6])\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEngine:
    """One call to one server. Belongs to one event loop. hint: what to look at when it refuses. read: the results in
    its answer."""

    label: str
    hint: str
    url: httpx.URL
    parameters: Mapping[str, str]
    read: Callable[[Any], list[WebResult]]
    breaker: CircuitBreaker = field(default_factory=lambda: CircuitBreaker(limit=AT_ONCE))

    @property
    def name(self) -> str:
        return f"{self.label} at {address_of(self.url)}"

    async def search(self, query: str, *, limit: int) -> tuple[WebResult, ...]:
        """At most `limit` results, best first, each page once. Raises WebSearchError."""
        query = " ".join(query.split())[:MAX_QUERY_CHARS]
        if not query:
            return ()
        url = self.url.copy_merge_params({**self.parameters, "q": query})
        try:
            async with self.breaker.call(wait_s=TIMEOUT_S):
                found = await self._results(url)
        except ModelError as error:
            raise WebSearchError(error.reason) from error
        distinct = {result.url.partition("#")[0].rstrip("/"): result for result in reversed(found)}
        return tuple(result for result in found if result in distinct.values())[:limit]

    async def _results(self, url: httpx.URL) -> list[WebResult]:
        """Raises ModelError; the breaker counts them."""
        status, body = await request("GET", url, limit_s=TIMEOUT_S, label=self.label)
        if status != httpx.codes.OK:
            is_away = (
                status == httpx.codes.TOO_MANY_REQUESTS
                or status >= httpx.codes.INTERNAL_SERVER_ERROR
            )
            reason = worded(
                "{label} answered HTTP {status}{hint}",
                label=self.label,
                status=status,
                hint=self.hint,
            )
            raise (ModelUnavailableError if is_away else ModelOutputError)(reason)
        try:
            return self.read(json.loads(body))
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
            raise ModelOutputError(
                worded("{label} sent something that could not be read", label=self.label)
            ) from error


def make_web_searcher(settings: WebSearchSettings) -> SearchEngine | None:
    """The configured search engine; None where none is. A SearXNG server's `search.formats` must allow json."""
    if settings.provider == "google":
        keys = {"key": settings.google_api_key, "cx": settings.google_cse_id}
        return SearchEngine(
            label="Google search",
            hint=worded(": check GOOGLE_API_KEY and GOOGLE_CSE_ID"),
            url=httpx.URL(GOOGLE_URL),
            parameters={**keys, "num": str(GOOGLE_RESULTS), "safe": "active"},
            read=_google_results,
        )
    if not settings.provider:
        return None
    url = httpx.URL(settings.provider.removeprefix("searxng="))
    path = url.path.rstrip("/").removesuffix("/search")
    return SearchEngine(
        label="SearXNG",
        hint=worded(": is the json format allowed in its settings.yml?"),
        url=url.copy_with(path=f"{path}/search"),
        parameters={"format": "json", "safesearch": "1"},
        read=_searxng_results,
    )


def _searxng_results(answer: Any) -> list[WebResult]:
    if not answer["results"] and (engines := answer.get("unresponsive_engines")):
        names = ", ".join(str(engine[0])[:30] for engine in engines[:3])
        reason = worded("the engines behind SearXNG did not answer: {engines}", engines=names)
        raise ModelUnavailableError(reason)
    return _made(answer["results"], url="url", snippet="content")


def _google_results(answer: Any) -> list[WebResult]:
    return _made(
        answer.get("items", []), url="link", snippet="snippet"
    )  # left out where nothing was found


def _made(entries: Any, *, url: str, snippet: str) -> list[WebResult]:
    """url, snippet: under which names they stand."""
    found = [entry for entry in entries[:] if isinstance(entry, Mapping)]
    made = [
        make_result(e.get(url), e.get("title"), e.get(snippet), e.get("publishedDate"))
        for e in found
    ]
    return [result for result in made if result]


def make_result(
    url: object, title: object, snippet: object, published: object = None
) -> WebResult | None:
    """None where there is nothing to show, or no web page of a named host that a browser opens without credentials."""
    text = plain_text(snippet, SNIPPET_CHARS)
    if not isinstance(url, str) or not text or len(url) > MAX_URL_CHARS or _NOT_IN_URLS.search(url):
        return None
    try:
        parts = urlsplit(url)
        is_page = parts.scheme in ("http", "https") and parts.username is None and parts.port != 0
    except ValueError:
        return None
    if not is_page or not parts.hostname:
        return None
    title = plain_text(title, TITLE_CHARS) or parts.hostname.removeprefix("www.")
    return WebResult(title=title, url=url, snippet=text, published=read_date(published))


def plain_text(value: object, most: int) -> str:
    """The text on one line without markup, entities resolved, cut at `most` characters."""
    if not isinstance(value, str):
        return ""
    apart = _BLOCK.sub(" <", value[:MAX_RAW_CHARS])  # a line break is a space, not nothing
    text = html.unescape(nh3.clean(apart, tags=set(), clean_content_tags={"script", "style"}))
    return shortened(clean_line(replace_hidden(strip_invisible(text), by=" ")), most)


def read_date(value: object) -> str:
    """YYYY-MM-DD of an ISO 8601 date or time; empty where it is none."""
    try:
        return (
            datetime.fromisoformat(value.strip()).date().isoformat()
            if isinstance(value, str)
            else ""
        )
    except ValueError:
        return ""
