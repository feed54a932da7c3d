"""A folder of a WebDAV server (Nextcloud, ownCloud, Apache …): PROPFIND folder by folder, as servers refuse more."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from urllib.parse import quote, unquote, urljoin, urlsplit

from lxml import etree

from ragsite.core.wording import worded
from retrieval.sync.source import Entry, ListingCutError, Source, SourceAwayError

LISTING_BYTES = 32 * 1024 * 1024  # of one folder
MOST_FOLDERS = 10_000
ASKED = b"""<?xml version="1.0"?><d:propfind xmlns:d="DAV:"><d:prop><d:resourcetype/><d:getetag/><d:getlastmodified/>
<d:getcontentlength/></d:prop></d:propfind>"""


class WebDavSource(Source):
    def entries(self, known: Mapping[str, str]) -> Iterator[Entry]:
        root = f"{self.address.rstrip('/')}/"
        waiting, seen = deque([root]), {root}
        while waiting:
            folder = waiting.popleft()
            for href, item in self._listed(folder):
                url = urljoin(folder, href)
                if not url.startswith(root) or url.rstrip("/") == folder.rstrip("/"):
                    continue
                if item.find(".//{DAV:}resourcetype/{DAV:}collection") is not None:
                    if url not in seen and len(seen) >= MOST_FOLDERS:
                        raise ListingCutError
                    if url not in seen:
                        seen.add(url)
                        waiting.append(url if url.endswith("/") else f"{url}/")
                    continue
                size = item.findtext(".//{DAV:}getcontentlength") or "0"
                tag = item.findtext(".//{DAV:}getetag") or f"{item.findtext('.//{DAV:}getlastmodified', '')}-{size}"
                key = unquote(url.removeprefix(root))
                yield Entry(key, tag[:200], PurePosixPath(key).name, int(size) if size.isdigit() else 0)

    def read(self, entry: Entry, most_bytes: int) -> bytes:
        url = f"{self.address.rstrip('/')}/{quote(entry.key)}"
        return self.get(url, most_bytes=most_bytes, headers=self.basic_auth()).body

    def _listed(self, folder: str) -> list[tuple[str, etree._Element]]:
        headers = {"Depth": "1", "Content-Type": "application/xml", **self.basic_auth()}
        answer = self.get(folder, method="PROPFIND", most_bytes=LISTING_BYTES, headers=headers, body=ASKED)
        try:
            root = etree.fromstring(answer.body, etree.XMLParser(resolve_entities=False))
        except etree.XMLSyntaxError as error:
            raise SourceAwayError(worded("The server does not answer as WebDAV does.")) from error
        return [(urlsplit(item.findtext("{DAV:}href", "")).path, item) for item in root.iterfind("{DAV:}response")]
