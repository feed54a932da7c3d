"""A source is looked at in a process of its own: what its server sends is read, unpacked and parsed nowhere else.

    run ── version, list, next, read ──► process ── requests ──► the source's server
        ◄── an entry, bytes, an error ──

However long a server keeps the process busy, waiting for it ends as soon as `check` raises: it is called twice a
second. The process has limits of memory, processor time and disk (`confinement`), and none of the site's secrets but
the source's own credentials. What comes from it is JSON and bytes: a process that a hostile answer took over must not
choose what is unpickled here.
"""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any

from django.conf import settings

from ragsite.core.errors import AppError, TooLargeError, UnsupportedFileError
from ragsite.core.messages import Sentence, worded, wording_of
from ragsite.core.sealed import unseal
from retrieval.knowledge.ingest import confinement
from retrieval.knowledge.ingest.confinement import MIB
from retrieval.knowledge.sync.kinds import KINDS
from retrieval.knowledge.sync.source import (
    TOO_LARGE,
    ListingCutError,
    PartAwayError,
    SourceAwayError,
    SourceEntry,
    check_credentials_may_go,
)
from retrieval.knowledge.sync.web import PAGE_BYTES

LOOK_S = 0.5  # between two calls of `check`
HEAD_BYTES = MIB  # of the report of an entry
# Errors that a run treats each in its own way; others only say why the source can't be read.
ERRORS: tuple[type[AppError], ...] = (ListingCutError, TooLargeError, UnsupportedFileError)
DAMAGED = worded(
    "The source sent something that is damaged, or needs more memory than is allowed. Nothing was deleted."
)
SLOW = worded(
    "Looking the source through took more computing time than is allowed. Nothing was deleted."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """Of the process of one run. written_mib: of each file."""

    memory_mib: int = 2048
    cpu_s: int = 300
    written_mib: int = 1024


LIMITS = ProcessLimits()


class SourceProcess:
    """A `Source` whose methods are carried out in a process of its own. check: raises what ends the waiting."""

    def __init__(self, kind: str, values: Mapping[str, Any], *, check: Callable[[], None]) -> None:
        self._check = check
        self._folder = tempfile.TemporaryDirectory(prefix="ragsite-source-")
        site = SimpleNamespace(
            inner_hosts=settings.SITE.inner_hosts,
            source_folders=settings.SITE.source_folders,
        )
        confinement.set_preload("retrieval.knowledge.sync.kinds")
        self._process, self._connection = confinement.start(
            _serve, LIMITS, kind, {**values, "folder": self._folder.name}, site, duplex=True
        )

    def version(self) -> str:
        """As `Source.version`. Raises AppError, and what `check` raises."""
        head, _ = self._ask("version")
        return str(head["version"])

    def entries(self, known: Mapping[str, str]) -> Iterator[SourceEntry]:
        """As `Source.entries`. Raises AppError, and what `check` raises."""
        head, content = self._ask("list", dict(known))
        while "entry" in head:
            fields = head["entry"]
            problem = _error(head["problem"]) if head["problem"] else None
            yield SourceEntry(
                **fields, content=content if head["has_content"] else None, problem=problem
            )
            head, content = self._ask("next")

    def read(self, entry: SourceEntry, most_bytes: int) -> bytes:
        """As `Source.read`. Raises AppError, and what `check` raises."""
        if entry.content is not None:
            if len(entry.content) > most_bytes:
                raise TooLargeError(TOO_LARGE)
            return entry.content
        return self._ask("read", entry, most_bytes)[1]

    def close(self) -> None:
        self._connection.close()
        confinement.end(self._process)
        self._folder.cleanup()

    def _ask(self, *request: Any) -> tuple[dict[str, Any], bytes]:
        most_bytes = max(settings.RAG.ingest.max_file_mib * MIB, PAGE_BYTES)
        try:
            self._connection.send(request)
            while not self._connection.poll(LOOK_S):
                self._check()
            head: dict[str, Any] = json.loads(self._connection.recv_bytes(HEAD_BYTES))
            content = self._connection.recv_bytes(most_bytes)
        except (EOFError, OSError, ValueError) as error:  # it died, or sends what it should not
            self._process.join(timeout=LOOK_S)
            is_slow = self._process.exitcode == -signal.SIGXCPU
            raise SourceAwayError(SLOW if is_slow else DAMAGED) from error
        if "error" in head:
            raise _error(head["error"])
        return head, content


def source_open(row: Any, *, check: Callable[[], None]) -> SourceProcess:
    """The process for a `SyncSource`; close it. Raises SealBrokenError, PermissionDeniedError."""
    credentials = unseal(row.credentials) if row.credentials else {}
    if credentials:
        check_credentials_may_go(row.address)
    values = {"address": row.address, "options": row.options, "credentials": credentials}
    return SourceProcess(row.kind, values, check=check)


def _error(told: Mapping[str, Any]) -> AppError:
    if told["folders"]:
        return PartAwayError(told["folders"])
    sentence = Sentence(told["message"], told["wording"])
    for kind in ERRORS:
        if told["kind"] == kind.__name__:
            return kind(sentence)
    return SourceAwayError(sentence)


# ------------------------------------------------------------------------------------------------ in the process
def _serve(
    connection: Connection,
    limits: ProcessLimits,
    kind: str,
    values: Mapping[str, Any],
    site: SimpleNamespace,
) -> None:
    confinement.confine(
        memory_mib=limits.memory_mib, cpu_s=limits.cpu_s, written_mib=limits.written_mib
    )
    settings.configure(SITE=site)  # all that a source needs of the settings, which hold secrets
    source = KINDS[kind](**values)
    listing: Iterator[SourceEntry] = iter(())
    while True:
        try:
            request, *arguments = connection.recv()
        except EOFError:
            return
        head: dict[str, Any] = {}
        content = b""
        try:
            match request:
                case "version":
                    head = {"version": source.version()}
                case "read":
                    content = source.read(*arguments)
                case "list":
                    listing = source.entries(*arguments)
                    head, content = _next(listing)
                case "next":
                    head, content = _next(listing)
        except AppError as error:
            head = {"error": _told(error)}
        connection.send_bytes(json.dumps(head).encode())
        connection.send_bytes(content)


def _next(listing: Iterator[SourceEntry]) -> tuple[dict[str, Any], bytes]:
    """Nothing once it has come to its end."""
    entry = next(listing, None)
    if entry is None:
        return {}, b""
    fields = {
        name: getattr(entry, name) for name in ("key", "fingerprint", "name", "size", "place")
    }
    problem = _told(entry.problem) if entry.problem else None
    return {
        "entry": fields,
        "problem": problem,
        "has_content": entry.content is not None,
    }, entry.content or b""


def _told(error: AppError) -> dict[str, Any]:
    folders = sorted(error.folders) if isinstance(error, PartAwayError) else []
    kinds = [kind.__name__ for kind in ERRORS if isinstance(error, kind)]
    return {
        "kind": kinds[0] if kinds else "",
        "message": error.message,
        "wording": wording_of(error.message),
        "folders": folders,
    }
