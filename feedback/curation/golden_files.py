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
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from feedback.curation.golden import (
    MAX_RELEVANT,
    MAX_SET_CHARS,
    MAX_TEXT_CHARS,
    Relevant,
    collection_find,
    relevance_rows,
)
from feedback.models import GoldenQuestion, GoldenRelevance, RevisionEvent
from ragsite.core.api.json_parser import InvalidJsonError, parse_json
from ragsite.core.errors import InvalidInputError, TooLargeError
from ragsite.core.text import clean_text
from ragsite.core.wording import Sentence, counted, joined, worded
from retrieval.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.models import Chunk, Collection, Document

GOLDEN_IMPORT_BYTES = 5_000_000
GOLDEN_IMPORT_LINES = 10_000
SHOWN_ERRORS = 50
IN_BATCH = 2000


class _Named(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    document: str = Field(default="", max_length=300)
    file_name: str = Field(default="", max_length=300)
    chunk: str | None = None
    grade: int = Field(default=1, ge=1, le=3)


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    question: str = Field(min_length=1, max_length=MAX_TEXT_CHARS)
    collection: str = Field(min_length=1, max_length=MAX_ADDRESS_CHARS)
    collection_id: str = Field(default="", max_length=40)
    expects: Literal["ANSWER", "CLARIFY", "NO_ANSWER"] = "ANSWER"
    relevant: list[_Named] = Field(default_factory=list, max_length=MAX_RELEVANT)
    enabled: bool = True
    set: str | None = Field(default=None, max_length=MAX_SET_CHARS)

    def texts(self) -> list[str]:
        names = [text or "" for named in self.relevant for text in (named.document, named.file_name, named.chunk)]
        return [self.question, self.collection, self.collection_id, self.set or "", *names]

    @field_validator("question")
    @classmethod
    def _one_line(cls, text: str) -> str:
        if not (text := " ".join(text.split())):
            raise ValueError(worded("is empty"))
        return text

    @field_validator("relevant", mode="before")
    @classmethod
    def _names_alone(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [{"document": item} if isinstance(item, str) else item for item in value]

    @model_validator(mode="after")
    def _relevant_as_expected(self) -> _Line:
        if self.expects == "ANSWER" and not self.relevant:
            raise ValueError(worded('relevant: name at least one document, or say "expects": "NO_ANSWER" or "CLARIFY"'))
        if self.expects != "ANSWER" and self.relevant:
            raise ValueError(
                worded("relevant: where NO_ANSWER or CLARIFY is expected, no document answers it; name none")
            )
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """updated: questions that were there already, in the same words and collection."""

    added: int
    updated: int


# ------------------------------------------------------------------------------------------------ in
def golden_import(*, content: bytes, by: User) -> Imported:
    """All lines, or none: raises InvalidInputError whose fields are `line 3` and so on. Raises TooLargeError.

    A question that its collection has already, in the same words, is replaced.
    """
    errors: dict[int, str] = {}  # by line number, as all that is read
    lines = _parse(content, errors)
    collections = _collections(lines, errors, by)
    relevant = _relevant_of(lines, collections, errors)
    if errors:
        first_errors = {f"line {number}": [text] for number, text in sorted(errors.items())[:SHOWN_ERRORS]}
        raise InvalidInputError(
            counted(
                "Nothing was imported: {count} line is not valid; see the fields.",
                "Nothing was imported: {count} lines are not valid; see the fields.",
                len(errors),
            ),
            fields=first_errors,
        )
    return _store(lines, collections, relevant, by)


def _parse(content: bytes, errors: dict[int, str]) -> dict[int, _Line]:
    if len(content) > GOLDEN_IMPORT_BYTES:
        raise TooLargeError(
            worded("A file may have {value} kB; import it in parts.", value=GOLDEN_IMPORT_BYTES // 1000)
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content[: error.start].count(b"\n") + 1
        raise InvalidInputError(
            worded("The file is not UTF-8."), fields={f"line {number}": [worded("This is not UTF-8.")]}
        ) from error
    written = text.split("\n")
    if len(written) > GOLDEN_IMPORT_LINES + 1:
        raise TooLargeError(
            worded(
                "A file may have {golden_import_lines} lines; import it in parts.",
                golden_import_lines=GOLDEN_IMPORT_LINES,
            )
        )
    lines: dict[int, _Line] = {}
    for number, line in enumerate(written, start=1):
        if not line.strip():
            continue
        try:
            lines[number] = _Line.model_validate(parse_json(line))
        except InvalidJsonError as error:
            errors[number] = worded("This is not a JSON object that can be read. {error}", error=str(error))
        except ValidationError as error:
            errors[number] = joined("; ", map(_in_words, error.errors()[:3]))
        else:
            if any(clean_text(text) != text for text in lines[number].texts()):
                errors[number] = worded("It holds a character that cannot be stored.")
    if not lines and not errors:
        raise InvalidInputError(worded("The file holds no questions."), fields={"file": [worded("It is empty.")]})
    return {number: line for number, line in lines.items() if number not in errors}


def _in_words(error: Any) -> Sentence:
    place = ".".join(str(part) for part in error["loc"])
    problem = _problem(error)
    return worded("{place}: {problem}", place=place, problem=problem) if place else worded("{it}", it=problem)


def _problem(error: Any) -> str:
    """In words of ours where somebody may well make the mistake; what is rarer in the library's."""
    match error["type"]:
        case "value_error":
            return cast("str", error["ctx"]["error"].args[0])
        case "missing":
            return worded("is missing")
        case "extra_forbidden":
            return worded("is not known here")
        case "string_type":
            return worded("has to be text")
        case "list_type":
            return worded("has to be a list")
        case "model_type" | "model_attributes_type" | "dict_type":
            return worded("has to be an object")
        case "bool_type" | "bool_parsing":
            return worded("has to be true or false")
        case "int_type" | "int_parsing" | "int_from_float":
            return worded("has to be a whole number")
        case "string_too_long":
            return worded("may have {most} characters", most=error["ctx"]["max_length"])
        case "literal_error":
            return worded("has to be one of {names}", names=error["ctx"]["expected"].replace(" or ", ", "))
    return cast("str", error["msg"])


def _collections(lines: dict[int, _Line], errors: dict[int, str], by: User) -> dict[int, Collection]:
    """Of the lines whose collection is known, and whose question stands in no line before."""

    @cache
    def find(name: str) -> Collection | str:
        try:
            return collection_find(name, user=by)
        except InvalidInputError as error:
            return error.fields["collection"][0]

    collections: dict[int, Collection] = {}
    seen: dict[tuple[UUID, str], int] = {}
    for number, line in lines.items():
        collection = find(line.collection_id) if line.collection_id else ""
        if isinstance(collection, str):
            collection = find(line.collection)
        if isinstance(collection, str):
            errors[number] = collection
        elif (earlier := seen.setdefault((collection.pk, line.question), number)) != number:
            errors[number] = worded("The same question stands in line {earlier}.", earlier=earlier)
        else:
            collections[number] = collection
    return collections


def _relevant_of(
    lines: dict[int, _Line], collections: dict[int, Collection], errors: dict[int, str]
) -> dict[int, list[Relevant]]:
    wanted = [named for number in collections for named in lines[number].relevant]
    documents = _documents({name for named in wanted for name in (named.document, named.file_name) if name})
    chunks = _chunks({named.chunk for named in wanted if named.chunk})
    relevant: dict[int, list[Relevant]] = {}
    for number, collection in collections.items():
        try:
            relevant[number] = [_relevant(named, documents, chunks, collection) for named in lines[number].relevant]
        except LookupError as error:
            errors[number] = error.args[0]
        else:
            if len({item.chunk_id or item.document_id for item in relevant[number]}) < len(relevant[number]):
                errors[number] = worded("relevant: the same document or chunk is named twice.")
    return relevant


Documents = dict[tuple[UUID, str], set[UUID]]  # by collection and id, file name or title


def _documents(names: set[str]) -> Documents:
    documents: Documents = defaultdict(set)
    for batch in _batches(sorted(names)):
        named = Q(file_name__in=batch) | Q(title__in=batch) | Q(pk__in=list(filter(None, map(_as_uuid, batch))))
        columns = Document.objects.filter(named).values_list("pk", "collection_id", "file_name", "title")
        for key, collection, file_name, title in columns:
            for name in {str(key), file_name, title}:
                documents[collection, name].add(key)
    return documents


def _chunks(ids: set[str]) -> dict[str, UUID]:
    """Chunk id as it was written → its document."""
    written = {key: text for text in ids if (key := _as_uuid(text))}
    chunks: dict[str, UUID] = {}
    for batch in _batches(sorted(written)):
        rows = Chunk.objects.filter(pk__in=batch).values_list("pk", "document_id")
        chunks.update((written[key], document) for key, document in rows)
    return chunks


def _relevant(named: _Named, documents: Documents, chunks: dict[str, UUID], collection: Collection) -> Relevant:
    """Raises LookupError with what is wrong."""
    names = [str(_as_uuid(named.document) or named.document), named.file_name]
    keys = next((keys for name in names if name and (keys := documents.get((collection.pk, name)))), set())
    called = (named.document or named.file_name)[:100]
    if not called:
        raise LookupError(worded("relevant.document: is missing."))
    if not keys:
        raise LookupError(
            worded("The collection {name} has no document {document}.", name=collection.name, document=called)
        )
    if len(keys) > 1:
        raise LookupError(worded("Several documents are called {name}; give the id of one.", name=called))
    (document,) = keys
    if named.chunk and chunks.get(named.chunk) != document:
        raise LookupError(
            worded("The document {document} has no chunk {chunk}.", document=called, chunk=named.chunk[:100])
        )
    return Relevant(document_id=document, chunk_id=UUID(named.chunk) if named.chunk else None, grade=named.grade)


@transaction.atomic
def _store(
    lines: dict[int, _Line], collections: dict[int, Collection], relevant: dict[int, list[Relevant]], by: User
) -> Imported:
    questions = GoldenQuestion.objects.filter(collection__in={collection.pk for collection in collections.values()})
    existing = {(question.collection_id, question.text): question for question in questions}
    added, updated, relevances = [], [], []
    for number, collection in collections.items():
        line = lines[number]
        question = existing.get((collection.pk, line.question))
        if question is None:
            imported = GoldenQuestion.Origin.IMPORTED
            question = GoldenQuestion(text=line.question, collection=collection, source=imported, created_by=by)
            added.append(question)
        else:
            updated.append(question)
        question.enabled, question.expects = line.enabled, line.expects
        if line.set is not None:  # an export of an earlier version names none
            question.set_name = " ".join(line.set.split())
        relevances += relevance_rows(question, relevant[number])
    GoldenQuestion.objects.bulk_create(added, batch_size=IN_BATCH)
    for batch in _batches(updated):
        for question in batch:
            question.save(update_fields=["enabled", "expects", "set_name", "updated_at"])
        GoldenRelevance.objects.filter(question__in=batch).delete()
    GoldenRelevance.objects.bulk_create(relevances, batch_size=IN_BATCH)
    detail = {"added": len(added), "changed": len(updated)}
    RevisionEvent.log(RevisionEvent.Action.GOLDEN_IMPORTED, by=by, detail=detail)
    return Imported(added=len(added), updated=len(updated))


def _batches(items: Sequence[Any]) -> Iterator[Any]:
    return (items[start : start + IN_BATCH] for start in range(0, len(items), IN_BATCH))


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


# ------------------------------------------------------------------------------------------------ out
def golden_export(questions: QuerySet[GoldenQuestion] | None = None) -> Iterator[str]:
    """Line by line, oldest first."""
    chosen: Iterable[GoldenQuestion] = (
        (GoldenQuestion.objects.all() if questions is None else questions)
        .order_by("created_at", "pk")
        .select_related("collection")
        .prefetch_related("relevant__document")
        .iterator(chunk_size=500)
    )
    for question in chosen:
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
