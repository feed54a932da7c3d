"""What is to be counted, as a model reads it from the question: a filter of words, metadata and columns.

The model chooses among the values and columns that the documents have; it never counts. What it names otherwise is not
guessed at: then nothing is counted, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import RouteDetails
from retrieval.engine.providers.reply_form import limited, shaped
from retrieval.engine.steps.query.route import MAX_LISTED, listed
from retrieval.engine.steps.step import step
from retrieval.engine.text.cell_values import bound_of
from retrieval.engine.text.quoting import one_line
from retrieval.engine.text.records import column_key
from retrieval.engine.trace import note, skip
from retrieval.engine.values import Question, SearchFilters, Vocabulary
from retrieval.engine.values.counting import (
    MAX_RULES,
    ColumnRule,
    CountFilter,
    Operator,
    TableColumn,
)

FIRST_YEAR = 1000
LAST_YEAR = 9999
KINDS = {"number": "a number", "date": "a date", "text": "a text"}


class ReadRule(BaseModel):
    """A comparison. upper: of "between" alone."""

    column: str = ""
    operator: Operator = "="
    value: str = ""
    upper: str = ""


class CountReading(BaseModel):
    """Empty fields are no condition. phrase: the words belong together."""

    columns: Annotated[list[ReadRule], limited(maxItems=MAX_RULES)] = []
    words: Annotated[str, limited(maxLength=120)] = ""
    phrase: bool = False
    department: str = ""
    doc_type: str = ""
    year_from: int | None = None
    year_to: int | None = None
    unit: Literal["document", "row"] = "document"


def unread(
    deps: Deps, question: Question, vocabulary: Vocabulary, columns: Sequence[TableColumn]
) -> None:
    return None


@step("route", fallback=unread)
async def read_count(
    deps: Deps, question: Question, vocabulary: Vocabulary, columns: Sequence[TableColumn]
) -> CountFilter | None:
    """None: no model has read it, or it names nothing that could be counted by."""
    reply = await deps.complete(
        "count_filter",
        shaped(
            CountReading,
            department={"enum": [*vocabulary.departments[:MAX_LISTED], ""]},
            doc_type={"enum": [*vocabulary.doc_types[:MAX_LISTED], ""]},
        ),
        departments=listed(vocabulary.departments),
        doc_types=listed(vocabulary.doc_types),
        columns="\n".join(map(_offered, columns[:MAX_LISTED])) or "-",
        question=question.standalone,
    )
    counted = _filter(reply, question, vocabulary, columns)
    if counted is None:
        skip("count_not_read")
        return None
    note("count_read", RouteDetails(task="count", filters=filter_details(counted)))
    return counted


def _offered(column: TableColumn) -> str:
    return f"- {one_line(column.name)}: {KINDS[column.kind]}"


def _filter(
    reply: CountReading,
    question: Question,
    vocabulary: Vocabulary,
    columns: Sequence[TableColumn],
) -> CountFilter | None:
    rules = []
    names = {column_key(column.name): column.name for column in columns}
    for rule in reply.columns:
        if not rule.column and not rule.value:
            continue
        name = names.get(column_key(rule.column))
        if name is None or not _is_comparable(rule):
            return None
        rules.append(
            ColumnRule(
                column=name,
                operator=rule.operator,
                value=rule.value,
                upper=rule.upper if rule.operator == "between" else "",
            )
        )
    given = question.filters
    department = reply.department if reply.department in vocabulary.departments else None
    doc_type = reply.doc_type if reply.doc_type in vocabulary.doc_types else None
    metadata = SearchFilters(
        department=given.department or department,
        doc_type=given.doc_type or doc_type,
        policy_year=given.policy_year,
        tags=given.tags,
        documents=given.documents,
    )
    counted = CountFilter(
        unit="row" if rules and reply.unit == "row" else "document",
        words=reply.words.strip(),
        match="phrase" if reply.phrase else "all",
        metadata=metadata,
        year_from=_year(reply.year_from),
        year_to=_year(reply.year_to),
        columns=tuple(rules),
    )
    named_nothing = replace(counted, unit="document", match="all") == CountFilter()
    return None if named_nothing else counted


def _year(given: int | None) -> int | None:
    """Models write 0 for none."""
    return given if given is not None and FIRST_YEAR <= given <= LAST_YEAR else None


def _is_comparable(rule: ReadRule) -> bool:
    if not rule.value:
        return False
    if rule.operator in ("=", "contains"):
        return True
    ends = [rule.value, rule.upper] if rule.operator == "between" else [rule.value]
    return not any(bound_of(end).is_text for end in ends)


def filter_details(counted: CountFilter) -> dict[str, object]:
    """What it names, as JSON."""
    named: dict[str, object] = {
        "unit": counted.unit,
        "words": counted.words,
        "match": counted.match if counted.words else "",
        **counted.metadata.as_dict(),
        "year_from": counted.year_from,
        "year_to": counted.year_to,
        "columns": [
            " ".join(filter(None, (rule.column, rule.operator, rule.value, rule.upper)))
            for rule in counted.columns
        ],
    }
    return {name: value for name, value in named.items() if value}
