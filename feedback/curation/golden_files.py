"""Golden questions as JSONL, in and out. One question a line:

    {"question": "…", "collection": "policies", "relevant": [{"document": "loans.md", "chunk": "uuid", "grade": 3}]}

`document` is an id, or a file name or title that only one document of the collection has; `chunk` and `grade` (1) may
be left out, and so may the object around a lone document: `"relevant": ["loans.md"]`. `"expects": "NO_ANSWER"` or
`"CLARIFY"` is for a question that no document answers: it has no `relevant`. `"enabled": false` switches a question
off, `"set": "loans"` puts it into a named set. An export names documents by id and file name; an import reads them
back, on another site by file name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from feedback.curation.golden import Relevant, collection_find, golden_list, golden_save
from feedback.models import GoldenQuestion
from ragsite.core.errors import AppError, InvalidInputError
from ragsite.core.text import clean_text
from ragsite.core.wording import counted, worded
from retrieval.models import Collection, Document
from retrieval.selectors import as_uuid

SHOWN_ERRORS = 50


class _Named(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    document: str = ""
    file_name: str = ""
    chunk: UUID | None = None
    grade: int = 1


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    question: str
    collection: str
    expects: Literal["ANSWER", "CLARIFY", "NO_ANSWER"] = "ANSWER"
    relevant: list[_Named] = Field(default_factory=list)
    enabled: bool = True
    set: str | None = None

    @field_validator("relevant", mode="before")
    @classmethod
    def _names_alone(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [{"document": item} if isinstance(item, str) else item for item in value]


@transaction.atomic
def golden_import(*, content: str, by: User) -> tuple[int, int]:
    """All lines, or none: raises InvalidInputError whose fields are `line 3` and so on. Returns how many were
    added, and how many written anew.

    A question that its collection has already, in the same words, is written anew.
    """
    errors: dict[str, list[str]] = {}
    updated = 0
    written = [(number, line) for number, line in enumerate(content.split("\n"), start=1) if line.strip()]
    for number, line in written:
        try:
            updated += _save(_Line.model_validate_json(line), by)
        except ValidationError as error:
            errors[f"line {number}"] = [
                f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()[:3]
            ]
        except AppError as error:
            errors[f"line {number}"] = [text for texts in error.fields.values() for text in texts] or [error.message]
    if not written:
        raise InvalidInputError(worded("The file holds no questions."))
    if errors:
        raise InvalidInputError(
            counted(
                "Nothing was imported: {count} line is not valid; see the fields.",
                "Nothing was imported: {count} lines are not valid; see the fields.",
                len(errors),
            ),
            fields=dict(list(errors.items())[:SHOWN_ERRORS]),
        )
    return len(written) - updated, updated


def _save(line: _Line, by: User) -> bool:
    """Whether it was there already."""
    collection = collection_find(line.collection, user=by)
    text = " ".join(clean_text(line.question).split())
    known = GoldenQuestion.objects.filter(collection=collection, text=text).first()
    golden_save(
        by=by,
        text=text,
        collection=collection,
        relevant=[_relevant(named, collection) for named in line.relevant],
        expects=line.expects,
        enabled=line.enabled,
        set_name=line.set if line.set is not None else known.set_name if known else "",
        source=GoldenQuestion.Origin.IMPORTED,
        question=known,
    )
    return known is not None


def _relevant(named: _Named, collection: Collection) -> Relevant:
    """Raises InvalidInputError."""
    documents, key = Document.objects.filter(collection=collection), as_uuid(named.document)
    found = list(documents.filter(pk=key)) if key else []
    called = clean_text(named.file_name if key else named.document)
    if not found and called:
        found = list(documents.filter(Q(file_name=called) | Q(title=called))[:2])
    if len(found) > 1:
        problem = worded("Several documents are called {name}; give the id of one.", name=called)
        raise InvalidInputError(fields={"relevant": [problem]})
    if not found:
        problem = worded(
            "The collection {name} has no document {document}.", name=collection.name, document=named.document
        )
        raise InvalidInputError(fields={"relevant": [problem]})
    return Relevant(document_id=found[0].pk, chunk_id=named.chunk, grade=named.grade)


def golden_export(*, user: User, set_name: str | None = None) -> Iterator[str]:
    """Line by line, oldest first: those that this person may know, of one set or of all."""
    rows = golden_list(user=user) if set_name is None else golden_list(user=user).filter(set_name=set_name)
    rows = rows.order_by("created_at", "pk").select_related("collection__owner").prefetch_related("relevant__document")
    for question in rows.iterator(chunk_size=500):
        yield json.dumps(_exported(question), ensure_ascii=False)


def _exported(question: GoldenQuestion) -> dict[str, Any]:
    return {
        "question": question.text,
        "collection": question.collection.address,
        "enabled": question.enabled,
        "set": question.set_name,
        "expects": question.expects,
        "relevant": [
            {
                "document": str(item.document_id),
                "file_name": item.document.file_name,
                **({"chunk": str(item.chunk_id)} if item.chunk_id else {}),
                "grade": item.grade,
            }
            for item in question.relevant.all()
        ],
    }
