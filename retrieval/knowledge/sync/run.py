"""One run of a source: look at everything, read what has another fingerprint, delete what two looks have not found.

    entries ─► same fingerprint ─► nothing
            └► new or another one ─► read ─► `document_put`: the same content embeds nothing
    not listed: marked at the first look that saw the whole, deleted at the next

A source that is away, or whose listing was cut, deletes nothing; where a folder can't be read, what lies in it stays.
Every write is in a transaction that holds the source's lease, so that nothing comes in for a source that was deleted
meanwhile. Time and lease are looked at while the source's server is waited for, too: what the server sends, or does not
send, keeps no run going (`process`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import PurePath, PurePosixPath
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from ragsite.core.errors import (
    AppError,
    QuotaExceededError,
    StorageFullError,
    TooLargeError,
    UnsupportedFileError,
)
from ragsite.core.leases import Lease, LeaseLostError, run_out
from ragsite.core.messages import worded, wording_of
from ragsite.core.queueing import enqueue
from ragsite.core.storage import MIB
from ragsite.core.text import clean_text
from retrieval.knowledge.ingest.sniff import EXTENSIONS
from retrieval.knowledge.selectors import writable_collections
from retrieval.knowledge.services.document_keys import document_put, key_delete
from retrieval.knowledge.sync.process import SourceProcess, source_open
from retrieval.knowledge.sync.source import (
    TOO_LARGE,
    ListingCutError,
    PartAwayError,
    SourceAwayError,
    SourceEntry,
    SourceReader,
)
from retrieval.models import MAX_KEY_CHARS, DocumentKey, SyncSource

TASK = "retrieval.tasks.sync_source_run"
RUN_S = 900.0  # after which a run leaves the rest to the next one
LIMIT_S = 1000  # after which its task is broken off
LEASE_S = 120.0  # renewed all along; nobody else begins before
RENEWED_EVERY_S = 2.0
MOST_LISTED = 100_000
MOST_READ = 2000  # entries of one run
ERRORS_TOLD = 20
NOTHING_LISTED = worded(
    "The source lists nothing, although it held files before. Nothing was deleted."
)
NOT_ALLOWED = worded("The owner may not change the collection any more.")
RUN_OVER = worded("The run took too long and was ended; the next one goes on.")
logger = logging.getLogger(__name__)


class RunOverError(ListingCutError):
    """Its time is over."""

    message = RUN_OVER


@dataclass(slots=True)
class Report:
    """What a run did; a dry one what it would do. left: to be read by the next run. missing: not found at the first
    look. skipped: not of a kind that the site reads."""

    dry_run: bool = False
    started_at: str = ""
    finished_at: str = ""
    looked_at: int = 0
    unchanged: int = 0
    added: int = 0
    changed: int = 0
    deleted: int = 0
    missing: int = 0
    skipped: int = 0
    failed: int = 0
    left: int = 0
    error: Mapping[str, Any] | None = None
    errors: list[Mapping[str, Any]] = field(default_factory=list)


def source_run(*, source_id: UUID, dry_run: bool = False) -> Report | None:
    """None where the source is gone, or a run of its owner's is under way: then it waits for its turn."""
    lease = Lease(SyncSource.objects.all(), source_id, seconds=LEASE_S)
    if not _begun(lease, dry_run=dry_run):
        return None
    row = SyncSource.objects.select_related("owner", "collection__owner").get(pk=source_id)
    try:
        return _run(row, lease, dry_run=dry_run)
    finally:
        for waiting in runs_waiting().filter(owner=row.owner_id)[:1]:
            enqueue(TASK, str(waiting.pk), waiting.waits_dry)


@transaction.atomic
def _begun(lease: Lease, *, dry_run: bool) -> bool:
    """One run of an owner's sources at once, decided under a lock of the owner's row."""
    owners = User.objects.select_for_update(no_key=True).filter(sync_sources=lease.pk).order_by()
    owner_id = owners.values_list("pk", flat=True).first()
    if owner_id is None:
        return False
    if not SyncSource.objects.exclude(run_out()).filter(owner=owner_id).exists():
        return lease.take(waits_since=None)
    others = SyncSource.objects.filter(run_out(), pk=lease.pk, waits_since=None)
    others.update(waits_since=timezone.now(), waits_dry=dry_run)
    return False


def runs_waiting() -> QuerySet[SyncSource]:
    """Sources whose run was asked for and has not begun, the first one first, of owners of whom no run is under way."""
    running = SyncSource.objects.exclude(run_out()).filter(owner=OuterRef("owner"))
    return SyncSource.objects.filter(~Exists(running), waits_since__isnull=False).order_by(
        "waits_since", "pk"
    )


def _run(row: SyncSource, lease: Lease, *, dry_run: bool) -> Report | None:
    run = _Run(row, lease, Report(dry_run=dry_run, started_at=timezone.now().isoformat()))
    version = row.version
    try:
        if version_seen := run.work():
            version = version_seen
    except LeaseLostError:
        return None
    except AppError as error:
        run.report.error = _error(error.message)
    except Exception as error:  # a worker's outermost loop: also the time limit of its task
        logger.exception("source %s: the run broke off", row.pk)
        run.report.error = _error(
            worded("The run was interrupted ({kind}).", kind=type(error).__name__)
        )
    finally:
        run.report.finished_at = timezone.now().isoformat()
        lease.release(report=asdict(run.report), version=version)
    return run.report


