"""What every kind of source is: it lists entries, each with a fingerprint, and reads one. Everything else is shared."""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from ragsite.core.errors import (
    AppError,
    ConflictError,
    PermissionDeniedError,
    TooLargeError,
    UnavailableError,
)
from ragsite.core.messages import worded
from ragsite.core.outgoing import OutgoingResponse, fetch, guarded_pools, is_named

TOO_LARGE = worded("This file is larger than the site allows.")
UNENCRYPTED = worded(
    "With a user name and password the address has to start with https://, unless the operator names its host in "
    "RAGSITE_INNER_HOSTS."
)
PORTS = {"http": 80, "https": 443}
MOST_DIGITS = 18  # of a size
Place = TypeVar("Place", bound=Hashable)


class SourceAwayError(UnavailableError):
    """It can't be looked at, or not as a whole: nothing is deleted for it."""

    code = "source_away"
    message = worded("The source cannot be read at the moment. Nothing was deleted.")


class PartAwayError(SourceAwayError):
    """Folders of it can't be looked at; raised once the others were. folders: as keys begin, without the slash."""

    def __init__(self, folders: Collection[str]) -> None:
        first = min(folders)[:200]
        super().__init__(
            worded("A folder cannot be read; nothing in it is deleted: {folder}", folder=first)
        )
        self.folders = frozenset(folders)


class SourceKindMissingError(ConflictError):
    code = "source_kind_missing"
    message = worded(
        "Sources of this kind need extra packages: pip install -c constraints.txt -e '.[sources]'"
    )


class ListingCutError(SourceAwayError):
    """The bound of a source was reached: what was not listed may still be there."""

    message = worded("The source lists more than one run looks at. Nothing was deleted.")


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """key: what names it, whatever becomes of it. name: as of a file. fingerprint: another one after each change; ""
    where none is known. content: where listing has read it already. problem: it is there, but can't be read. place:
    where it is read, if the key does not say it."""

    key: str
    fingerprint: str = ""
    name: str = ""
    size: int = 0
    content: bytes | None = None
    problem: AppError | None = None
    place: str = ""


class Frontier(Generic[Place]):
    """The places of a listing that are yet to be looked at: pages, folders, other sitemaps.

    Whatever follows what a server names next goes through one, since a server may name places without an end: each
    comes once, and no more than `most` of them. Where it named more, iterating ends with ListingCutError. too_many:
    the sentence for it.
    """

    def __init__(self, first: Place, *, most: int, too_many: str = ListingCutError.message) -> None:
        self._waiting = deque([first])
        self._seen: set[Hashable] = {first}
        self._most = most
        self._too_many = too_many
        self._is_cut = False

    def __iter__(self) -> Iterator[Place]:
        while self._waiting:
            yield self._waiting.popleft()
        if self._is_cut:
            raise ListingCutError(self._too_many)

    def add(self, place: Place, *, key: Hashable = None) -> bool:
        """False where it was named before. key: by what it is known again, if not by itself."""
        known_by = place if key is None else key
        if known_by in self._seen:
            return False
        if len(self._seen) >= self._most:
            self._is_cut = True
        else:
            self._seen.add(known_by)
            self._waiting.append(place)
        return True


@dataclass(slots=True)
class SourceReader:
    """The base of the kinds. options, credentials (`username`, `password`): as the person has entered them. folder: for
    files that it needs meanwhile."""

    address: str
    options: Mapping[str, Any] = field(default_factory=dict)
    credentials: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    pools: Any = field(default_factory=guarded_pools)

    def version(self) -> str:
        """Of the whole; the same one: nothing has changed. "" where that can't be told."""
        return ""

    def entries(self, known: Mapping[str, str]) -> Iterator[SourceEntry]:
        """known: fingerprints by key, of last time. Raises SourceAwayError, PartAwayError, ListingCutError."""
        raise NotImplementedError

    def read(self, entry: SourceEntry, most_bytes: int) -> bytes:
        """Raises AppError."""
        raise NotImplementedError

    def close(self) -> None:
        self.pools.clear()

    def get(
        self,
        url: str,
        *,
        most_bytes: int,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> OutgoingResponse:
        """An answer that is a success and whole. Raises SourceAwayError, TooLargeError."""
        answer = fetch(self.pools, method, url, most_bytes=most_bytes, headers=headers, body=body)
        if answer.status >= 300:
            raise SourceAwayError(
                worded("The source answers with status {status}.", status=answer.status)
            )
        if answer.is_cut:
            raise TooLargeError(TOO_LARGE)
        return answer

    def basic_auth(self, url: str) -> dict[str, str]:
        """For the source's own server alone, whatever addresses it names."""
        if not self.credentials.get("username") or server_of(url) != server_of(self.address):
            return {}
        pair = f"{self.credentials['username']}:{self.credentials.get('password', '')}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def server_of(address: str) -> tuple[str, str, int | None]:
    """Scheme, host and port; that of no address is like no other's."""
    try:
        parts = urlsplit(address)
        return parts.scheme, parts.hostname or "", parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return address, "", None


def length_of(text: str | None) -> int:
    """Bytes, as a server tells them; 0 for what is no number."""
    return int(text) if text and text.isdecimal() and len(text) <= MOST_DIGITS else 0


def check_credentials_may_go(address: str) -> None:
    """Unencrypted they go only where the operator has named the host. Raises PermissionDeniedError."""
    parts = urlsplit(address)
    if parts.scheme == "http" and not is_named(parts.hostname or ""):
        raise PermissionDeniedError(UNENCRYPTED)


def check_installed(module: str) -> None:
    """Raises SourceKindMissingError."""
    if find_spec(module) is None:
        raise SourceKindMissingError
