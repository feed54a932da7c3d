"""A branch of a Git repository over HTTP, by dulwich: it talks through our guarded connections, where the git program
would resolve names by itself. Blobs are read from the pack; nothing is checked out, so no link or path leads anywhere.

A pack of a megabyte may hold gigabytes. What is received is counted while it comes; then, before dulwich inflates and
joins anything, the sizes that the pack's objects declare are read and added up (`check_pack`). No object gets larger
than it declares: what inflates to more ends the run.
"""

from __future__ import annotations

import mmap
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ragsite.core.errors import TooLargeError
from ragsite.core.messages import worded
from retrieval.knowledge.sync.source import (
    TOO_LARGE,
    ListingCutError,
    SourceAwayError,
    SourceEntry,
    SourceReader,
    check_installed,
)

MIB = 1024 * 1024
MOST_RECEIVED = 512 * MIB  # of a whole run
MOST_OBJECTS = 200_000
MOST_OBJECT_BYTES = 256 * MIB
MOST_INFLATED = 2048 * MIB  # of all objects together
MOST_TREE_ITEMS = 500_000  # a tree may name one tree a thousand times, and that one another
OFS_DELTA = 6
REF_DELTA = 7
PACK_BYTES = 12 + 20  # of a pack of nothing
REF_BYTES = 20  # a REF_DELTA names its base by so many
PIECE_BYTES = 64 * 1024
TOO_MUCH = worded("The repository is larger than the site allows. Nothing was deleted.")


@dataclass(slots=True)
class GitSource(SourceReader):
    repository: Any = None

    def version(self) -> str:
        """The commit's id. Raises SourceAwayError."""
        check_installed("dulwich")
        branch = str(self.options.get("branch") or "")
        with _as_source_error():
            refs = self._client().get_refs(b"").refs
        commit = refs.get(f"refs/heads/{branch}".encode() if branch else b"HEAD")
        if not commit:
            raise SourceAwayError(worded("The repository has no such branch, or no commit."))
        return bytes(commit).decode()

    def entries(self, known: Mapping[str, str]) -> Iterator[SourceEntry]:
        from dulwich.objects import Commit
        from dulwich.repo import Repo

        commit_id = self.version().encode()
        self.repository = Repo.init_bare(self.folder)
        with _as_source_error():
            self._receive(commit_id)
            commit = self.repository[commit_id]
        if not isinstance(commit, Commit):
            raise SourceAwayError(worded("The repository has no such branch, or no commit."))
        with _as_source_error():
            items = self.repository.object_store.iter_tree_contents(commit.tree, include_trees=True)
            for count, item in enumerate(items):
                if count >= MOST_TREE_ITEMS:
                    raise ListingCutError
                if stat.S_ISREG(item.mode):  # neither links nor other repositories
                    key = item.path.decode("utf-8", "replace")
                    yield SourceEntry(key, item.sha.decode(), PurePosixPath(key).name)

    def read(self, entry: SourceEntry, most_bytes: int) -> bytes:
        with _as_source_error():
            blob = self.repository[entry.fingerprint.encode()]
        if blob.raw_length() > most_bytes:
            raise TooLargeError(TOO_LARGE)
        return bytes(blob.data)

    def close(self) -> None:
        if self.repository is not None:
            self.repository.close()
        self.pools.clear()

    def _receive(self, commit_id: bytes) -> None:
        """The commit's objects into the repository. Raises TooMuchError, and what dulwich raises."""
        file, commit, abort = self.repository.object_store.add_pack()
        try:
            self._client().fetch_pack(
                b"",
                lambda *_, **__: [commit_id],
                self.repository.get_graph_walker(),
                file.write,
                depth=1,
            )
            file.flush()
            check_pack(file.fileno())
        except BaseException:
            abort()
            raise
        commit()

    def _client(self) -> Any:
        from dulwich.client import HttpGitClient
        from dulwich.errors import GitProtocolError

        class Client(HttpGitClient):
            """Counts what comes. The "dumb" protocol, which inflates each object as it comes, is not spoken."""

            received = 0

            def _http_request(
                self, *args: Any, **kwargs: Any
            ) -> tuple[Any, Callable[[int], bytes]]:
                response, read = super()._http_request(*args, **kwargs)

                def counted(size: int) -> bytes:
                    data = read(size)
                    self.received += len(data)
                    if self.received > MOST_RECEIVED:
                        raise TooMuchError
                    return data

                return response, counted

            def _discover_references(self, *args: Any, **kwargs: Any) -> Any:
                found = super()._discover_references(*args, **kwargs)
                if self.dumb:
                    raise GitProtocolError("the dumb protocol")
                return found

        names: dict[str, Any] = {
            name: self.credentials.get(name) or None for name in ("username", "password")
        }
        return Client(self.address, pool_manager=self.pools, **names)