class _Run:
    def __init__(self, row: SyncSource, lease: Lease, report: Report) -> None:
        self.row = row
        self.lease = lease
        self.report = report
        self.ends_at = time.monotonic() + RUN_S
        self.renewed_at = time.monotonic()
        keys = DocumentKey.objects.filter(
            collection=row.collection, source=str(row.pk)
        ).select_related("document")
        self.known = {key.key: key for key in keys}
        self.most_bytes = settings.RAG.ingest.max_file_mib * MIB

    def work(self) -> str:
        """The source's version where all of it was taken in. Raises AppError, LeaseLostError."""
        allowed = writable_collections(self.row.owner).filter(pk=self.row.collection_id).exists()
        if (
            not allowed
            or not self.row.owner.is_active
            or (self.row.kind == "folder" and not self.row.owner.is_staff)
        ):
            raise SourceAwayError(NOT_ALLOWED)
        source = source_open(self.row, check=self._check)
        try:
            version = source.version()
            if version and version == self.row.version:
                there = {key for key, row in self.known.items() if row.missing_since is None}
                self.report.looked_at = self.report.unchanged = len(there)
                self._missing(there)
                return version
            seen, is_whole = self._look(source)
        finally:
            source.close()
        if is_whole:
            if self.known and not self.report.looked_at:
                raise SourceAwayError(NOTHING_LISTED)
            self._missing(seen)
        done = is_whole and not (self.report.left or self.report.failed or self.report.dry_run)
        return version if done else ""

    def _look(self, source: SourceReader | SourceProcess) -> tuple[set[str], bool]:
        """The keys that are there, and whether those are all."""
        seen: set[str] = set()
        fingerprints = {key: row.fingerprint for key, row in self.known.items()}
        try:
            for count, entry in enumerate(source.entries(fingerprints)):
                self._check()
                if count >= MOST_LISTED:
                    raise ListingCutError
                if any(part.startswith(".") for part in entry.key.split("/")):
                    continue
                seen.add(entry.key)
                self._take(source, entry)
        except ListingCutError as error:
            self.report.error = _error(error.message)
            return seen, False
        except PartAwayError as error:  # what lies there may still be there
            self.report.error = _error(error.message)
            seen |= {
                key
                for key in self.known
                if not error.folders.isdisjoint(map(str, PurePosixPath(key).parents))
            }
        return seen, True

    def _take(self, source: SourceReader | SourceProcess, entry: SourceEntry) -> None:
        report = self.report
        row = self.known.get(entry.key)
        report.looked_at += 1
        if row is not None and row.missing_since is not None and not report.dry_run:
            DocumentKey.objects.filter(pk=row.pk).update(missing_since=None)
        if PurePath(entry.name).suffix.lower() not in EXTENSIONS:
            report.skipped += 1
        elif (
            row is not None
            and entry.fingerprint
            and entry.fingerprint == row.fingerprint
            and not entry.problem
        ):
            report.unchanged += 1
        elif entry.problem is None and report.added + report.changed + report.failed >= MOST_READ:
            report.left += 1
        elif report.dry_run and not entry.problem:
            report.added = report.added + (row is None)
            report.changed = report.changed + (row is not None)
        else:
            try:
                self._put(source, entry)
            except (QuotaExceededError, StorageFullError, LeaseLostError, RunOverError):
                raise
            except AppError as error:
                report.failed += 1
                if len(report.errors) < ERRORS_TOLD:
                    report.errors.append(
                        {"key": clean_text(entry.key)[:MAX_KEY_CHARS], **_error(error.message)}
                    )
                if isinstance(error, TooLargeError | UnsupportedFileError) and not report.dry_run:
                    self._remember(entry)

    def _put(self, source: SourceReader | SourceProcess, entry: SourceEntry) -> None:
        if entry.problem is not None:
            raise entry.problem
        if len(entry.key) > MAX_KEY_CHARS or clean_text(entry.key) != entry.key:
            raise SourceAwayError(
                worded("The name is too long, or holds characters that cannot be stored.")
            )
        if entry.size > self.most_bytes:
            raise TooLargeError(TOO_LARGE)
        data = source.read(entry, self.most_bytes)
        with transaction.atomic():
            self.lease.check()
            put = document_put(
                collection=self.row.collection,
                source=str(self.row.pk),
                key=entry.key,
                upload=ContentFile(data),
                file_name=entry.name,
                by=self.row.owner,
                fingerprint=entry.fingerprint,
            )
        if put.outcome == "unchanged":
            self.report.unchanged += 1
        elif entry.key in self.known:
            self.report.changed += 1
        else:
            self.report.added += 1

    def _remember(self, entry: SourceEntry) -> None:
        """What can't be taken in is not read again until it changes; what stood under the key before stays."""
        with transaction.atomic():
            self.lease.check()
            DocumentKey.objects.update_or_create(
                collection=self.row.collection,
                source=str(self.row.pk),
                key=entry.key[:MAX_KEY_CHARS],
                defaults={"fingerprint": entry.fingerprint, "missing_since": None},
            )

    def _missing(self, seen: set[str]) -> None:
        for key, row in self.known.items():
            if key in seen:
                continue
            if row.missing_since is None:
                self.report.missing += 1
            else:
                self.report.deleted += 1
            if not self.report.dry_run:
                with transaction.atomic():
                    self.lease.check()
                    if row.missing_since is None:
                        DocumentKey.objects.filter(pk=row.pk).update(missing_since=timezone.now())
                    else:
                        key_delete(row=row)
            self._check()

    def _check(self) -> None:
        """Whether the run may go on; called again and again. Raises RunOverError, LeaseLostError (the source was
        stopped or deleted)."""
        now = time.monotonic()
        if now > self.ends_at:
            raise RunOverError
        if now > self.renewed_at + RENEWED_EVERY_S:
            self.renewed_at = now
            self.lease.renew(report=asdict(self.report))  # progress, for the page


def _error(text: str) -> dict[str, Any]:
    return {"error": text, "wording": wording_of(text)}
