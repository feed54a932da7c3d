"""Golden questions as JSONL, in and out. One question a line:

    {"question": "…", "collection": "policies", "relevant": [{"document": "loans.md", "chunk": "uuid", "grade": 3}]}

`document` is an id, or a file name or title that only one document of the collection has; `chunk` and `grade` (1) may
be left out, and so may the object around a lone document: `"relevant": ["loans.md"]`. `"enabled": false` switches a
question off. An export adds ids, file names and titles; an import reads them back, on another site by file name.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from feedback.curation.golden import MAX_RELEVANT, MAX_TEXT_CHARS, Relevant, collection_find, relevance_rows
from feedback.models import GoldenQuestion, GoldenRelevance, RevisionEvent
from ragsite.core.api.json_parser import InvalidJsonError, parse_json
from ragsite.core.errors import InvalidInputError, TooLargeError
from ragsite.core.text import clean_text
from retrieval.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.models import Chunk, Collection, Document

GOLDEN_IMPORT_BYTES = 5_000_000  # of a file of golden questions
GOLDEN_IMPORT_LINES = 10_000  # …

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
    relevant: list[_Named] = Field(min_length=1, max_length=MAX_RELEVANT)
    enabled: bool = True

    def texts(self) -> list[str]:
        named = [text or "" for one in self.relevant for text in (one.document, one.file_name, one.chunk)]
        return [self.question, self.collection, self.collection_id, *named]

    @field_validator("question")
    @classmethod
    def _one_line(cls, text: str) -> str:
        if not (text := " ".join(text.split())):
            raise ValueError("is empty")
        return text

    @field_validator("relevant", mode="before")
    @classmethod
    def _names_alone(cls, value: Any) -> Any:
        return (
            [{"document": one} if isinstance(one, str) else one for one in value] if isinstance(value, list) else value
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """updated: questions that were there already, in the same words and collection."""

    added: int
    updated: int


@dataclass(slots=True)
class _Reading:
    """Lines by number, each with its collection once that is known, and what is wrong by number."""

    lines: dict[int, _Line] = field(default_factory=dict)
    collections: dict[int, Collection] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)

    def good(self) -> Iterator[tuple[int, _Line, Collection]]:
        for number, line in self.lines.items():
            if number not in self.errors:
                yield number, line, self.collections[number]

    def raise_errors(self) -> None:
        if not self.errors:
            return
        shown = {f"line {number}": [text] for number, text in sorted(self.errors.items())[:SHOWN_ERRORS]}
        lines = "1 line is" if len(self.errors) == 1 else f"{len(self.errors)} lines are"
        raise InvalidInputError(f"Nothing was imported: {lines} not valid; see the fields.", fields=shown)


# ------------------------------------------------------------------------------------------------ in
def golden_import(*, content: bytes, by: User) -> Imported:
    """All lines, or none: raises InvalidInputError whose fields are `line 3` and so on. Raises TooLargeError.

    A question that its collection has already, in the same words, is written anew.
    """
    reading = _read(content)
    _find_collections(reading)
    found = _resolve(reading)
    reading.raise_errors()
    return _store(reading, found, by)


def _read(content: bytes) -> _Reading:
    if len(content) > GOLDEN_IMPORT_BYTES:
        raise TooLargeError(f"A file may have {GOLDEN_IMPORT_BYTES // 1000} kB; import it in parts.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InvalidInputError("The file is not UTF-8.", fields={f"line {line}": ["This is not UTF-8."]}) from error
    lines = text.split("\n")
    if len(lines) > GOLDEN_IMPORT_LINES + 1:
        raise TooLargeError(f"A file may have {GOLDEN_IMPORT_LINES} lines; import it in parts.")
    reading = _Reading()
    for number, written in enumerate(lines, start=1):
        if written.strip():
            _read_line(reading, number, written)
    if not reading.lines and not reading.errors:
        raise InvalidInputError("The file holds no questions.", fields={"file": ["It is empty."]})
    return reading


def _read_line(reading: _Reading, number: int, line: str) -> None:
    try:
        one = _Line.model_validate(parse_json(line))
    except InvalidJsonError as error:
        reading.errors[number] = f"This is not a JSON object that can be read. {error}"
    except ValidationError as error:
        reading.errors[number] = "; ".join(map(_said, error.errors()[:3]))
    else:
        if any(clean_text(text) != text for text in one.texts()):
            reading.errors[number] = "It holds a character that cannot be stored."
        else:
            reading.lines[number] = one


def _said(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"])
    return f"{place}: {error['msg']}" if place else str(error["msg"])


def _find_collections(reading: _Reading) -> None:
    known: dict[str, Collection | str] = {}

    def find(name: str) -> Collection | str:
        if name not in known:
            try:
                known[name] = collection_find(name)
            except InvalidInputError as error:
                known[name] = str(error.fields["collection"][0])
        return known[name]

    seen: dict[tuple[UUID, str], int] = {}
    for number, line in reading.lines.items():
        found = find(line.collection_id) if line.collection_id else ""
        if isinstance(found, str):
            found = find(line.collection)
        if isinstance(found, str):
            reading.errors[number] = found
        elif (earlier := seen.setdefault((found.pk, line.question), number)) != number:
            reading.errors[number] = f"The same question stands in line {earlier}."
        else:
            reading.collections[number] = found


def _resolve(reading: _Reading) -> dict[int, list[Relevant]]:
    """What each line names, by its number."""
    wanted = [named for _, line, _ in reading.good() for named in line.relevant]
    documents = _documents({name for named in wanted for name in (named.document, named.file_name) if name})
    chunks = _chunks({named.chunk for named in wanted if named.chunk})
    found: dict[int, list[Relevant]] = {}
    for number, line, collection in list(reading.good()):
        try:
            relevant = [_relevant(named, documents, chunks, collection) for named in line.relevant]
        except LookupError as error:
            reading.errors[number] = str(error.args[0])
            continue
        if len({one.chunk_id or one.document_id for one in relevant}) < len(relevant):
            reading.errors[number] = "relevant: the same document or chunk is named twice."
        found[number] = relevant
    return found


Documents = dict[tuple[UUID, str], set[UUID]]  # by collection and id, file name or title


def _documents(names: set[str]) -> Documents:
    found: Documents = defaultdict(set)
    for batch in _batches(sorted(names)):
        by_name = Q(file_name__in=batch) | Q(title__in=batch) | Q(pk__in=list(filter(None, map(_as_uuid, batch))))
        for key, collection, file_name, title in Document.objects.filter(by_name).values_list(
            "pk", "collection_id", "file_name", "title"
        ):
            for name in {str(key), file_name, title}:
                found[collection, name].add(key)
    return found


def _chunks(ids: set[str]) -> dict[str, UUID]:
    """Chunk id as it was written → its document."""
    written = {key: text for text in ids if (key := _as_uuid(text))}
    found: dict[str, UUID] = {}
    for batch in _batches(sorted(written)):
        rows = Chunk.objects.filter(pk__in=batch).values_list("pk", "document_id")
        found.update((written[key], document) for key, document in rows)
    return found


def _relevant(named: _Named, documents: Documents, chunks: dict[str, UUID], collection: Collection) -> Relevant:
    """Raises LookupError with what is wrong."""
    names = [str(_as_uuid(named.document) or named.document), named.file_name]
    found = next((keys for name in names if name and (keys := documents.get((collection.pk, name)))), set())
    called = (named.document or named.file_name)[:100]
    if not called:
        raise LookupError("relevant.document: is missing.")
    if not found:
        raise LookupError(f"The collection {collection.name} has no document {called}.")
    if len(found) > 1:
        raise LookupError(f"Several documents are called {called}; give the id of one.")
    document = next(iter(found))
    if named.chunk and chunks.get(named.chunk) != document:
        raise LookupError(f"The document {called} has no chunk {named.chunk[:100]}.")
    return Relevant(document_id=document, chunk_id=UUID(named.chunk) if named.chunk else None, grade=named.grade)


@transaction.atomic
def _store(reading: _Reading, found: dict[int, list[Relevant]], by: User) -> Imported:
    collections = {collection.pk for collection in reading.collections.values()}
    there = {
        (question.collection_id, question.text): question
        for question in GoldenQuestion.objects.filter(collection__in=collections)
    }
    added, updated, relevances = [], [], []
    for number, line, collection in reading.good():
        question = there.get((collection.pk, line.question))
        if question is None:
            imported = GoldenQuestion.Origin.IMPORTED
            question = GoldenQuestion(text=line.question, collection=collection, source=imported, created_by=by)
            there[collection.pk, line.question] = question
            added.append(question)
        else:
            updated.append(question)
        question.enabled = line.enabled
        relevances += relevance_rows(question, found[number])
    GoldenQuestion.objects.bulk_create(added, batch_size=IN_BATCH)
    for batch in _batches(updated):
        for question in batch:
            question.save(update_fields=["enabled", "updated_at"])
        GoldenRelevance.objects.filter(question__in=batch).delete()
    GoldenRelevance.objects.bulk_create(relevances, batch_size=IN_BATCH)
    RevisionEvent.objects.create(
        action=RevisionEvent.Action.GOLDEN_IMPORTED, by=by, detail={"added": len(added), "changed": len(updated)}
    )
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
        "source": question.source,
        "relevant": [
            {
                "document": str(one.document_id),
                "file_name": one.document.file_name,
                "title": one.document.title,
                **({"chunk": str(one.chunk_id)} if one.chunk_id else {}),
                "grade": one.grade,
            }
            for one in question.relevant.all()
        ],
    }
