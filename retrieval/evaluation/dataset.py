"""A labelled set: a folder with `corpus.jsonl`, `queries.jsonl` and `qrels.tsv`.

corpus.jsonl   {"id" or "_id", "text", ["title", "department", "doc_type", "policy_year", "tags"]}
queries.jsonl  {"id" or "_id", "text", ["unanswerable", "clarify", "excluded"]}
qrels.tsv      query, document, grade by tabs (or TREC's four columns); a header line is skipped
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, model_validator

FILES = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")
TREC_COLUMNS = 4


class DatasetError(Exception):
    """A set that can't be used; its text is one sentence that names file and line."""


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: str = Field(
        validation_alias=AliasChoices("id", "_id"), min_length=1, coerce_numbers_to_str=True
    )
    text: str

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, row: Any) -> Any:
        return (
            {name: value for name, value in row.items() if value is not None}
            if isinstance(row, dict)
            else row
        )


class LabelledDocument(_Row):
    title: str = ""
    department: str = ""
    doc_type: str = ""
    policy_year: int | None = None
    tags: tuple[str, ...] = ()


class LabelledQuery(_Row):
    """excluded: left out of the decisions' scores."""

    unanswerable: bool = False
    clarify: bool = False
    excluded: bool = False

    @property
    def kind(self) -> str:
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
        usable = [
            query
            for query in self.queries
            if query.id in self.qrels or query.unanswerable or query.clarify
        ]
        if limit is None or limit >= len(usable):
            return self
        chosen = {query.id for query in random.Random(0).sample(usable, limit)}  # noqa: S311 - a sample, no secret
        qrels = {query: grades for query, grades in self.qrels.items() if query in chosen}
        queries = tuple(query for query in self.queries if query.id in chosen)
        return replace(self, queries=queries, qrels=qrels)


def load_dataset(folder: Path) -> Dataset:
    """Raises DatasetError."""
    for name in FILES:
        if not (folder / name).is_file():
            raise DatasetError(f"{folder} holds no {name}; it needs {', '.join(FILES)}.")
    corpus, questions, judged = (folder / name for name in FILES)
    documents = _read_rows(corpus, LabelledDocument)
    queries = _read_rows(questions, LabelledQuery)
    qrels = _read_qrels(judged)
    known = {query.id: qrels[query.id] for query in queries if query.id in qrels}
    if qrels and not known:
        raise DatasetError(f"{judged} names none of the queries in queries.jsonl.")
    return Dataset(
        name=folder.resolve().name, documents=tuple(documents), queries=tuple(queries), qrels=known
    )


Row = TypeVar("Row", LabelledDocument, LabelledQuery)


def _read_rows(file: Path, kind: type[Row]) -> list[Row]:
    rows: dict[str, Row] = {}
    for number, line in _lines(file):
        try:
            row = kind.model_validate_json(line)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in problem["loc"])
            raise DatasetError(f"{file} line {number}: {place} {problem['msg']}") from error
        if row.id in rows:
            raise DatasetError(f"{file} line {number} repeats the id {row.id!r}.")
        rows[row.id] = row
    if not rows:
        raise DatasetError(f"{file} is empty.")
    return list(rows.values())


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
            if number == 1 and len(fields) > 1:
                continue  # a header
            raise DatasetError(
                f"{file} line {number} is not a query, a document and a grade, parted by tabs."
            ) from error
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
    except (UnicodeDecodeError, OSError) as error:
        raise DatasetError(f"{file} can't be read: {error}.") from error
