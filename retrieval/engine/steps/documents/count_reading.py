"""What is to be counted, as a model reads it from the question: a filter of words, metadata and columns.

The model chooses among the values and columns that the documents have, of many those whose names fit the question's
words best; it never counts. What it names otherwise is not guessed at: then nothing is counted, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import RouteDetails
from retrieval.engine.providers.reply_form import limited, shaped
from retrieval.engine.reasons import Reason
from retrieval.engine.steps.query.route import MAX_LISTED, listed
from retrieval.engine.steps.step import step
from retrieval.engine.text.analysis import terms_of
from retrieval.engine.text.cell_values import bound_of
from retrieval.engine.text.languages import detect_language
from retrieval.engine.text.quoting import one_line
from retrieval.engine.text.records import column_key
from retrieval.engine.text.term_weights import term_weights
from retrieval.engine.trace import degrade, note, running_entry, skip
from retrieval.engine.values import Question, SearchFilters, Vocabulary
from retrieval.engine.values.counting import (
    MAX_RULES,
    ColumnRule,
    Columns,
    CountFilter,
    Operator,
    TableColumn,
)

FIRST_YEAR = 1000
LAST_YEAR = 9999
T = TypeVar("T")
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


def unread(deps: Deps, question: Question, vocabulary: Vocabulary, columns: Columns) -> None:
    return None


@step("route", fallback=unread)
async def read_count(
    deps: Deps, question: Question, vocabulary: Vocabulary, columns: Columns
) -> CountFilter | None:
    """None: no model has read it, or it names nothing that could be counted by. What it names that no document has
    stays as it is: who counts says so."""
    asked = question.standalone
    shown = in_question_order(columns.columns, [one.name for one in columns.columns], asked)
    departments = in_question_order(vocabulary.departments, vocabulary.departments, asked)
    doc_types = in_question_order(vocabulary.doc_types, vocabulary.doc_types, asked)
    reply = await deps.complete(
        "count_filter",
        shaped(
            CountReading,
            department={"enum": [*departments[:MAX_LISTED], ""]},
            doc_type={"enum": [*doc_types[:MAX_LISTED], ""]},
        ),
        departments=listed(departments),
        doc_types=listed(doc_types),
        columns="\n".join(map(_offered, shown[:MAX_LISTED])) or "-",
        question=asked,
    )
    not_offered = _not_offered(columns, departments, doc_types)
    if not_offered:
        running_entry().add(RouteDetails(not_offered=not_offered))
    if not columns.is_whole:
        degrade(_in_part(columns))
    counted = _filter(reply, question, columns.columns)
    if counted is None:
        skip("count_not_read")
        return None
    code = "count_read_of_some" if not_offered else "count_read"
    details = RouteDetails(
        task="count", filters=filter_details(counted), not_offered=not_offered or None
    )
    note(code, details)
    return counted


def in_question_order(things: Sequence[T], names: Sequence[str], question: str) -> list[T]:
    """Those first whose names share words with the question, rare words among the names weighing most; else as they
    were. names: of the things, in their order."""
    pool = [terms_of(name) for name in names]
    weights = term_weights(question, pool)
    scores = [sum(weights.get(term, 0.0) for term in terms) for terms in pool]
    order = sorted(range(len(things)), key=lambda at: -scores[at])
    return [things[at] for at in order]


def _not_offered(
    columns: Columns, departments: Sequence[str], doc_types: Sequence[str]
) -> dict[str, int]:
    """Of each kind how many the model was not shown, where it was not shown all."""
    left_out = {
        "columns": columns.all - min(len(columns.columns), MAX_LISTED),
        "departments": len(departments) - MAX_LISTED,
        "doc_types": len(doc_types) - MAX_LISTED,
    }
    return {name: count for name, count in left_out.items() if count > 0}


def _in_part(columns: Columns) -> Reason:
    values = {
        "looked_at": columns.looked_at,
        "documents": columns.documents + columns.not_read,
    }
    return Reason("columns_in_part", values)


def _offered(column: TableColumn) -> str:
    return f"- {one_line(column.name)}: {KINDS[column.kind]}"


def _filter(
    reply: CountReading, question: Question, columns: Sequence[TableColumn]
) -> CountFilter | None:
    language = detect_language(question.standalone)
    rules = []
    names = {column_key(column.name): column.name for column in columns}
    for read in reply.columns:
        if not read.column and not read.value:
            continue
        name = names.get(column_key(read.column))
        rule = _rule(name, read, language) if name else None
        if rule is None:
            return None
        rules.append(rule)
    if not all(map(_is_year, (reply.year_from, reply.year_to))):
        return None
    given = question.filters
    metadata = SearchFilters(
        department=given.department or reply.department.strip() or None,
        doc_type=given.doc_type or reply.doc_type.strip() or None,
        policy_year=given.policy_year,
        tags=given.tags,
        documents=given.documents,
    )
    words = reply.words.strip()
    counted = CountFilter(
        unit="row" if (rules or words) and reply.unit == "row" else "document",
        words=words,
        match="phrase" if reply.phrase else "all",
        metadata=metadata,
        year_from=reply.year_from or None,
        year_to=reply.year_to or None,
        columns=tuple(rules),
    )
    named_nothing = replace(counted, unit="document", match="all") == CountFilter()
    return None if named_nothing else counted


def _is_year(given: int | None) -> bool:
    """Models write 0 for none."""
    return not given or FIRST_YEAR <= given <= LAST_YEAR


def _rule(column: str, read: ReadRule, language: str) -> ColumnRule | None:
    """None: it can't be compared by what the model wrote."""
    upper = read.upper if read.operator == "between" else ""
    if not read.value:
        return None
    if read.operator == "contains":
        return ColumnRule(column=column, operator=read.operator, value=read.value)
    ends = [read.value, upper] if read.operator == "between" else [read.value]
    values = []
    for end in ends:
        bound = bound_of(end, language)
        if bound.is_ambiguous or (bound.is_text and read.operator != "="):
            return None
        values.append(end if bound.number is None or bound.days else f"{bound.number:.15g}")
    return ColumnRule(
        column=column,
        operator=read.operator,
        value=values[0],
        upper=values[1] if upper else "",
    )


def filter_details(counted: CountFilter) -> dict[str, object]:
    """What it names, as JSON."""
    named: dict[str, object] = {
        "unit": counted.unit,
        "words": counted.words,
        "match": counted.match if counted.words else "",
        **counted.metadata.as_dict(),
        "documents": list(counted.metadata.documents),
        "year_from": counted.year_from,
        "year_to": counted.year_to,
        "columns": [
            " ".join(filter(None, (rule.column, rule.operator, rule.value, rule.upper)))
            for rule in counted.columns
        ],
    }
    return {name: value for name, value in named.items() if value}
