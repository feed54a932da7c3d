"""An import's way: the file is checked, a person says so, it is written, and may be taken back for some days.

Each of the three is done in parts, a transaction each, by whoever holds the row's lease: small files at once, large
ones by a worker. What a killed process has written counts; the next one goes on behind it.

What is stored may change between the check and the writing, by a curator or by another import. A row of which something
else is stored by then is not written: whoever imports it has not seen that.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from operator import itemgetter
from typing import Any
from uuid import UUID

from auditlog.context import disable_auditlog
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chat.models import DeskEvent
from chat.review.marks import file_log
from chat.review.roles import desk_access
from feedback.curation.transfer.csv_table import CsvRow, CsvTable, table_read, table_text
from feedback.curation.transfer.exports import RESOURCES
from feedback.curation.transfer.resource import CurationResource, RowOutcome
from feedback.models import CurationImport, CurationImportPart
from feedback.rounds.deletions import one_at_a_time
from ragsite.core.errors import AppError, ConflictError, NotFoundError
from ragsite.core.leases import Lease, LeaseLostError, run_out
from ragsite.core.messages import worded, wording_of
from ragsite.core.queueing import enqueue
from ragsite.core.text import clean_file_name

State = CurationImport.State
TASK = "feedback.tasks.curation_imports_work"
KEPT = timedelta(days=7)  # for which an import can be taken back
AT_ONCE_ROWS = 200  # that are checked, or written, while the person waits
BATCH = 100  # rows in one transaction: a third of a second on SQLite, which has one writer
LEASE_S = 60.0  # for a batch
MOST_OPEN = 10  # of one person that are neither written nor discarded
SAMPLES = 20  # rows that a preview shows of each kind but the wrong ones
logger = logging.getLogger(__name__)


# ------------------------------------------------------------------------------------------------ by people
def imports_list(*, by: User) -> QuerySet[CurationImport]:
    """A person's own, the newest first, without what only one page shows."""
    return CurationImport.objects.filter(by=by).defer("text", "samples", "wrong", "undo", "kept")


def import_get(*, by: User, import_id: UUID) -> CurationImport:
    """Raises NotFoundError, also for somebody else's."""
    row = CurationImport.objects.filter(by=by, pk=import_id).first()
    if row is None:
        raise NotFoundError
    return row


def import_start(*, by: User, kind: str, data: bytes, file_name: str = "") -> CurationImport:
    """Store a file and have it checked. Raises InvalidInputError, TooLargeError, ConflictError."""
    text = table_text(data)
    table = _table(kind, text)
    undecided = CurationImport.UNDECIDED
    if CurationImport.objects.filter(by=by, state__in=undecided).count() >= MOST_OPEN:
        raise ConflictError(
            worded("You have too many checked files. Import or discard some first.")
        )
    row = CurationImport.objects.create(
        by=by,
        kind=kind,
        text=text,
        file_name=clean_file_name(file_name) if file_name else "",
        total=len(table.lines),
        columns=table.columns,
        unread=table.unread,
    )
    return _continue(row, steps=row.total)


def import_confirm(*, row: CurationImport) -> CurationImport:
    """Raises ConflictError where it does not wait for that, or holds nothing to be written."""
    if row.state == State.READY and not row.to_write:
        raise ConflictError(worded("Nothing in this file is new or changed."))
    _turn(row, State.READY, State.WRITING, worded("This file does not wait to be imported."))
    return _continue(row, steps=row.total)


def import_discard(*, row: CurationImport) -> None:
    """A file that nothing came of. Raises ConflictError."""
    waiting = (*CurationImport.UNDECIDED, State.FAILED)
    rows = CurationImport.objects.filter(pk=row.pk, state__in=waiting)
    if row.written or not rows.delete()[0]:
        raise ConflictError(worded("This file has been imported: take it back instead."))


def import_take_back(*, row: CurationImport) -> CurationImport:
    """All that it wrote, but what has been changed since. Raises ConflictError."""
    former = State.FAILED if row.state == State.FAILED and row.written else State.DONE
    too_late = worded("This import cannot be taken back any more.")
    if not row.written or timezone.now() > row.created_at + KEPT:
        raise ConflictError(too_late)
    _turn(row, former, State.UNDOING, too_late)
    return _continue(row, steps=row.written)


def _turn(row: CurationImport, former: str, state: str, refusal: str) -> None:
    rows = CurationImport.objects.filter(pk=row.pk, state=former)
    if not rows.update(state=state, done=0, error=None):
        raise ConflictError(refusal)


def _continue(row: CurationImport, *, steps: int) -> CurationImport:
    if steps <= AT_ONCE_ROWS:
        _work(row.pk)
        row.refresh_from_db()
    else:
        transaction.on_commit(partial(enqueue, TASK))
        row.refresh_from_db()
    return row


def _table(kind: str, text: str) -> CsvTable:
    resource = RESOURCES[kind]
    return table_read(text, resource.columns, resource.required)


# ------------------------------------------------------------------------------------------------ work
def imports_work() -> int:
    """All that waits for a worker. Returns how many it has worked on."""
    waiting = CurationImport.objects.filter(run_out(), state__in=CurationImport.WORKED_ON)
    keys = list(waiting.order_by("created_at").values_list("pk", flat=True))
    return sum(_work(key) for key in keys)


