"""The log as a page and as a file, with its filters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import MAXYEAR, date, datetime, time, timedelta
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import get_language, gettext_lazy, override
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from chat.models import DeskEvent
from chat.review.desk_page import desk_page
from chat.review.marks import file_log
from chat.review.roles import DeskAccess
from feedback.curation.transfer.csv_table import BYTE_ORDER_MARK, table_lines
from ragsite.administration.log import KINDS, LogEntry, LogFilters, LogPage, log_page_of
from ragsite.core.database import database_call, own_database_thread
from ragsite.core.errors import InvalidInputError
from ragsite.core.messages import worded

ENTRIES_A_PAGE = 100
ENTRIES_AT_ONCE = 1_000  # of the file
FILTERS = ("by", "kind", "since", "until")
FIRST_DAY = date(
    1970, 1, 1
)  # nothing is older; the first and last days of the calendar have no midnight everywhere
HEAD = ("at", "by", "kind", "what", "of", "changes")


class LogFilterForm(forms.Form):
    by = forms.CharField(label=gettext_lazy("Who"), required=False, max_length=150)
    kind = forms.ChoiceField(label=gettext_lazy("About"), required=False)
    since = forms.DateField(
        label=gettext_lazy("From"), required=False, widget=forms.DateInput({"type": "date"})
    )
    until = forms.DateField(
        label=gettext_lazy("To"), required=False, widget=forms.DateInput({"type": "date"})
    )

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data)
        kind: Any = self.fields["kind"]
        kind.choices = [("", _("Everything")), *KINDS.items()]
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"

    def chosen(self, before: datetime | None) -> LogFilters:
        """Of a valid form."""
        values = self.cleaned_data
        until = values["until"]
        return LogFilters(
            by=values["by"].strip(),
            kind=values["kind"],
            since=_midnight(values["since"]) if values["since"] else None,
            until=_midnight(until + timedelta(days=1)) if until and until < date.max else None,
            before=before,
        )


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(max(day, FIRST_DAY), time.min))


def _before(text: str) -> datetime | None:
    """As the link to what is earlier writes it. Raises InvalidInputError."""
    if not text:
        return None
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None or timezone.is_naive(moment) or not FIRST_DAY.year <= moment.year < MAXYEAR:
        raise InvalidInputError(worded("“before” is no date and time with its zone."))
    return moment


@never_cache
@desk_page("administer", query=(*FILTERS, "before"))
def log_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """What was done in the administration and at the review desk, the latest first. before: only what is older."""
    form = LogFilterForm(request.GET)
    page = LogPage([], None)
    if form.is_valid():
        before = _before(request.GET.get("before", ""))
        page = _read(form.chosen(before), ENTRIES_A_PAGE, access)
    context = {
        "section": "administration",
        "place": "log",
        "form": form,
        "query": _query(request),
        "entries": page.entries,
        "with_values": access.user.is_superuser,
        "before": page.before.isoformat() if page.before else "",
    }
    return render(request, "administration/log.html", context, status=400 if form.errors else 200)


@never_cache
@desk_page("administer", query=FILTERS)
def log_export(request: HttpRequest, *, access: DeskAccess) -> Any:
    """All that the filters let through, sent while it is read. It is an entry of the log itself."""
    form = LogFilterForm(request.GET)
    if not form.is_valid():
        return redirect(f"{reverse('administration_log')}?{_query(request)}")
    file_log(user=access.user, kind=DeskEvent.Kind.EXPORT, what="log", counts={})
    name = f"log-{timezone.localdate():%Y-%m-%d}.csv"
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Accel-Buffering": "no",
    }
    lines = _lines(form.chosen(None), access)
    return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8", headers=headers)


async def _lines(chosen: LogFilters, access: DeskAccess) -> AsyncIterator[str]:
    language = get_language() or "en"
    yield BYTE_ORDER_MARK + table_lines([HEAD])
    while True:
        async with own_database_thread():  # not around a `yield`
            page = await database_call(_read_in, language, chosen, access)
        yield table_lines(map(_cells, page.entries))
        if page.before is None:
            return
        chosen = replace(chosen, before=page.before)


def _read_in(language: str, chosen: LogFilters, access: DeskAccess) -> LogPage:
    with override(language):
        return _read(chosen, ENTRIES_AT_ONCE, access)


def _read(chosen: LogFilters, most: int, access: DeskAccess) -> LogPage:
    return log_page_of(chosen=chosen, most=most, with_values=access.user.is_superuser)


def _cells(entry: LogEntry) -> list[str]:
    changes = [f"{one.name}: {one.old or '–'} → {one.new or '–'}" for one in entry.changes]
    moment = timezone.localtime(entry.at).isoformat(timespec="seconds")
    return [moment, entry.by, entry.kind, entry.what, entry.of, "\n".join(changes)]


def _query(request: HttpRequest) -> str:
    """The filters in the address."""
    query = QueryDict(mutable=True)
    query.update({name: request.GET[name] for name in FILTERS if request.GET.get(name)})
    return query.urlencode()
