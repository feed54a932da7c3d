"""How long the site keeps what, what would go tonight, and what went last night."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.models import RetentionRun
from chat.review.pages import desk_page
from chat.review.retention.runs import kinds_over, last_run, next_run
from chat.review.roles import DeskAccess
from ragsite.core.localized import localized
from ragsite.core.retention import Kind, Over

COUNTED = 10_000  # rows of a kind are counted up to here


@desk_page("administer")
def retention_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    now = timezone.now()
    run = last_run()
    rows = [_row(kind, gone, run) for kind, gone in kinds_over(now=now, most=COUNTED)]
    context = {
        "section": "review",
        "desk_part": "retention",
        "access": access,
        "set": [row for row in rows if row["variable"]],
        "fixed": [row for row in rows if not row["variable"]],
        "run": run,
        "run_open": run is not None and run.state == RetentionRun.State.OPEN,
        "next": next_run(now=now),
        "failed": [row["title"] for row in rows if run is not None and row["name"] in run.failed],
    }
    return render(request, "review/retention.html", context)


def _row(kind: Kind, gone: Over, run: RetentionRun | None) -> dict[str, Any]:
    return {
        "name": kind.name,
        "title": localized(kind.title),
        "rule": localized(kind.rule),
        "variable": kind.variable(),
        "kept": _kept(kind, kind.age()),
        "count": gone.count,
        "more": gone.more,
        "oldest": _local(gone.oldest),
        "newest": _local(gone.newest),
        "last": (run.deleted.get(kind.name, 0) if run else None),
    }


def _kept(kind: Kind, age: timedelta | None) -> str:
    if age is None:
        return _("for good")
    if not age:
        return _("none is stored") if kind.setting else _("until its own end")
    return ngettext("{count} day", "{count} days", age.days).format(count=age.days)


def _local(moment: datetime | None) -> datetime | None:
    return timezone.localtime(moment) if moment else None
