"""A store that speaks S3, at `https://host/bucket/prefix`: a listing and a download, signed by hand.

Neither s3fs nor obstore lets us say what a name may resolve to, and both keep threads that a forked worker loses.
Source: AWS, Authenticating Requests (Signature Version 4).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import PurePosixPath
from urllib.parse import quote, urlsplit

from lxml import etree

from ragsite.core.messages import worded
from retrieval.knowledge.sync.source import (
    Frontier,
    ListingCutError,
    SourceAwayError,
    SourceEntry,
    SourceReader,
    length_of,
)

LISTING_BYTES = 8 * 1024 * 1024  # of 1,000 objects at once
MOST_LISTINGS = 1000
ENDLESS = worded("The store's listing does not come to an end. Nothing was deleted.")
NOTHING = hashlib.sha256(b"").hexdigest()
SIGNED = "host;x-amz-content-sha256;x-amz-date"


class S3Source(SourceReader):
    def entries(self, known: Mapping[str, str]) -> Iterator[SourceEntry]:
        prefix = self._place()[2]
        listings = Frontier("", most=MOST_LISTINGS)
        for token in listings:
            query = {"list-type": "2", "prefix": prefix} | (
                {"continuation-token": token} if token else {}
            )
            try:
                page = etree.fromstring(
                    self._call("", query, LISTING_BYTES), etree.XMLParser(resolve_entities=False)
                )
                if etree.QName(page).localname != "ListBucketResult":
                    raise etree.XMLSyntaxError("another document", 0, 0, 0)
            except etree.XMLSyntaxError as error:
                raise SourceAwayError(worded("The store does not answer like S3.")) from error
            is_empty = True
            for item in page.iterfind("{*}Contents"):
                is_empty = False
                key = item.findtext("{*}Key", "")
                if not key.endswith("/"):
                    etag = item.findtext("{*}ETag", "").strip('"')
                    yield SourceEntry(
                        key, etag, PurePosixPath(key).name, length_of(item.findtext("{*}Size"))
                    )
            if page.findtext("{*}IsTruncated") != "true":
                return
            following = page.findtext("{*}NextContinuationToken", "")
            if is_empty or not following or not listings.add(following):
                raise ListingCutError(ENDLESS)

    def read(self, entry: SourceEntry, most_bytes: int) -> bytes:
        return self._call(entry.key, {}, most_bytes)

    def _place(self) -> tuple[str, str, str]:
        """Scheme and host, bucket, prefix."""
        parts = urlsplit(self.address)
        bucket, _, prefix = parts.path.lstrip("/").partition("/")
        return f"{parts.scheme}://{parts.netloc}", bucket, prefix

    def _call(self, key: str, query: Mapping[str, str], most_bytes: int) -> bytes:
        host, bucket, _ = self._place()
        path = quote(f"/{bucket}/{key}" if key else f"/{bucket}", safe="/-_.~")
        query_text = "&".join(
            f"{name}={quote(value, safe='-_.~')}" for name, value in sorted(query.items())
        )
        headers = self._signed(urlsplit(host).netloc, path, query_text, datetime.now(UTC))
        return self.get(
            f"{host}{path}?{query_text}" if query_text else f"{host}{path}",
            most_bytes=most_bytes,
            headers=headers,
        ).body

    def _signed(self, host: str, path: str, query: str, now: datetime) -> dict[str, str]:
        """The headers of a GET; none without credentials, for public buckets."""
        if not self.credentials.get("username"):
            return {}
        stamp = now.strftime("%Y%m%dT%H%M%SZ")
        day = now.strftime("%Y%m%d")
        scope = f"{day}/{self.options.get('region') or 'us-east-1'}/s3/aws4_request"
        headers = {"host": host, "x-amz-content-sha256": NOTHING, "x-amz-date": stamp}
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        request = f"GET\n{path}\n{query}\n{lines}\n{SIGNED}\n{NOTHING}"
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = f"AWS4{self.credentials.get('password', '')}".encode()
        for part in (*scope.split("/"), text):
            key = hmac.digest(key, part.encode(), "sha256")
        credential = f"Credential={self.credentials['username']}/{scope}"
        del headers["host"]
        return headers | {
            "Authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={SIGNED}, Signature={key.hex()}"
        }
