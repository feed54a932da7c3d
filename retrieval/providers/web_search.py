"""Web search: title, link, snippet and date from a search engine that the operator has configured.

    SearXNG                      GET {URL}/search?q=…&format=json     → {"results": [{"title", "url", "content", …}]}
    Google Programmable Search   GET …/customsearch/v1?key=…&cx=…&q=… → {"items": [{"title", "link", "snippet", …}]}

Only that server is called: no redirect is followed, no proxy of the environment is used, and no link that it gives is
ever opened. What it says is cut to size and stripped of markup here, and is data from then on.
Source: seed 002 §3.3.4 (ExternalSearcher: title, link, snippet); docs.searxng.org/dev/search_api;
developers.google.com/custom-search/v1/using_rest.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from ragsite.core.rag_settings import WebSearchSettings
from ragsite.core.wording import worded
from retrieval.errors import ModelError, ModelOutputError, ModelUnavailableError, WebSearchError
from retrieval.ports import WebResult, WebSearcher
from retrieval.providers.breaker import CircuitBreaker, Gate
from retrieval.providers.http_service import address_of, bounded, one_call, tls_context
from retrieval.providers.web_results import google_results, searxng_results

GOOGLE_URL = "https://www.googleapis.com/customsearch/v1"  # with google: another address of the same API
SNIPPET_CHARS = 600  # of one result's text
MAX_ANSWER_KIB = 1024  # of the search engine; a longer one is refused
TIMEOUT_S = 8.0  # one search
SAFE_SEARCH = True  # leave out explicit results

AT_ONCE = 4
MAX_QUERY_CHARS = 300  # Google takes 2,048 characters of address; no search needs that many words
GOOGLE_MOST = 10  # results that one call may ask for


def make_web_searcher(settings: WebSearchSettings) -> WebSearcher | None:
    """The configured search engine; None where none is."""
    if settings.provider == "google":
        return GoogleSearcher(settings)
    if settings.provider.startswith("searxng="):
        return SearxngSearcher(settings)
    return None


class SearchEngine:
    """One call to one server. Belongs to one event loop."""

    label = "the search engine"

    def __init__(
        self, settings: WebSearchSettings, url: httpx.URL, *, failures: int = 3, reset_s: float = 20.0
    ) -> None:
        self._settings = settings
        self._url = url
        self._server = address_of(url)
        self._gate = Gate(limit=AT_ONCE, breaker=CircuitBreaker(failures=failures, reset_s=reset_s))

    @property
    def name(self) -> str:
        return f"{self.label} at {self._server}"

    @property
    def is_failing(self) -> bool:
        return self._gate.breaker.state != "closed"

    async def search(self, query: str, *, limit: int) -> tuple[WebResult, ...]:
        """At most `limit` results, best first, each page once. Raises WebSearchError."""
        query = " ".join(query.split())[:MAX_QUERY_CHARS]
        if not query:
            return ()
        try:
            answer = await self._ask(query, limit)
        except ModelError as error:
            raise WebSearchError(error.reason) from error
        return self._results(answer, limit)

    def _parameters(self, query: str, limit: int) -> dict[str, str]:
        raise NotImplementedError

    def _results(self, answer: Mapping[str, Any], limit: int) -> tuple[WebResult, ...]:
        raise NotImplementedError

    async def _ask(self, query: str, limit: int) -> Mapping[str, Any]:
        """The answer's JSON object. Raises ModelError; the gate counts them."""
        async with one_call(self._gate, limit_s=TIMEOUT_S, label=self.label, server=self._server):
            body = await self._get(self._parameters(query, limit))
            return await asyncio.to_thread(read_object, body, self.label)

    async def _get(self, parameters: Mapping[str, str]) -> bytes:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}  # nothing that unpacks to more
        url = self._url.copy_merge_params(parameters)
        async with (
            httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False, verify=await tls_context()) as client,
            client.stream("GET", url, headers=headers, follow_redirects=False) as response,
        ):
            self._check(response)
            return await bounded(response.aiter_raw(), max_bytes=MAX_ANSWER_KIB * 1024, label=self.label)

    def _check(self, response: httpx.Response) -> None:
        status = response.status_code
        if response.is_redirect:
            raise ModelOutputError(worded("{label} answered with a redirect, which is not followed", label=self.label))
        if status == httpx.codes.TOO_MANY_REQUESTS:
            raise ModelUnavailableError(worded("{label} takes no more searches for now (HTTP 429)", label=self.label))
        if status >= httpx.codes.INTERNAL_SERVER_ERROR:
            raise ModelUnavailableError(worded("{label} failed (HTTP {status})", label=self.label, status=status))
        if status != httpx.codes.OK:
            raise ModelOutputError(
                worded(
                    "{label} refused the search (HTTP {status}){hint}",
                    label=self.label,
                    status=status,
                    hint=self._hint(status),
                )
            )
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise ModelOutputError(worded("{label} sent a compressed answer that was not asked for", label=self.label))

    def _hint(self, status: int) -> str:
        return ""


