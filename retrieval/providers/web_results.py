"""A search engine's entries as `WebResult`s: plain text of bounded length, http(s) links, dates as YYYY-MM-DD.

Entries come from strangers. A value of the wrong type counts as missing; an entry without a link that a browser may
open, or without a text, is left out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

import nh3

from ragsite.core.text import HIDDEN, clean_line, shortened, without_hidden
from retrieval.ports import WebResult

MAX_URL_CHARS = 2000
TITLE_CHARS = 200
MAX_RAW_CHARS = 20_000  # of one field, before its markup is taken out
_NOT_IN_URLS = re.compile(rf"[\s\\<>\"'`{{}}|^{HIDDEN}]")
_BLOCK = re.compile(r"<(?=/?(?:br|p|div|li|ul|ol|tr|td|h[1-6])\b)", re.IGNORECASE)
_LEADING_DATE = re.compile(r"^([A-Z][a-z]{2} \d{1,2}, \d{4})\s*(?:\.\.\.|…|—|-)\s*")
_DATE_TAGS = ("article:published_time", "article:modified_time", "og:updated_time", "date", "dc.date", "pubdate")


def searxng_results(entries: Iterable[Any], *, limit: int, snippet_chars: int) -> tuple[WebResult, ...]:
    """Of `results`: url, title, content, publishedDate."""

    def read(entry: Mapping[str, Any]) -> WebResult | None:
        return make_result(
            entry.get("url"), entry.get("title"), entry.get("content"), read_date(entry.get("publishedDate")),
            snippet_chars=snippet_chars,
        )  # fmt: skip

    return _distinct(entries, read, limit)


def google_results(entries: Iterable[Any], *, limit: int, snippet_chars: int) -> tuple[WebResult, ...]:
    """Of `items`: link, title, snippet; the date from the page's meta tags or from the head of the snippet."""

    def read(entry: Mapping[str, Any]) -> WebResult | None:
        published, snippet = leading_date(entry.get("snippet"))
        return make_result(
            entry.get("link"), entry.get("title"), snippet, _meta_date(entry.get("pagemap")) or published,
            snippet_chars=snippet_chars,
        )  # fmt: skip

    return _distinct(entries, read, limit)


def make_result(url: object, title: object, snippet: object, published: str, *, snippet_chars: int) -> WebResult | None:
    """None where there is nothing to show or nothing to open."""
    link, text = http_url(url), plain_text(snippet, snippet_chars)
    if not link or not text:
        return None
    return WebResult(title=plain_text(title, TITLE_CHARS) or site_of(link), url=link, snippet=text, published=published)


def http_url(value: object) -> str:
    """The address, if a browser opens it as a web page of a named host without credentials; else nothing."""
    if not isinstance(value, str) or not value or len(value) > MAX_URL_CHARS or _NOT_IN_URLS.search(value):
        return ""
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or port == 0:
        return ""
    return value


def site_of(url: str) -> str:
    """The host of an address, without "www."."""
    return (urlsplit(url).hostname or "").removeprefix("www.")


def plain_text(value: object, most: int) -> str:
    """The text on one line without markup, entities resolved, cut at `most` characters."""
    if not isinstance(value, str):
        return ""
    apart = _BLOCK.sub(" <", value[:MAX_RAW_CHARS])  # a line break is a space, not nothing
    text = html.unescape(nh3.clean(apart, tags=set(), clean_content_tags={"script", "style"}))
    return shortened(clean_line(without_hidden(text, by=" ")), most)  # a title must read as it is


def read_date(value: object) -> str:
    """YYYY-MM-DD of an ISO 8601 date or time; empty where it is none."""
    if not isinstance(value, str):
        return ""
    text = value.strip()
    for candidate in (text, text[:10]):
        try:
            return datetime.fromisoformat(candidate).date().isoformat()
        except ValueError:
            continue
    return ""


def leading_date(snippet: object) -> tuple[str, str]:
    """Google puts a page's date before its snippet: "Mar 3, 2024 ... text"."""
    text = plain_text(snippet, MAX_RAW_CHARS)
    match = _LEADING_DATE.match(text)
    if not match:
        return "", text
    try:
        day: date = datetime.strptime(match[1], "%b %d, %Y").date()
    except ValueError:
        return "", text
    return day.isoformat(), text[match.end() :]


def _meta_date(pagemap: object) -> str:
    tags = pagemap.get("metatags") if isinstance(pagemap, Mapping) else None
    named = tags[0] if isinstance(tags, Sequence) and not isinstance(tags, str) and tags else None
    if not isinstance(named, Mapping):
        return ""
    return next((day for tag in _DATE_TAGS if (day := read_date(named.get(tag)))), "")


def _distinct(
    entries: Iterable[Any], read: Callable[[Mapping[str, Any]], WebResult | None], limit: int
) -> tuple[WebResult, ...]:
    """The first `limit` usable entries, each page once."""
    kept: dict[str, WebResult] = {}
    for entry in entries:
        result = read(entry) if isinstance(entry, Mapping) else None
        if result is not None:
            kept.setdefault(result.url.partition("#")[0].rstrip("/"), result)
        if len(kept) == limit:
            break
    return tuple(kept.values())
