"""Web pages: those of a sitemap, or those that a page leads to on its own host and below its own path.

robots.txt is followed, number and depth are bounded, and of HTML the main text alone is taken (trafilatura).
"""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

from lxml import etree

from ragsite.core.errors import AppError, TooLargeError, UnsupportedFileError
from ragsite.core.messages import worded
from ragsite.core.outgoing import AGENT, OutgoingResponse, fetch
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.markup.trees import html_tree
from retrieval.knowledge.ingest.sniff import EXTENSIONS
from retrieval.knowledge.sync.source import (
    TOO_LARGE,
    Frontier,
    ListingCutError,
    SourceAwayError,
    SourceEntry,
    SourceReader,
    check_installed,
)

# Where nothing is chosen.
DEPTH = 1
MOST_PAGES = 200
PAGE_BYTES = 20 * 1024 * 1024
SITEMAP_BYTES = 10 * 1024 * 1024
ROBOTS_BYTES = 512 * 1024
MOST_SITEMAPS = 50
MOST_DELAY_S = 5.0  # between pages, of what robots.txt asks for
GONE = (404, 410)
NO_TEXT = worded("No text was found on this page.")
HTML = ("text/html", "application/xhtml+xml")


@dataclass(slots=True)
class WebSource(SourceReader):
    robots: RobotFileParser = field(default_factory=RobotFileParser)

    def entries(self, known: Mapping[str, str]) -> Iterator[SourceEntry]:
        check_installed("trafilatura")
        self._read_robots()
        is_sitemap = urlsplit(self.address).path.endswith((".xml", ".xml.gz"))
        yield from self._of_sitemap(known) if is_sitemap else self._of_links(known)

    def read(self, entry: SourceEntry, most_bytes: int) -> bytes:
        if entry.content is None:
            raise SourceAwayError
        if len(entry.content) > most_bytes:
            raise TooLargeError(TOO_LARGE)
        return entry.content

    # -------------------------------------------------------------------------------------------- which pages
    def _of_sitemap(self, known: Mapping[str, str]) -> Iterator[SourceEntry]:
        for count, (url, modified) in enumerate(self._locations()):
            if count >= self._most():
                raise ListingCutError(self._too_many())
            if not (modified and known.get(url) == modified):
                entry, _ = self._page(url, known, fingerprint=modified)
                if entry:
                    yield entry
            else:
                yield SourceEntry(url, modified, _name(url))

    def _locations(self) -> Iterator[tuple[str, str]]:
        """Addresses on the sitemap's own host, with the day of their last change."""
        sitemaps = Frontier(self.address, most=MOST_SITEMAPS)
        for sitemap in sitemaps:
            answer = fetch(
                self.pools,
                "GET",
                sitemap,
                most_bytes=SITEMAP_BYTES,
                headers=self.basic_auth(sitemap),
            )
            if answer.status >= 300:
                raise SourceAwayError(
                    worded("The source answers with status {status}.", status=answer.status)
                )
            body = answer.body
            is_cut = answer.is_cut
            if body[:2] == b"\x1f\x8b":
                unpacking = zlib.decompressobj(wbits=31)
                body = unpacking.decompress(body, SITEMAP_BYTES)
                is_cut = bool(unpacking.unconsumed_tail)
            kind = ""
            parser: Any = etree.XMLPullParser(
                ("end",), recover=True, resolve_entities=False, no_network=True
            )
            for start in range(0, len(body), 65536):
                parser.feed(body[start : start + 65536])
                for _, element in parser.read_events():
                    kind = etree.QName(element).localname
                    if kind not in ("url", "sitemap"):
                        continue
                    url = _joined(self.address, element.findtext("{*}loc", "").strip())
                    modified = element.findtext("{*}lastmod", "").strip()[:200]
                    element.clear()
                    while element.getprevious() is not None:
                        del element.getparent()[0]
                    if url and urlsplit(url).netloc == urlsplit(self.address).netloc:
                        if kind == "sitemap":
                            sitemaps.add(url)
                        else:
                            yield url, modified
            if is_cut:
                raise ListingCutError
            if kind not in (
                "urlset",
                "sitemapindex",
            ):  # its last end: else the rest of it did not come
                raise SourceAwayError(worded("This is no sitemap, or not a whole one."))

    def _of_links(self, known: Mapping[str, str]) -> Iterator[SourceEntry]:
        depth = int(self.options.get("depth", DEPTH))
        start = urldefrag(self.address)[0]
        below = (
            start
            if start.endswith("/")
            else f"{start.rpartition('/')[0] if urlsplit(start).path else start}/"
        )
        pages = Frontier((start, 0), most=self._most(), too_many=self._too_many())
        is_whole = True
        for url, far in pages:
            entry, links = self._page(url, known, follow=far < depth)
            if url == start and (entry is None or entry.problem):
                raise SourceAwayError(entry.problem.message if entry and entry.problem else None)
            if entry:
                yield entry
            if links is None and far < depth:
                is_whole = False
            for link in links or ():
                if link != start and link.startswith(below):
                    pages.add((link, far + 1), key=link)
        if not is_whole:
            raise ListingCutError(
                worded("A page that leads to others could not be read. Nothing was deleted.")
            )

    def _most(self) -> int:
        return int(self.options.get("most_pages", MOST_PAGES))

    def _too_many(self) -> str:
        return worded(
            "There are more pages than the {most} that this source may read.", most=self._most()
        )

    # -------------------------------------------------------------------------------------------- a page
    def _page(
        self, url: str, known: Mapping[str, str], *, fingerprint: str = "", follow: bool = False
    ) -> tuple[SourceEntry | None, list[str] | None]:
        """No entry where it is gone or robots.txt forbids it, None for links that can't be known. follow: the links are
        wanted, so the whole page is."""
        if not self.robots.can_fetch(AGENT, url):
            return None, []
        time.sleep(min(float(self.robots.crawl_delay(AGENT) or 0), MOST_DELAY_S))
        headers = self.basic_auth(url)
        if (tag := known.get(url, "")).startswith(('"', 'W/"')) and not follow:
            headers["If-None-Match"] = tag
        try:
            answer = fetch(self.pools, "GET", url, most_bytes=PAGE_BYTES, headers=headers)
            if answer.status == 304:
                return SourceEntry(url, tag, _name(url)), []
            if answer.status in GONE:
                return None, []
            if answer.status >= 300:
                raise SourceAwayError(
                    worded("The source answers with status {status}.", status=answer.status)
                )
            if answer.is_cut:
                raise TooLargeError(TOO_LARGE)
        except AppError as error:
            return SourceEntry(url, known.get(url, ""), _name(url), problem=error), None
        return self._read_page(url, answer, fingerprint, follow)

    def _read_page(
        self, url: str, answer: OutgoingResponse, fingerprint: str, follow: bool
    ) -> tuple[SourceEntry, list[str] | None]:
        tag = fingerprint or answer.headers.get("etag", "")[:200]
        if answer.headers.get("content-type", "").partition(";")[0].strip().lower() not in HTML:
            return SourceEntry(
                url, tag or _digest(answer.body), _name(url, ""), len(answer.body), answer.body
            ), []
        links: list[str] = []
        try:
            root = html_tree(answer.body)
        except DocumentUnreadableError as error:
            return SourceEntry(url, tag, _name(url), problem=error), None
        if follow:
            links = [
                _joined(answer.url, link.get("href", "")) for link in root.iterfind(".//a[@href]")
            ]
        content = _main_text(root, root.findtext(".//title") or "")
        problem = None if content else UnsupportedFileError(NO_TEXT)
        return SourceEntry(
            url, tag or _digest(content), _name(url), len(content), content, problem
        ), links

    def _read_robots(self) -> None:
        """RFC 9309: without one everything is allowed; while it can't be read, nothing."""
        answer = fetch(
            self.pools, "GET", urljoin(self.address, "/robots.txt"), most_bytes=ROBOTS_BYTES
        )
        if answer.status >= 500:
            raise SourceAwayError(worded("robots.txt of this host cannot be read."))
        text = answer.body.decode("utf-8", "replace") if answer.status < 300 else ""
        self.robots.parse(text.splitlines())


def _main_text(page: Any, title: str) -> bytes:
    """As Markdown, without menus and the like; empty where there is none."""
    import trafilatura

    text = (
        trafilatura.extract(
            page, output_format="markdown", include_tables=True, include_comments=False
        )
        or ""
    )
    heading = " ".join(title.split())
    return (
        f"# {heading}\n\n{text}" if text and heading and not text.startswith("# ") else text
    ).encode()


def _joined(base: str, link: str) -> str:
    """Without a fragment; "" for what is no address."""
    try:
        return urldefrag(urljoin(base, link))[0]
    except ValueError:
        return ""


def _name(url: str, suffix: str = ".md") -> str:
    """A file's name for it. suffix: of pages, whatever their address ends with."""
    parts = urlsplit(url)
    path = PurePosixPath(unquote(parts.path))
    stem = (
        path.stem if path.suffix.lower() in (*EXTENSIONS, ".php", ".aspx") else path.name
    ) or parts.netloc
    return f"{stem}{suffix}" if suffix else path.name


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
