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

QueryClass = Literal["answerable", "unanswerable", "clarify"]
FILES = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")
TREC_COLUMNS = 4


class DatasetError(Exception):
    """A set that can't be used; the message is one sentence that names file and line."""


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
        raise DatasetMissingError(f"{folder} is not a folder.")
    for name in FILES:
        if not (folder / name).is_file():
            raise DatasetMissingError(f"{folder} holds no {name}; it needs {', '.join(FILES)}.")
    documents = _read_rows(folder / "corpus.jsonl", _document)
    queries = _read_rows(folder / "queries.jsonl", _query)
    if not documents or not queries:
        raise DatasetError(f"{folder / ('queries.jsonl' if documents else 'corpus.jsonl')} is empty.")
    qrels = _read_qrels(folder / "qrels.tsv")
    known = {query.id: qrels[query.id] for query in queries if query.id in qrels}
    if qrels and not known:
        raise DatasetError(f"{folder / 'qrels.tsv'} names none of the queries in queries.jsonl.")
    return Dataset(name=folder.resolve().name, documents=tuple(documents), queries=tuple(queries), qrels=known)


# ------------------------------------------------------------------------------------------------ rows
Row = TypeVar("Row", LabelledDocument, LabelledQuery)


def _read_rows(path: Path, read: Callable[[Mapping[str, Any]], Row]) -> list[Row]:
    rows: list[Row] = []
    lines: dict[str, int] = {}
    for number, line in _lines(path):
        try:
            value = json.loads(line)
            if not isinstance(value, dict):
                raise ValueError("is not a JSON object")
            row = read(value)
        except json.JSONDecodeError as error:
            raise DatasetError(f"{path} line {number} is not JSON: {error.msg}.") from error
        except ValueError as error:
            raise DatasetError(f"{path} line {number} {error}.") from error
        if row.id in lines:
            raise DatasetError(f"{path} line {number} repeats the id {row.id!r} of line {lines[row.id]}.")
        lines[row.id] = number
        rows.append(row)
    return rows


def _document(row: Mapping[str, Any]) -> LabelledDocument:
    tags = row.get("tags") or []
    year = row.get("policy_year")
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise ValueError("has 'tags' that are not a list of texts")
    if year is not None and not isinstance(year, int):
        raise ValueError("has a 'policy_year' that is not a whole number")
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
        raise ValueError("has no 'id'")
    return str(value)


def _text(row: Mapping[str, Any], name: str, *, required: bool = False) -> str:
    value = row.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"has no '{name}'" if value is None else f"has a '{name}' that is not text")
    return value


# ------------------------------------------------------------------------------------------------ judgements
def _read_qrels(path: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        fields = [field.strip() for field in line.split("\t" if "\t" in line else None)]
        if len(fields) == TREC_COLUMNS:
            del fields[1]
        try:
            query, document, grade = fields
            relevant = int(float(grade))
        except (ValueError, OverflowError) as error:
            if number == 1 and len(fields) >= len(("query", "document")):
                continue  # a header
            raise DatasetError(
                f"{path} line {number} is not a query, a document and a grade, parted by tabs."
            ) from error
        if relevant > 0:
            qrels.setdefault(query, {})[document] = relevant
    return qrels


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers from 1, without blank lines."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} is not UTF-8 text.") from error
    except OSError as error:
        raise DatasetError(f"{path} can't be read: {error.strerror}.") from error
