"""The page that counts and lists over all documents: a form whose address holds what was asked, and CSV of all rows."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from ragsite.core.api.error_responses import as_app_error, sentences, told
from ragsite.core.api.fields import checked
from ragsite.core.api.user import asking_user
from ragsite.core.localized import localized
from ragsite.core.text import spreadsheet_cell
from retrieval.engine.text.count_sentences import count_sentence, count_sentences
from retrieval.engine.text.mentions import mentions_of, shown_around
from retrieval.engine.text.records import column_key
from retrieval.engine.values.counting import MAX_RULES, CountedRow, CountResult
from retrieval.knowledge.api.count import MAX_WORDS_CHARS, CountInputSerializer, counted_for
from retrieval.knowledge.choices import collections_offered
from retrieval.knowledge.selectors import default_collections

MAX_CSV_ROWS = 10_000
MAX_CSV_COLUMNS = 100
MAX_CSV_UNREAD = 1000  # rows that could not be compared
MAX_CELL_CHARS = 300
QUESTION = "question"  # of an answer that leads here: its words stand in the form until it is sent
MAX_SEARCHED_NAMED = 30  # collections
Column = tuple[str, int]  # key, and the how manieth of it in its row
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
    question = request.GET.get(QUESTION, "")[:MAX_WORDS_CHARS]
    if request.GET.keys() - {QUESTION}:
        try:
            valid = checked(CountInputSerializer, body)
            if as_csv:
                whole = {**valid, "limit": MAX_CSV_ROWS}
                result = counted_for(user=user, body=whole, most_unread=MAX_CSV_UNREAD)
            else:
                result = counted_for(user=user, body=valid)
        except Exception as error:  # what is none of ours goes on
            if (known := as_app_error(error)) is None:
                raise
            what = told(known)
            told_of = sentences(what["fields"])
            problems = list(dict.fromkeys(_problem(path, said) for path, said in told_of))
            problems = problems or [what["message"]]
    if as_csv and result is not None:
        return _csv_response(result)
    searched = default_collections(user).order_by("name").values_list("name", flat=True)
    context = {
        "section": "documents",
        "collections": collections_offered(user=user),
        "searched": list(searched[:MAX_SEARCHED_NAMED]),
        "searched_more": max(0, searched.count() - MAX_SEARCHED_NAMED),
        "given": dict.fromkeys((*TEXTS, *YEARS, *FILTERS, *NAMES), "")
        | {"words": question}
        | request.GET.dict(),
        "rules": _rules_shown(body),
        "operators": _operators(),
        "problems": problems,
        "result": result,
        "rows": _rows_of_page(result, body) if result else [],
        "said": localized(count_sentences(result)) if result else [],
        "query": request.GET.urlencode(),
    }
    return render(request, "documents/count.html", context, status=400 if problems else 200)


def _rows_of_page(result: CountResult, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each row, and of its cells the parts that are shown: those with the words, where the cell is long."""
    mentions = mentions_of(body.get("words", ""), body.get("match", "all"))
    return [
        {
            "row": row,
            "cells": [
                (name, shown_around(value, mentions, MAX_CELL_CHARS)) for name, value in row.cells
            ],
        }
        for row in result.rows
    ]


def _problem(path: str, sentence: str) -> str:
    """With the name of the form's field that it is about."""
    label = _labels().get(path.rpartition(".")[2])
    return _("{field}: {problem}").format(field=label, problem=sentence) if label else sentence


def _labels() -> dict[str, str]:
    return {
        "words": _("Words"),
        "column": _("Column"),
        "value": _("Value"),
        "upper": _("Upper end"),
        "year_from": _("Year from"),
        "year_to": _("Year to"),
        "added_from": _("Added from"),
        "added_to": _("Added until"),
    }


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
    """Those that name a column or a value; validation reports what a row of the form lacks."""
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
        ("<", _("is below, before")),
        ("<=", _("is at most, until")),
        (">", _("is above, after")),
        (">=", _("is at least, from")),
        ("between", _("is between")),
    ]


# ------------------------------------------------------------------------------------------------ CSV
def _csv_response(result: CountResult) -> StreamingHttpResponse:
    response = StreamingHttpResponse(_csv_lines(result), content_type="text/csv; charset=utf-8")
    name = f"count-{timezone.localdate():%Y-%m-%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _csv_lines(result: CountResult) -> Iterator[str]:
    """The rows; then how many of how many they are and what they lack, the columns that had no room, and the rows that
    could not be compared."""
    writer = csv.writer(_Echo())
    labels = _column_labels(result.rows)
    columns = list(labels)[:MAX_CSV_COLUMNS]
    head = [_("Document"), _("Page"), _("Heading"), _("Evidence"), _("Link")]
    yield BYTE_ORDER_MARK
    yield _csv_line(writer, [*head, *(labels[column] for column in columns)])
    for row in result.rows:
        yield _csv_line(writer, _csv_cells(row, columns))
    yield _csv_line(writer, [str(localized(count_sentence(result)))])
    if len(columns) < len(labels):
        names = ", ".join(list(labels.values())[MAX_CSV_COLUMNS:])
        yield _csv_line(writer, [_("Columns left out: {names}").format(names=names)])
    for cell in result.unread:
        reason = _("Could not be compared")
        yield _csv_line(writer, [cell.title, "", "", f"{cell.column}: {cell.value}", reason])
    if len(result.unread) < result.unread_cells:
        more = result.unread_cells - len(result.unread)
        said = ngettext(
            "{count} more row could not be compared.",
            "{count} more rows could not be compared.",
            more,
        )
        yield _csv_line(writer, [said.format(count=more)])


def _csv_line(writer: Any, cells: Iterable[str]) -> str:
    line: str = writer.writerow(list(map(spreadsheet_cell, cells)))
    return line


def _column_labels(rows: Iterable[CountedRow]) -> dict[Column, str]:
    """All columns, in their order, as they are first spelt; the second one of a name in a table has its number."""
    labels: dict[Column, str] = {}
    for row in rows:
        for column, name, _value in _numbered(row):
            number = column[1]
            labels.setdefault(column, name if number == 1 else f"{name} ({number})")
    return labels


def _numbered(row: CountedRow) -> Iterator[tuple[Column, str, str]]:
    """Column, name and value of each cell."""
    seen: Counter[str] = Counter()
    for name, value in row.cells:
        key = column_key(name)
        seen[key] += 1
        yield (key, seen[key]), name, value


def _csv_cells(row: CountedRow, columns: Sequence[Column]) -> list[str]:
    cells = {column: value for column, _name, value in _numbered(row)}
    first = row.evidence[0].chunk if row.evidence else None
    page = str(first.page) if first and first.page else ""
    place = f"#chunk-{first.chunk_id}" if first else ""
    return [
        row.title,
        page,
        first.heading if first else "",
        "\n".join(one.text for one in row.evidence),
        f"/documents/{row.document_id}/{place}",
        *(cells.get(column, "") for column in columns),
    ]
