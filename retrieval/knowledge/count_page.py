"""The page that counts and lists over all documents: a form whose address holds what was asked, and CSV of all rows."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from ragsite.core.api.error_responses import as_app_error, sentences, told
from ragsite.core.api.fields import checked
from ragsite.core.api.user import asking_user
from ragsite.core.localized import localized
from ragsite.core.text import spreadsheet_cell
from retrieval.engine.text.count_sentences import count_sentence, count_sentences
from retrieval.engine.values.counting import MAX_RULES, CountedRow, CountResult
from retrieval.knowledge.api.count import CountInputSerializer, counted_for
from retrieval.knowledge.selectors import collections_offered

MAX_CSV_ROWS = 10_000
MAX_CSV_COLUMNS = 100
RULE_FIELDS = ("column", "operator", "value", "upper")
TEXTS = ("unit", "words", "match", "added_from", "added_to")
YEARS = ("year_from", "year_to")
FILTERS = ("department", "doc_type")
NAMES = ("collection", "tags")
BYTE_ORDER_MARK = "\ufeff"  # spreadsheets read a file without it in the computer's own encoding


class _Echo:
    """What `csv` writes into: gives the line back."""

    def write(self, line: str) -> str:
        return line


@require_safe
@login_required
@ensure_csrf_cookie
def count_page(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """A form, and below it what it comes to, where it was sent."""
    user = asking_user(request)
    as_csv = "csv" in request.GET
    body = body_of(request.GET)
    result = None
    problems: list[str] = []
    if request.GET:
        try:
            valid = checked(CountInputSerializer, body)
            limit = {"limit": MAX_CSV_ROWS} if as_csv else {}
            result = counted_for(user=user, body={**valid, **limit})
        except Exception as error:  # what is none of ours goes on
            if (known := as_app_error(error)) is None:
                raise
            what = told(known)
            problems = [sentence for _name, sentence in sentences(what["fields"])]
            problems = problems or [what["message"]]
    if as_csv and result is not None:
        return _csv_response(result)
    context = {
        "section": "documents",
        "collections": collections_offered(user=user),
        "given": dict.fromkeys((*TEXTS, *YEARS, *FILTERS, *NAMES), "") | request.GET.dict(),
        "rules": _rules_shown(body),
        "operators": _operators(),
        "problems": problems,
        "result": result,
        "said": localized(count_sentences(result)) if result else [],
        "query": request.GET.urlencode(),
    }
    return render(request, "documents/count.html", context, status=400 if problems else 200)


def body_of(sent: QueryDict) -> dict[str, Any]:
    """The parameters as the body of `POST /api/count`; what is empty is left out."""
    body: dict[str, Any] = {name: text.strip() for name in TEXTS if (text := sent.get(name))}
    body |= {name: _number(text) for name in YEARS if (text := sent.get(name))}
    filters: dict[str, Any] = {name: text.strip() for name in FILTERS if (text := sent.get(name))}
    if tags := [tag for part in sent.get("tags", "").split(",") if (tag := part.strip())]:
        filters["tags"] = tags
    if filters:
        body["filters"] = filters
    if sent.get("collection"):
        body["collections"] = [sent["collection"]]
    if rules := _rules(sent):
        body["columns"] = rules
    return body


def _rules(sent: QueryDict) -> list[dict[str, str]]:
    """Those that name a column or a value; what a row of the form lacks is told by its check."""
    lists = [sent.getlist(name) for name in RULE_FIELDS]
    rules = []
    for at in range(min(max(map(len, lists)), MAX_RULES + 1)):
        rule = {
            name: values[at].strip() if at < len(values) else ""
            for name, values in zip(RULE_FIELDS, lists, strict=True)
        }
        if rule["column"] or rule["value"]:
            rule["operator"] = rule["operator"] or "="
            rules.append(rule)
    return rules


def _number(text: str) -> int | str:
    """What is none is refused where it is checked."""
    plain = text.strip()
    return int(plain) if plain.isdecimal() and len(plain) < 10 else plain


def _rules_shown(body: dict[str, Any]) -> list[dict[str, str]]:
    """Those that were sent, and an empty one as long as there may be more."""
    rules = list(body.get("columns", []))
    empty = dict.fromkeys(RULE_FIELDS, "")
    return [*rules, empty] if len(rules) < MAX_RULES else rules[:MAX_RULES]


def _operators() -> list[tuple[str, str]]:
    return [
        ("=", _("is")),
        ("contains", _("contains")),
        ("<", _("is less than, or before")),
        ("<=", _("is at most, or until")),
        (">", _("is more than, or after")),
        (">=", _("is at least, or from")),
        ("between", _("is between")),
    ]


# ------------------------------------------------------------------------------------------------ CSV
def _csv_response(result: CountResult) -> StreamingHttpResponse:
    response = StreamingHttpResponse(_csv_lines(result), content_type="text/csv; charset=utf-8")
    name = f"count-{timezone.localdate():%Y-%m-%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _csv_lines(result: CountResult) -> Iterator[str]:
    """The rows; the last line says how many of how many they are, and what they lack."""
    writer = csv.writer(_Echo())
    names = dict.fromkeys(name for row in result.rows for name, _value in row.cells)
    columns = list(names)[:MAX_CSV_COLUMNS]
    head = [_("Document"), _("Page"), _("Heading"), _("Evidence"), _("Link"), *columns]
    yield BYTE_ORDER_MARK
    yield writer.writerow(list(map(spreadsheet_cell, head)))
    for row in result.rows:
        yield writer.writerow(_csv_cells(row, columns))
    yield writer.writerow([spreadsheet_cell(str(localized(count_sentence(result))))])


def _csv_cells(row: CountedRow, columns: Sequence[str]) -> list[str]:
    cells: dict[str, str] = {}
    for name, value in row.cells:
        cells.setdefault(name, value)
    first = row.evidence[0].chunk if row.evidence else None
    page = str(first.page) if first and first.page else ""
    place = f"#chunk-{first.chunk_id}" if first else ""
    texts = [
        row.title,
        page,
        first.heading if first else "",
        "\n".join(one.text for one in row.evidence),
        f"/documents/{row.document_id}/{place}",
        *(cells.get(name, "") for name in columns),
    ]
    return [spreadsheet_cell(text) for text in texts]
