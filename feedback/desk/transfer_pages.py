"""Checked answers and test questions as CSV at the desk: the file out, and the way of one in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.review.desk_page import desk_page
from chat.review.roles import DeskAccess
from feedback.curation.transfer.csv_table import ERROR_COLUMN, MAX_BYTES, MAX_ROWS, table_write
from feedback.curation.transfer.exports import RESOURCES, curation_export, export_extent
from feedback.curation.transfer.imports import (
    KEPT,
    import_confirm,
    import_discard,
    import_get,
    import_start,
    import_take_back,
    imports_list,
)
from feedback.desk.acting import problem_sentence
from feedback.models import CurationImport
from ragsite.core.errors import AppError, NotFoundError, TooLargeError
from ragsite.core.localized import localized_text
from ragsite.core.messages import worded

WRONG_SHOWN = 100
PARTS_READ = 10  # of an import at once, of up to a hundred rows each
IMPORTS_SHOWN = 20
LISTS = {
    CurationImport.Kind.CURATED: "review_curated",
    CurationImport.Kind.GOLDEN: "review_golden",
}
State = CurationImport.State


@desk_page("curate", query=("kind",))
def export_file(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    export = curation_export(by=access.user, kind=_kind(request))
    return csv_response(export.text, f"{_kind(request)}-{timezone.localdate():%Y-%m-%d}.csv")


@desk_page("curate", methods=("GET", "HEAD", "POST"), query=("kind",))
def import_new(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """The form, with what the columns hold, and the person's imports of the last days."""
    kind = _kind(request)
    problem = ""
    if request.method == "POST":
        try:
            row = import_start(by=access.user, kind=kind, **_file(request))
        except AppError as error:
            problem = problem_sentence(error)
        else:
            return redirect("review_import", import_id=row.pk)
    resource = RESOURCES[kind]
    context = {
        "section": "review",
        "kind": kind,
        "list": LISTS[CurationImport.Kind(kind)],
        "problem": problem,
        "required": resource.required,
        "most_rows": MAX_ROWS,
        "extent": export_extent(by=access.user, kind=kind),
        "most_mib": MAX_BYTES // 1024 // 1024,
        "imports": imports_list(by=access.user).filter(kind=kind)[:IMPORTS_SHOWN],
        "days": KEPT.days,
    }
    return render(request, "review/import_new.html", context, status=400 if problem else 200)


@desk_page("curate", methods=("GET", "HEAD", "POST"))
def import_page(request: HttpRequest, *, access: DeskAccess, import_id: UUID) -> HttpResponse:
    """The preview, then the result; POST goes on, by `action`."""
    row = import_get(by=access.user, import_id=import_id)
    if request.method == "POST":
        return _act(request, row)
    is_open = row.state in CurationImport.WORKED_ON
    holds = (
        row.state != State.UNDONE
    )  # what the file held is no longer here, so it is not called new
    wrong = first_wrong(row)
    context = {
        "section": "review",
        "row": row,
        "list": LISTS[CurationImport.Kind(row.kind)],
        "open": is_open,
        "counts": _counts(row) if holds else [],
        "wrong": [_wrong(one) for one in wrong],
        "wrong_name": _wrong_name(row),
        "wrong_left": max(0, row.counts.get("wrong", 0) - len(wrong)),
        "samples": _samples(row) if holds else [],
        "error": localized_text(row.error["text"], row.error["wording"]) if row.error else "",
        "can_discard": row.state in (State.READY, State.FAILED) and not row.written,
        "can_take_back": may_take_back(row),
        "until": row.created_at + KEPT,
        "steps": row.written if row.state == State.UNDOING else row.total,
        "taken_back": row.written - row.stayed,
    }
    return render(request, "review/import.html", context)


@desk_page("curate")
def import_errors(request: HttpRequest, *, access: DeskAccess, import_id: UUID) -> HttpResponse:
    row = import_get(by=access.user, import_id=import_id)
    return csv_response(wrong_rows(row), "not-imported.csv")


def _act(request: HttpRequest, row: CurationImport) -> HttpResponse:
    try:
        match request.POST.get("action"):
            case "confirm":
                import_confirm(row=row)
            case "discard":
                import_discard(row=row)
                messages.success(request, _("Discarded. Nothing was imported."))
                return redirect(LISTS[CurationImport.Kind(row.kind)])
            case "take_back":
                import_take_back(row=row)
            case _:
                raise NotFoundError
    except NotFoundError as error:
        raise Http404 from error
    except AppError as error:
        messages.error(request, problem_sentence(error))
    return redirect("review_import", import_id=row.pk)


# ------------------------------------------------------------------------------------------------ with the API
def csv_response(text: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)


def wrong_rows(row: CurationImport) -> str:
    """Those that were not taken, in the columns of their file, with what is wrong with each."""
    rows = [[*one["cells"], reason_of(one)] for one in _wrong_of(row)]
    return table_write([[*row.columns, ERROR_COLUMN], *rows])


def first_wrong(row: CurationImport) -> list[dict[str, Any]]:
    """At most WRONG_SHOWN."""
    return list(islice(_wrong_of(row), WRONG_SHOWN))


def _wrong_of(row: CurationImport) -> Iterator[dict[str, Any]]:
    parts = row.parts.exclude(wrong=[]).order_by("start").values_list("wrong", flat=True)
    for wrong in parts.iterator(PARTS_READ):
        yield from wrong


def reason_of(wrong: dict[str, Any]) -> str:
    return localized_text(wrong["text"], wrong["wording"])


def may_take_back(row: CurationImport) -> bool:
    is_written = row.state in (State.DONE, State.FAILED) and row.written > 0
    return is_written and timezone.now() <= row.created_at + KEPT


# ------------------------------------------------------------------------------------------------ what is shown
def _kind(request: HttpRequest) -> str:
    kind = request.GET.get("kind", "")
    if kind not in RESOURCES:
        raise NotFoundError
    return kind


def _file(request: HttpRequest) -> dict[str, Any]:
    """Raises AppError where there is none, or a larger one than is read."""
    file = request.FILES.get("file")
    if file is None:
        raise AppError(worded("Choose a file."))
    if (file.size or 0) > MAX_BYTES:
        raise TooLargeError(
            worded("The file has more than {most} MiB; split it.", most=MAX_BYTES // 1024 // 1024)
        )
    return {"data": file.read(), "file_name": file.name or ""}


def _wrong_name(row: CurationImport) -> str:
    return _("Cannot be imported") if row.state in row.UNDECIDED else _("Not imported")


def _counts(row: CurationImport) -> list[tuple[str, str, int]]:
    names = {
        "new": _("New"),
        "changed": _("Changed"),
        "unchanged": _("Unchanged"),
        "wrong": _wrong_name(row),
    }
    return [(kind, name, row.counts[kind]) for kind, name in names.items() if row.counts]


def _samples(row: CurationImport) -> list[tuple[str, list[Any], int]]:
    """Of each kind its first rows, and how many more there are."""
    names = {"new": _("New"), "changed": _("Changed"), "unchanged": _("Unchanged")}
    return [
        (name, row.samples[kind], row.counts[kind] - len(row.samples[kind]))
        for kind, name in names.items()
        if row.samples.get(kind)
    ]


def _wrong(one: dict[str, Any]) -> tuple[int, str, str]:
    return one["row"], one["label"], reason_of(one)
