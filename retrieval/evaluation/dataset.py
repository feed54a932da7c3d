"""A labelled set: a folder with `corpus.jsonl`, `queries.jsonl` and `qrels.tsv`.

corpus.jsonl   {"id" or "_id", "text", ["title", "department", "doc_type", "policy_year", "tags"]}
queries.jsonl  {"id" or "_id", "text", ["unanswerable", "clarify", "excluded"]}
qrels.tsv      query, document, grade by tabs (or TREC's four columns); a header line is skipped
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from ragsite.core.wording import worded

QueryClass = Literal["answerable", "unanswerable", "clarify"]
FILES = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")
TREC_COLUMNS = 4


class DatasetError(Exception):
    """A set that can't be used; `message` is one sentence that names file and line."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class DatasetMissingError(DatasetError):
    """There is no such folder, or it holds no set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledDocument:
    id: str
    text: str
    title: str = ""
    department: str = ""
    doc_type: str = ""
    policy_year: int | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuery:
    """excluded: left out of the decisions' scores."""

    id: str
    text: str
    unanswerable: bool = False
    clarify: bool = False
    excluded: bool = False

    @property
    def kind(self) -> QueryClass:
        """What a right decision would be about."""
        if self.unanswerable:
            return "unanswerable"
        return "clarify" if self.clarify else "answerable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """qrels: query id → document id → grade; only grades above 0."""

    name: str
    documents: tuple[LabelledDocument, ...]
    queries: tuple[LabelledQuery, ...]
    qrels: Mapping[str, Mapping[str, int]]

    @property
    def ranked(self) -> tuple[LabelledQuery, ...]:
        """The queries that have something to find."""
        return tuple(query for query in self.queries if query.id in self.qrels)

    @property
    def decided(self) -> tuple[LabelledQuery, ...]:
        """The queries whose decision counts; none where no query is marked unanswerable or clarify."""
        if not any(query.unanswerable or query.clarify for query in self.queries):
            return ()
        return tuple(query for query in self.queries if not query.excluded and query.text.strip())

    def limited(self, limit: int | None) -> Dataset:
        """At most `limit` queries, chosen at random but always the same; the documents stay."""
        usable = [query for query in self.queries if query.id in self.qrels or query.unanswerable or query.clarify]
        if limit is None or limit >= len(usable):
            return self
        chosen = {query.id for query in random.Random(0).sample(usable, limit)}  # noqa: S311 - a sample, no secret
        return replace(self, queries=tuple(query for query in self.queries if query.id in chosen))


def load_dataset(folder: Path) -> Dataset:
    """Raises DatasetMissingError, DatasetError."""
    if not folder.is_dir():
        raise DatasetMissingError(worded("{file} is not a folder.", file=str(folder)))
    for name in FILES:
        if not (folder / name).is_file():
            needed = ", ".join(FILES)
            raise DatasetMissingError(
                worded("{folder} holds no {name}; it needs {needed}.", folder=str(folder), name=name, needed=needed)
            )
    corpus, asked, judged = (folder / name for name in FILES)
    documents = _read_rows(corpus, _document)
    queries = _read_rows(asked, _query)
    if not documents or not queries:
        raise DatasetError(worded("{file} is empty.", file=str(asked if documents else corpus)))
    qrels = _read_qrels(judged)
    known = {query.id: qrels[query.id] for query in queries if query.id in qrels}
    if qrels and not known:
        raise DatasetError(worded("{file} names none of the queries in queries.jsonl.", file=str(judged)))
    return Dataset(name=folder.resolve().name, documents=tuple(documents), queries=tuple(queries), qrels=known)


# ------------------------------------------------------------------------------------------------ rows
Row = TypeVar("Row", LabelledDocument, LabelledQuery)


def _read_rows(file: Path, read: Callable[[Mapping[str, Any]], Row]) -> list[Row]:
    rows: list[Row] = []
    lines: dict[str, int] = {}
    for number, line in _lines(file):
        place = {"file": str(file), "line": number}
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            problem = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise DatasetError(
                worded("{file} line {line} is not JSON: {problem}.", problem=problem, **place)
            ) from error
        if not isinstance(value, dict):
            raise DatasetError(worded("{file} line {line} is not a JSON object.", **place))
        try:
            row = read(value)
        except _FieldError as error:
            raise DatasetError(error.sentence(place)) from error
        if row.id in lines:
            again = {"id": repr(row.id), "first": lines[row.id]}
            raise DatasetError(worded("{file} line {line} repeats the id {id} of line {first}.", **again, **place))
        lines[row.id] = number
        rows.append(row)
    return rows


class _FieldError(Exception):
    """sentence: of the file and line."""

    def __init__(self, sentence: Callable[[Mapping[str, Any]], str]) -> None:
        super().__init__()
        self.sentence = sentence


def _document(row: Mapping[str, Any]) -> LabelledDocument:
    tags = row.get("tags") or []
    year = row.get("policy_year")
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise _FieldError(lambda place: worded("{file} line {line} has 'tags' that are not a list of texts.", **place))
    if year is not None and not isinstance(year, int):
        raise _FieldError(
            lambda place: worded("{file} line {line} has a 'policy_year' that is not a whole number.", **place)
        )
    return LabelledDocument(
        id=_id(row),
        text=_text(row, "text", required=True),
        title=_text(row, "title"),
        department=_text(row, "department"),
        doc_type=_text(row, "doc_type"),
        policy_year=year,
        tags=tuple(tags),
    )


def _query(row: Mapping[str, Any]) -> LabelledQuery:
    flags = {name: bool(row.get(name)) for name in ("unanswerable", "clarify", "excluded")}
    return LabelledQuery(id=_id(row), text=_text(row, "text", required=True), **flags)


def _id(row: Mapping[str, Any]) -> str:
    value = row.get("id", row.get("_id"))
    if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
        raise _missing("id")
    return str(value)


def _text(row: Mapping[str, Any], name: str, *, required: bool = False) -> str:
    value = row.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        if value is None:
            raise _missing(name)
        raise _FieldError(
            lambda place: worded("{file} line {line} has a '{field}' that is not text.", field=name, **place)
        )
    return value


def _missing(name: str) -> _FieldError:
    return _FieldError(lambda place: worded("{file} line {line} has no '{field}'.", field=name, **place))


# ------------------------------------------------------------------------------------------------ judgements
def _read_qrels(file: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for number, line in _lines(file):
        fields = [field.strip() for field in line.split("\t" if "\t" in line else None)]
        if len(fields) == TREC_COLUMNS:
            del fields[1]
        try:
            query, document, grade = fields
            relevant = int(float(grade))
        except (ValueError, OverflowError) as error:
            if number == 1 and len(fields) >= len(("query", "document")):
                continue  # a header
            sentence = worded(
                "{file} line {line} is not a query, a document and a grade, parted by tabs.",
                file=str(file), line=number,
            )  # fmt: skip
            raise DatasetError(sentence) from error
        if relevant > 0:
            qrels.setdefault(query, {})[document] = relevant
    return qrels


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Line numbers from 1, without blank lines."""
    try:
        with file.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise DatasetError(worded("{file} is not UTF-8 text.", file=str(file))) from error
    except OSError as error:
        raise DatasetError(
            worded("{file} can't be read: {problem}.", file=str(file), problem=error.strerror)
        ) from error