def _work(import_id: UUID) -> bool:
    """To the end, whatever happens. False: somebody else does."""
    rows = CurationImport.objects.filter(state__in=CurationImport.WORKED_ON)
    lease = Lease(rows, import_id, seconds=LEASE_S)
    if not lease.take():
        return False
    row = CurationImport.objects.select_related("by").get(pk=import_id)
    try:
        desk_access(row.by, "curate")
        resource = RESOURCES[row.kind](by=row.by)
        with disable_auditlog():  # an import is one entry of the log
            ACTS[State(row.state)](row, row.by, resource, lease)
    except LeaseLostError:
        return False
    except AppError as error:
        _fail(lease, error.message)
    except Exception:
        logger.exception("the import %s failed", import_id)
        _fail(lease, worded("Something went wrong. What had been imported until then stays."))
    return True


def _fail(lease: Lease, message: str) -> None:
    error = {"text": message, "wording": wording_of(message)}
    lease.release(state=State.FAILED, error=error, finished_at=timezone.now())


def _check(row: CurationImport, by: User, resource: CurationResource, lease: Lease) -> None:
    """The findings of a killed process are found again: later rows may repeat it."""
    _begin(row, wrong=0)
    row.parts.all().delete()
    lines = _table(row.kind, row.text).lines
    while batch := lines[row.done : row.done + BATCH]:
        with transaction.atomic():
            lease.check()
            one_at_a_time()  # another curator may be making the same
            outcomes = resource.take_in(batch, dry_run=True)
            wrong = _wrong_rows(row.columns, batch, outcomes)
            CurationImportPart.objects.create(
                of=row, start=row.done, lines=len(batch), seen=resource.seen, wrong=wrong
            )
            _count(row, outcomes)
            row.done += len(batch)
            lease.renew(done=row.done, counts=row.counts, samples=row.samples)
    lease.release(state=State.READY)


def _write(row: CurationImport, by: User, resource: CurationResource, lease: Lease) -> None:
    """What the check took, as it was then."""
    if not row.done:
        _begin(row, wrong=row.counts["wrong"])
    lines = _table(row.kind, row.text).lines
    for key in row.parts.filter(start__gte=row.done).values_list("pk", flat=True):
        with transaction.atomic():
            lease.check()
            one_at_a_time()
            part = CurationImportPart.objects.get(pk=key)
            rows = lines[part.start : part.start + part.lines]
            batch = [line for line in rows if str(line.number) in part.seen]
            outcomes = resource.take_in(batch, dry_run=False, expected=part.seen)
            wrong = part.wrong + _wrong_rows(row.columns, batch, outcomes)
            part.wrong = sorted(wrong, key=itemgetter("row"))
            part.undo = resource.undo
            part.written = len(part.undo)
            part.save(update_fields=["wrong", "undo", "written"])
            _count(row, outcomes)
            row.done = part.start + part.lines
            lease.renew(done=row.done, counts=row.counts, samples=row.samples)
    with transaction.atomic():
        if lease.release(state=State.DONE, text="", finished_at=timezone.now()):
            file_log(user=by, kind=DeskEvent.Kind.IMPORT, what=row.kind, counts=row.counts)


def _begin(row: CurationImport, *, wrong: int) -> None:
    row.counts = {"new": 0, "changed": 0, "unchanged": 0, "wrong": wrong}
    row.samples = {}
    row.done = 0


def _count(row: CurationImport, outcomes: Sequence[RowOutcome]) -> None:
    for outcome in outcomes:
        row.counts[outcome.kind] += 1
        samples = row.samples.setdefault(outcome.kind, [])
        if outcome.kind != "wrong" and len(samples) < SAMPLES:
            samples.append([outcome.number, outcome.label])


def _wrong_rows(
    columns: Sequence[str], lines: Sequence[CsvRow], outcomes: Sequence[RowOutcome]
) -> list[dict[str, Any]]:
    return [
        {
            "row": outcome.number,
            "label": outcome.label,
            "text": str(outcome.reason),
            "wording": wording_of(outcome.reason),
            "cells": [line.cells.get(name, "") for name in columns],
        }
        for line, outcome in zip(lines, outcomes, strict=True)
        if outcome.kind == "wrong"
    ]


def _undo(row: CurationImport, by: User, resource: CurationResource, lease: Lease) -> None:
    """The last part first: what it was made from is there again. What was taken back before an error stays so."""
    waiting = row.parts.filter(written__gt=0, kept__isnull=True).order_by("-start")
    row.done = sum(row.parts.filter(kept__isnull=False).values_list("written", flat=True))
    for key in waiting.values_list("pk", flat=True):
        with transaction.atomic():
            lease.check()
            one_at_a_time()
            part = CurationImportPart.objects.get(pk=key)
            part.kept = resource.take_back(part.undo[::-1])
            part.stayed = len(part.kept)
            part.save(update_fields=["kept", "stayed"])
            row.done += part.written
            lease.renew(done=row.done)
    with transaction.atomic():
        if lease.release(state=State.UNDONE, finished_at=timezone.now()):
            stayed = row.stayed
            counts = {"taken_back": row.written - stayed, "kept": stayed}
            file_log(user=by, kind=DeskEvent.Kind.TAKE_BACK, what=row.kind, counts=counts)


ACTS = {State.CHECKING: _check, State.WRITING: _write, State.UNDOING: _undo}


# ------------------------------------------------------------------------------------------------ in the end
def imports_expired(*, now: datetime) -> QuerySet[CurationImport]:
    """Files whose time is over; one that is worked on is waited for."""
    old = CurationImport.objects.filter(created_at__lt=now - KEPT)
    return old.exclude(state__in=CurationImport.WORKED_ON)


def imports_erase() -> None:
    imports_expired(now=timezone.now()).delete()
