"""A folder of a WebDAV server (Nextcloud, ownCloud, Apache …): PROPFIND folder by folder, as servers refuse more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from urllib.parse import unquote, urljoin, urlsplit

from lxml import etree

from ragsite.core.messages import worded
from retrieval.knowledge.sync.source import (
    Frontier,
    PartAwayError,
    SourceAwayError,
    SourceEntry,
    SourceReader,
    length_of,
)

LISTING_BYTES = 32 * 1024 * 1024  # of one folder
MOST_FOLDERS = 10_000
ASKED = b"""<?xml version="1.0"?><d:propfind xmlns:d="DAV:"><d:prop><d:resourcetype/><d:getetag/><d:getlastmodified/>
<d:getcontentlength/></d:prop></d:propfind>"""


class WebDavSource(SourceReader):
    def entries(self, known: Mapping[str, str]) -> Iterator[SourceEntry]:
        start = f"{self.address.rstrip('/')}/"
        root = _path(start)
        away = set[str]()
        folders = Frontier(start, most=MOST_FOLDERS)
        for folder in folders:
            try:
                listed = self._listed(folder)
            except SourceAwayError:
                if folder == start:
                    raise
                away.add(_path(folder).removeprefix(root).rstrip("/"))
                continue
            for href, item in listed:
                url = urljoin(folder, href)
                path = _path(url)
                if not path.startswith(root) or path.rstrip("/") == _path(folder).rstrip("/"):
                    continue
                if item.find(".//{DAV:}resourcetype/{DAV:}collection") is not None:
                    folders.add(f"{url.rstrip('/')}/", key=f"{path.rstrip('/')}/")
                    continue
                size = item.findtext(".//{DAV:}getcontentlength") or "0"
                tag = (
                    item.findtext(".//{DAV:}getetag")
                    or f"{item.findtext('.//{DAV:}getlastmodified', '')}-{size}"
                )
                key = path.removeprefix(root)
                yield SourceEntry(
                    key, tag[:200], PurePosixPath(key).name, length_of(size), place=url
                )
        if away:
            raise PartAwayError(away)

    def read(self, entry: SourceEntry, most_bytes: int) -> bytes:
        return self.get(
            entry.place, most_bytes=most_bytes, headers=self.basic_auth(entry.place)
        ).body

    def _listed(self, folder: str) -> list[tuple[str, etree._Element]]:
        headers = {"Depth": "1", "Content-Type": "application/xml", **self.basic_auth(folder)}
        answer = self.get(
            folder, method="PROPFIND", most_bytes=LISTING_BYTES, headers=headers, body=ASKED
        )
        try:
            root = etree.fromstring(answer.body, etree.XMLParser(resolve_entities=False))
        except etree.XMLSyntaxError as error:
            raise SourceAwayError(worded("The server does not answer like WebDAV.")) from error
        return [
            (urlsplit(item.findtext("{DAV:}href", "")).path, item)
            for item in root.iterfind("{DAV:}response")
        ]


def _path(url: str) -> str:
    """Without escapes, which each server sets otherwise; as it is where they are of another encoding than UTF-8."""
    path = urlsplit(url).path
    plain = unquote(path)
    return path if "\N{REPLACEMENT CHARACTER}" in plain else plain
