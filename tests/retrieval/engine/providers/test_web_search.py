"""Against a small HTTP server in the place of SearXNG and of Google."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings

from ragsite.core.rag_settings import RagSettings
from ragsite.core.settings_group import SettingsError
from retrieval.engine.errors import WebSearchError
from retrieval.engine.ports import WebResult, WebSearcher
from retrieval.engine.providers import server as servers
from retrieval.engine.providers import web_search
from retrieval.engine.providers.web_search import make_web_searcher
from tests.search_engine import SearchEngineServer, entry

GOOGLE = {"provider": "google", "google_api_key": "secret-key", "google_cse_id": "engine-id"}


def searcher_of(**fields: str) -> WebSearcher:
    searcher = make_web_searcher(settings.RAG.web_search.replace(**fields))
    assert searcher is not None
    return searcher


def searxng(server: SearchEngineServer) -> WebSearcher:
    return searcher_of(provider=f"searxng={server.url}")


def google(server: SearchEngineServer) -> WebSearcher:
    with patch.multiple(web_search, GOOGLE_URL=f"{server.url}/customsearch/v1"):
        return searcher_of(**GOOGLE)


# ------------------------------------------------------------------------------------------------ configuration


@pytest.mark.parametrize("missing", ["GOOGLE_API_KEY", "GOOGLE_CSE_ID"])
def test_google_without_its_key_is_refused_at_start_by_the_variables_name(missing: str) -> None:
    environ = {"RAG_WEB_SEARCH": "google", "GOOGLE_API_KEY": "k", "GOOGLE_CSE_ID": "c"}
    environ.pop(missing)
    with pytest.raises(SettingsError, match=missing):
        RagSettings.from_env(environ)


@pytest.mark.parametrize("wrong", ["bing", "searxng", "searxng=", "searxng=search.example.org", "searxng=http://",
                                   "searxng=ftp://a.example", "searxng=http://[::1", "searxng=http://a.example:x",
                                   "google=http://a.example"])  # fmt: skip
def test_anything_else_is_refused_at_start(wrong: str) -> None:
    with pytest.raises(SettingsError, match="RAG_WEB_SEARCH"):
        RagSettings.from_env({"RAG_WEB_SEARCH": wrong})


def test_the_name_for_people_never_holds_the_servers_password() -> None:
    searcher = searcher_of(provider="searxng=http://me:pw@127.0.0.1:1")
    assert searcher.name == "SearXNG at 127.0.0.1:1"


# ------------------------------------------------------------------------------------------------ what is found
async def test_searxng_gives_title_link_snippet_and_date(search_engine: SearchEngineServer) -> None:
    search_engine.reply = {
        "results": [entry(1, publishedDate="2024-03-05T10:00:00"), entry(2, publishedDate=None)]
    }
    found = await searxng(search_engine).search("tuition  fees\n2025", limit=5)
    assert found == (
        WebResult(
            title="Page 1",
            url="https://example.org/1",
            snippet="Text of page 1.",
            published="2024-03-05",
        ),
        WebResult(
            title="Page 2", url="https://example.org/2", snippet="Text of page 2.", published=""
        ),
    )
    assert search_engine.queries == [
        ("/search", {"q": "tuition fees 2025", "format": "json", "safesearch": "1"})
    ]


async def test_google_gives_title_link_and_snippet(search_engine: SearchEngineServer) -> None:
    search_engine.reply = {
        "items": [
            {
                "title": "A",
                "link": "https://example.org/a",
                "snippet": "Mar 3, 2024 ... Text of A.",
            },
            {"title": "B", "link": "https://example.org/b", "snippet": "Text of B."},
        ]
    }
    found = await google(search_engine).search("fees", limit=3)
    assert [(one.title, one.snippet) for one in found] == [
        ("A", "Mar 3, 2024 ... Text of A."),
        ("B", "Text of B."),
    ]
    wanted = {"key": "secret-key", "cx": "engine-id", "q": "fees", "num": "10", "safe": "active"}
    assert search_engine.queries == [("/customsearch/v1", wanted)]


async def test_results_are_limited_and_each_page_comes_once(
    search_engine: SearchEngineServer,
) -> None:
    twice = entry(1, url="https://example.org/1#part")
    search_engine.reply = {
        "results": [entry(1), twice, *(entry(number) for number in range(2, 30))]
    }
    found = await searxng(search_engine).search("fees", limit=3)
    assert [one.url for one in found] == [f"https://example.org/{number}" for number in (1, 2, 3)]


async def test_titles_and_snippets_are_plain_text_of_bounded_length(
    search_engine: SearchEngineServer,
) -> None:
    search_engine.reply = {
        "results": [
            entry(
                1, title="<b>Fees</b> &amp; more<script>alert(1)</script>\u202e",
                content="<p>one</p><p onclick=x()>two &lt; three</p>" + "long " * 400,
            )
        ]
    }  # fmt: skip
    with patch.multiple(web_search, SNIPPET_CHARS=100):
        (found,) = await searxng(search_engine).search("fees", limit=5)
    assert found.title == "Fees & more"
    assert found.snippet.startswith("one two < three long")
    assert len(found.snippet) <= 100


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//example.org/x", "example.org", "", None, 7,
     "https://", "https://user:pw@example.org/", "https://exa mple.org/", "https://example.org/\n", "http://[::1",
     "https://example.org/\u202e", "https://example.org/" + "x" * 3000, "https://example.org:99999/"],
)  # fmt: skip
async def test_only_links_that_lead_to_a_web_page_are_kept(
    search_engine: SearchEngineServer, url: Any
) -> None:
    search_engine.reply = {"results": [entry(1, url=url), entry(2)]}
    found = await searxng(search_engine).search("fees", limit=5)
    assert [one.url for one in found] == ["https://example.org/2"]


@pytest.mark.parametrize(
    "odd",
    [
        None,
        "text",
        5,
        [],
        {},
        entry(1, content=None),
        entry(1, content={"a": 1}),
        entry(1, content="<br>"),
    ],
)
async def test_entries_without_a_text_are_left_out(
    search_engine: SearchEngineServer, odd: Any
) -> None:
    search_engine.reply = {"results": [odd, entry(2)]}
    assert len(await searxng(search_engine).search("fees", limit=5)) == 1


# ------------------------------------------------------------------------------------------------ when it fails
@pytest.mark.parametrize(
    ("status", "answer", "headers", "reason"),
    [
        (500, {}, {}, "HTTP 500"),
        (429, {}, {}, "HTTP 429"),
        (403, {}, {}, "json format"),
        (302, {}, {"Location": "http://169.254.169.254/"}, "HTTP 302"),
        (301, {}, {"Location": "/search/"}, "HTTP 301"),
        (200, b"<html>", {}, "could not be read"),
        (200, b"[1]", {}, "could not be read"),
        (200, b"[" * 100_000, {}, "could not be read"),
        (200, b"\xff\xfe\x00", {}, "could not be read"),
        (200, {"results": {"a": 1}}, {}, "could not be read"),
        (200, {}, {}, "could not be read"),
        (200, b" " * 3000, {}, "too large"),
        (200, {"results": [], "unresponsive_engines": [["duckduckgo", "timeout"]]}, {}, "duckduckgo"),
    ],
)  # fmt: skip
async def test_a_bad_answer_says_why_nothing_could_be_looked_up(
    search_engine: SearchEngineServer,
    status: int,
    answer: Any,
    headers: dict[str, str],
    reason: str,
) -> None:
    search_engine.status, search_engine.reply, search_engine.headers = status, answer, headers
    size = 2000 if reason == "too large" else 1_000_000
    with (
        patch.multiple(servers, MAX_ANSWER_BYTES=size),
        pytest.raises(WebSearchError, match=reason),
    ):
        await searxng(search_engine).search("fees", limit=5)
    assert len(search_engine.queries) == 1


@pytest.mark.parametrize("status", [400, 403, 429, 500])
async def test_an_error_of_google_never_tells_the_key(
    search_engine: SearchEngineServer, status: int
) -> None:
    search_engine.status, search_engine.reply = (
        status,
        {"error": {"code": status, "message": "key secret-key"}},
    )
    with pytest.raises(WebSearchError) as caught:
        await google(search_engine).search("fees", limit=5)
    assert "secret-key" not in str(caught.value)


async def test_a_slow_engine_is_given_up(search_engine: SearchEngineServer) -> None:
    search_engine.hangs = True
    with (
        patch.multiple(web_search, TIMEOUT_S=0.1),
        pytest.raises(WebSearchError, match="timed out"),
    ):
        await searxng(search_engine).search("fees", limit=5)


async def test_an_engine_that_keeps_failing_is_left_alone_for_a_while() -> None:
    dead = searcher_of(provider="searxng=http://127.0.0.1:9")
    with patch.multiple(servers, FAILURES=1):
        for reason in ("not reachable", "trying again"):
            with pytest.raises(WebSearchError, match=reason):
                await dead.search("fees", limit=5)