class TooMuchError(SourceAwayError):
    message = TOO_MUCH


class _as_source_error:
    """What dulwich raises, as a sentence."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        from dulwich.errors import (
            ApplyDeltaError,
            ChecksumMismatch,
            GitProtocolError,
            NotGitRepository,
            ObjectFormatException,
        )
        from urllib3.exceptions import HTTPError

        foreign = (
            GitProtocolError,
            NotGitRepository,
            ApplyDeltaError,
            ChecksumMismatch,
            ObjectFormatException,
        )
        # dulwich raises the others for packs that are damaged.
        if isinstance(
            error,
            (*foreign, HTTPError, zlib.error, OSError, LookupError, ValueError, AssertionError),
        ):
            raise SourceAwayError(
                worded("The repository cannot be read. Check its address and the credentials.")
            ) from error


# ------------------------------------------------------------------------------------------------ packs
def check_pack(file_number: int) -> None:
    """Adds up what a pack's objects declare, inflating each to nowhere only to find the next one.

    A delta declares the size of what it makes of its base in its first bytes. Raises TooMuchError; ValueError and
    zlib.error where it is damaged.
    """
    with mmap.mmap(file_number, 0, access=mmap.ACCESS_READ) as pack:
        if pack[:4] != b"PACK" or len(pack) < PACK_BYTES:
            raise ValueError("not a pack")
        objects = int.from_bytes(pack[8:12], "big")
        if objects > MOST_OBJECTS:
            raise TooMuchError
        place = 12
        inflated = 0
        for _ in range(objects):
            kind, size, place = _object_header(pack, place)
            if size > MOST_OBJECT_BYTES:
                raise TooMuchError
            if kind == OFS_DELTA:
                _, place = _varint(pack, place)
            elif kind == REF_DELTA:
                place += REF_BYTES
            head, place = _skip(pack, place, size)
            if kind in (OFS_DELTA, REF_DELTA):
                _, after = _varint(head, 0)  # of the base
                made, _ = _varint(head, after)
                if made > MOST_OBJECT_BYTES:
                    raise TooMuchError
                size += made
            inflated += size
            if inflated > MOST_INFLATED:
                raise TooMuchError


def _object_header(pack: mmap.mmap, place: int) -> tuple[int, int, int]:
    """Kind, size, and where it ends: four bits of the size in the first byte, seven in each that follows."""
    first = pack[place]
    kind = (first >> 4) & 7
    if not first & 0x80:
        return kind, first & 15, place + 1
    more, end = _varint(pack, place + 1)
    return kind, (first & 15) | (more << 4), end


def _varint(data: Any, place: int) -> tuple[int, int]:
    """A number, seven bits a byte, the lowest first, and where it ends."""
    number = 0
    for shift in range(0, 70, 7):
        byte = data[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return number, place
    raise ValueError("a number without an end")


def _skip(pack: mmap.mmap, place: int, size: int) -> tuple[bytes, int]:
    """The first bytes of what is inflated there, and where it ends."""
    stream = zlib.decompressobj()
    head = b""
    inflated = 0
    while not stream.eof:
        piece = stream.unconsumed_tail
        if not piece:
            piece = pack[place : place + PIECE_BYTES]
            place += len(piece)
        if not piece:
            raise ValueError("the pack ends within an object")
        data = stream.decompress(piece, PIECE_BYTES)
        head = head or data[:PIECE_BYTES]
        inflated += len(data)
        if inflated > size:
            raise TooMuchError
    return head, place - len(stream.unused_data)
