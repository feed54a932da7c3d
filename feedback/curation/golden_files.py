"""Golden questions as JSONL, in and out. One question a line:

    {"question": "…", "collection": "policies", "relevant": [{"document": "loans.md", "chunk": "uuid", "grade": 3}]}

`document` is an id, or a file name or title that only one document of the collection has; `chunk` and `grade` (1) may
be left out, and so may the object around a lone document: `"relevant": ["loans.md"]`. `"expects": "NO_ANSWER"` or
`"CLARIFY"` is for a question that no document answers: it has no `relevant`. `"enabled": false` switches a question
off, `"set": "loans"` puts it into a named set. An export adds ids, file names and titles; an import reads them
back, on another site by file name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from feedback.curation.golden import Relevant, collection_find, golden_save
from feedback.models import GoldenQuestion
from ragsite.core.api.json_parser import InvalidJsonError, parse_json
from ragsite.core.errors import InvalidInputError, TooLargeError
from ragsite.core.text import clean_text
from ragsite.core.wording import counted, worded
from retrieval.models import Collection, Document
from retrieval.selectors import as_uuid

GOLDEN_IMPORT_BYTES = 1_000_000
SHOWN_ERRORS = 50


class _Named(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    document: str = Field(default="", max_length=300)
    file_name: str = Field(default="", max_length=300)
    chunk: str | None = None
    grade: int = 1


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    question: str
    collection: str
    collection_id: str = ""
    expects: str = GoldenQuestion.Expected.ANSWER
    relevant: list[_Named] = []
    enabled: bool = True
    set: str | None = None

    @field_validator("relevant", mode="before")
    @classmethod
    def _names_alone(cls, value: Any) -> Any:
        return [{"document": one} if isinstance(one, str) else one for one in value] if type(value) is list else value


class Imported(NamedTuple):
    """updated: questions that were there already, in the same words and collection."""

    added: int
    updated: int


# ------------------------------------------------------------------------------------------------ in
def golden_import(*, content: bytes, by: User) -> Imported:
    """All lines, or none: raises InvalidInputError whose fields are `line 3` and so on. Raises TooLargeError.

    A question that its collection has already, in the same words, is replaced.
    """
    outcomes: list[bool] = []
    errors: dict[str, list[str]] = {}
    with transaction.atomic():
        for number, line in enumerate(_lines(content), start=1):
            try:
                if line.strip():
                    outcomes.append(_store(line, by))
            except InvalidInputError as error:
                errors[f"line {number}"] = [
                    worded("{place}: {problem}", place=name, problem=reason)
                    for name, reasons in error.fields.items()
                    for reason in reasons
                ] or [error.message]
        if errors:
            raise InvalidInputError(
                counted(
                    "Nothing was imported: {count} line is not valid; see the fields.",
                    "Nothing was imported: {count} lines are not valid; see the fields.",
                    len(errors),
                ),
                fields=dict(list(errors.items())[:SHOWN_ERRORS]),
            )
    if not outcomes:
        raise InvalidInputError(worded("The file holds no questions."), fields={"file": [worded("It is empty.")]})
    return Imported(added=sum(outcomes), updated=len(outcomes) - sum(outcomes))


def _lines(content: bytes) -> list[str]:
    if len(content) > GOLDEN_IMPORT_BYTES:
        kilobytes = GOLDEN_IMPORT_BYTES // 1000
        raise TooLargeError(worded("A file may have {value} kB; import it in parts.", value=kilobytes))
    try:
        return content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        number = content[: error.start].count(b"\n") + 1
        fields = {f"line {number}": [worded("This is not UTF-8.")]}
        raise InvalidInputError(worded("The file is not UTF-8."), fields=fields) from error


def _store(text: str, by: User) -> bool:
    """Whether the question is new. Raises InvalidInputError."""
    try:
        line = _Line.model_validate(parse_json(text))
    except InvalidJsonError as error:
        raise InvalidInputError(
            worded("This is not a JSON object that can be read. {error}", error=str(error))
        ) from error
    except ValidationError as error:
        fields = {".".join(map(str, one["loc"])) or "line": [one["msg"]] for one in error.errors()[:3]}
        raise InvalidInputError(fields=fields) from error
    collection = _collection(line, by)
    asked = " ".join(clean_text(line.question).split())
    question = GoldenQuestion.objects.filter(collection=collection, text=asked).first()
    is_new = question is None
    set_name = line.set if line.set is not None else question.set_name if question else ""
    golden_save(
        by=by, text=asked, collection=collection, relevant=[_relevant(one, collection) for one in line.relevant],
        expects=line.expects, enabled=line.enabled, set_name=clean_text(set_name),
        source=GoldenQuestion.Origin.IMPORTED, question=question,
    )  # fmt: skip
    return is_new


def _collection(line: _Line, by: User) -> Collection:
    try:
        return collection_find(clean_text(line.collection_id or line.collection), user=by)
    except InvalidInputError:
        if not line.collection_id:
            raise
        return collection_find(clean_text(line.collection), user=by)  # an export of another site


def _relevant(named: _Named, collection: Collection) -> Relevant:
    documents = Document.objects.filter(collection=collection)
    for name in map(clean_text, (named.document, named.file_name)):
        key = as_uuid(name)
        found = list(documents.filter(Q(pk=key) if key else Q(file_name=name) | Q(title=name))[:2]) if name else []
        if len(found) > 1:
            told = worded("Several documents are called {name}; give the id of one.", name=name)
            raise InvalidInputError(fields={"relevant": [told]})
        if found:
            chunk = as_uuid(named.chunk) if named.chunk else None
            if named.chunk and chunk is None:
                told = worded("The document {document} has no chunk {chunk}.", document=name, chunk=named.chunk[:100])
                raise InvalidInputError(fields={"relevant": [told]})
            return Relevant(document_id=found[0].pk, chunk_id=chunk, grade=named.grade)
    called = (named.document or named.file_name)[:100]
    told = worded("The collection {name} has no document {document}.", name=collection.name, document=called)
    raise InvalidInputError(fields={"relevant": [told]})


# ------------------------------------------------------------------------------------------------ out
def golden_export(questions: QuerySet[GoldenQuestion] | None = None) -> Iterator[str]:
    """Line by line, oldest first."""
    chosen = GoldenQuestion.objects.all() if questions is None else questions
    ordered = chosen.order_by("created_at", "pk").select_related("collection").prefetch_related("relevant__document")
    for question in ordered.iterator(chunk_size=500):
        yield json.dumps(_exported(question), ensure_ascii=False) + "\n"


def _exported(question: GoldenQuestion) -> dict[str, Any]:
    return {
        "question": question.text,
        "collection": question.collection.name,
        "collection_id": str(question.collection_id),
        "enabled": question.enabled,
        "set": question.set_name,
        "source": question.source,
        "expects": question.expects,
        "relevant": [
            {
                "document": str(item.document_id),
                "file_name": item.document.file_name,
                "title": item.document.title,
                **({"chunk": str(item.chunk_id)} if item.chunk_id else {}),
                "grade": item.grade,
            }
            for item in question.relevant.all()
        ],
    }