class SearxngSearcher(SearchEngine):
    """A SearXNG server; its `search.formats` must allow json."""

    label = "SearXNG"

    def __init__(self, settings: WebSearchSettings, **breaker: Any) -> None:
        url = httpx.URL(settings.provider.removeprefix("searxng="))
        path = url.path.rstrip("/")
        super().__init__(settings, url if path.endswith("/search") else url.copy_with(path=f"{path}/search"), **breaker)

    def _parameters(self, query: str, limit: int) -> dict[str, str]:
        return {"q": query, "format": "json", "safesearch": "1" if SAFE_SEARCH else "0"}

    def _results(self, answer: Mapping[str, Any], limit: int) -> tuple[WebResult, ...]:
        entries = answer.get("results")
        if not isinstance(entries, list):
            raise WebSearchError(worded("SearXNG sent something that could not be read"))
        if not entries and (engines := unresponsive(answer.get("unresponsive_engines"))):
            raise WebSearchError(worded("the engines behind SearXNG did not answer: {engines}", engines=engines))
        return searxng_results(entries, limit=limit, snippet_chars=SNIPPET_CHARS)

    def _hint(self, status: int) -> str:
        return worded(": allow the json format in its settings.yml") if status == httpx.codes.FORBIDDEN else ""


class GoogleSearcher(SearchEngine):
    """Google Programmable Search: `GOOGLE_API_KEY` and `GOOGLE_CSE_ID`."""

    label = "Google search"

    def __init__(self, settings: WebSearchSettings, **breaker: Any) -> None:
        super().__init__(settings, httpx.URL(GOOGLE_URL), **breaker)

    def _parameters(self, query: str, limit: int) -> dict[str, str]:
        return {
            "key": self._settings.google_api_key,
            "cx": self._settings.google_cse_id,
            "q": query,
            "num": str(min(limit, GOOGLE_MOST)),
            "safe": "active" if SAFE_SEARCH else "off",
        }

    def _results(self, answer: Mapping[str, Any], limit: int) -> tuple[WebResult, ...]:
        entries = answer.get("items", [])  # left out where nothing was found
        if not isinstance(entries, list) or "error" in answer:
            raise WebSearchError(worded("Google search sent something that could not be read"))
        return google_results(entries, limit=limit, snippet_chars=SNIPPET_CHARS)

    def _hint(self, status: int) -> str:
        return worded(": check GOOGLE_API_KEY and GOOGLE_CSE_ID") if status in (400, 401, 403) else ""


def read_object(body: bytes, label: str) -> Mapping[str, Any]:
    """Raises ModelOutputError where it is no JSON object."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ModelOutputError(worded("{label} sent something that could not be read", label=label)) from error
    if not isinstance(answer, dict):
        raise ModelOutputError(worded("{label} sent something that could not be read", label=label))
    return answer


def unresponsive(engines: object) -> str:
    """The names in SearXNG's list of [engine, problem], at most three, for people."""
    named = engines if isinstance(engines, Sequence) and not isinstance(engines, str) else ()
    names = [str(entry[0])[:30] for entry in named if isinstance(entry, list) and entry]
    return ", ".join(names[:3])
