"""Checked answers as rows of a CSV. One is known by its id, else by the words of its question.

Each source has three columns with its number: the collection, the document, and the passage, which has to stand there
word for word; a part of it is enough. An exporter who may not know the collection of a cited document does not get the
answer.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from import_export.fields import Field

from feedback.curation.curated import MOST, Stamp, curated_stamp
from feedback.curation.transfer.csv_table import CsvRow
from feedback.curation.transfer.curated_cells import (
    MAX_QUESTION,
    MAX_SOURCES,
    SOURCE_COLUMNS,
    SourceCells,
    expiry_cell,
    question_cell,
    source_cells,
    wordings_cell,
)
from feedback.curation.transfer.documents import document_names
from feedback.curation.transfer.resource import CurationResource, Values, authors_left, digest
from feedback.models import CuratedAnswer, CuratedSource
from ragsite.core.errors import AppError, ConflictError, InvalidInputError
from ragsite.core.messages import worded
from ragsite.core.text import clean_text, shortened, unix_lines
from retrieval.engine.text.markers import CITATION, cited_markers
from retrieval.engine.text.same_question import word_key, wording
from retrieval.knowledge.selectors import as_uuid
from retrieval.models import Chunk, Collection, Document

LEAST_QUESTION = 3
MAX_ANSWER = 20_000


class CuratedResource(CurationResource):
    """wordings: one a line. valid_until: a day."""

    columns: ClassVar[tuple[str, ...]] = (
        "id",
        "question",
        "wordings",
        "answer",
        "valid_until",
        *(f"{name}_{n}" for n in range(1, MAX_SOURCES + 1) for name in SOURCE_COLUMNS),
    )
    required: ClassVar[tuple[str, ...]] = (
        "question",
        "answer",
        *(f"{n}_1" for n in SOURCE_COLUMNS),
    )
    id = Field(attribute="pk", column_name="id")
    question = Field(attribute="question", column_name="question")
    wordings = Field(column_name="wordings")
    answer = Field(attribute="text", column_name="answer")
    valid_until = Field(column_name="valid_until")

    class Meta(CurationResource.Meta):
        model = CuratedAnswer
        fields = ("id", "question", "wordings", "answer", "valid_until")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._by_id: dict[UUID, CuratedAnswer] = {}
        self._holders: dict[tuple[str, ...], UUID] = {}  # of a wording in force
        self._stamp: Stamp | None = None  # of the answers that these are of
        self._checked: dict[UUID, list[str]] = {}  # wordings of rows that are not stored
        self._left = MOST
        self._names: dict[UUID, str] = {}
        self._documents: dict[UUID, Document] = {}
        self._most_sources = 1

    def rows(self) -> QuerySet[CuratedAnswer]:
        known = self.named.collections().order_by().values("pk")
        elsewhere = Document.objects.exclude(collection__in=known)
        hidden = CuratedSource.objects.filter(
            Exists(elsewhere.filter(pk=OuterRef("document_id"))), answer=OuterRef("pk")
        )
        answers = CuratedAnswer.in_force().filter(~Exists(hidden))
        return answers.prefetch_related("sources")

    # ---------------------------------------------------------------------------------------- out
    def before_export(self, queryset: Any, **kwargs: Any) -> None:
        cited = {one.document_id for row in queryset for one in row.sources.all()}
        documents = Document.objects.select_related("collection__owner")
        self._documents = documents.in_bulk(list(cited))
        self._names = document_names(self._documents.values())
        self._most_sources = max((len(row.sources.all()) for row in queryset), default=1)

    def dehydrate_id(self, row: CuratedAnswer) -> str:
        return str(row.pk)

    def dehydrate_wordings(self, row: CuratedAnswer) -> str:
        return "\n".join(row.wordings)

    def dehydrate_valid_until(self, row: CuratedAnswer) -> str:
        return timezone.localdate(row.expires_at).isoformat() if row.expires_at else ""

    def get_export_headers(self, selected_fields: Any = None) -> list[str]:
        numbers = range(1, self._most_sources + 1)
        names = [f"{name}_{number}" for number in numbers for name in SOURCE_COLUMNS]
        return [*super().get_export_headers(selected_fields), *names]

    def export_resource(
        self, instance: CuratedAnswer, selected_fields: Any = None, **kwargs: Any
    ) -> list[str]:
        cells: list[str] = super().export_resource(instance, selected_fields, **kwargs)
        for source in instance.sources.all():
            document = self._documents.get(source.document_id)
            collection = document.collection.address if document else ""
            name = self._names.get(source.document_id, source.title)
            cells += [collection, name, source.text]
        missing = self._most_sources - len(instance.sources.all())
        return cells + [""] * (missing * len(SOURCE_COLUMNS))

    # ---------------------------------------------------------------------------------------- in
    def prepare(self, lines: Sequence[CsvRow]) -> None:
        self._load_wordings()
        keys = {key for line in lines if (key := as_uuid(line.cells.get("id", "").strip()))}
        holders = (self._holder(question_cell(line.cells)) for line in lines)
        keys |= {key for key in holders if key}
        self._by_id = self.rows().in_bulk(list(keys))
        wanted: dict[Collection, list[str]] = defaultdict(list)
        for line in lines:
            for one in source_cells(line.cells).values():
                try:
                    collection = self.named.collection(one.collection)
                except AppError:  # `read` says so of the row
                    continue
                wanted[collection].append(one.document)
        self.named.load(wanted)

    def _load_wordings(self) -> None:
        """Of all answers in force, again where somebody else has changed one since: another import, or a curator. In a
        transaction that has called `one_at_a_time`."""
        stamp = curated_stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        self._holders = {}
        rows = CuratedAnswer.in_force().values_list("pk", "question", "wordings")
        keys = set(self._checked)
        for key, question, wordings in rows:
            keys.add(key)
            self._reserve(key, self._checked.get(key, [question, *wordings]))
        for key, lines in self._checked.items():
            self._reserve(key, lines)
        self._left = MOST - len(keys)

    def _reserve(self, key: UUID, lines: Iterable[str]) -> None:
        for line in lines:
            self._holders.setdefault(wording(line).words, key)

    def _release(self, values: Values) -> None:
        for line in (values["question"], *values["wordings"]):
            self._holders.pop(wording(line).words, None)

    def all_written(self) -> None:
        self._stamp = curated_stamp()

    def _holder(self, question: str) -> UUID | None:
        return self._holders.get(wording(question).words)

    def read(self, cells: Mapping[str, str]) -> tuple[CuratedAnswer | None, UUID, Values]:
        question = question_cell(cells)
        if not LEAST_QUESTION <= len(question) <= MAX_QUESTION:
            raise InvalidInputError(
                worded(
                    "A question has {least} to {most} characters.",
                    least=LEAST_QUESTION,
                    most=MAX_QUESTION,
                )
            )
        key = as_uuid(cells.get("id", "").strip())
        found = self._by_id.get(key) if key else None
        if found is None:
            same = self._by_id.get(self._holder(question) or UUID(int=0))
            if same is not None and wording(same.question).words == wording(question).words:
                found = same
        key = found.pk if found else self._key_in_file(question) or uuid.uuid4()
        wordings = wordings_cell(cells, found)
        self._check_holders(key, (question, *wordings))
        if found is None and self._left <= 0:
            raise InvalidInputError(
                worded("The site keeps at most {most} checked answers.", most=f"{MOST:,}")
            )
        text, sources = self._answer(cells, found)
        values = {
            "question": question,
            "wordings": wordings,
            "answer": text,
            "expires_at": expiry_cell(cells, found),
            "sources": sources,
        }
        return found, key, values

    def _key_in_file(self, question: str) -> UUID | None:
        """Of an earlier row about the same question."""
        holder = self._holder(question)
        return holder if holder in self._row_of else None

    def _check_holders(self, key: UUID, lines: Iterable[str]) -> None:
        for line in lines:
            holder = self._holder(line)
            if holder is not None and holder != key:
                raise ConflictError(
                    worded(
                        "“{question}” already has another checked answer. Change or withdraw that one.",
                        question=shortened(line, MAX_QUESTION),
                    )
                )

    def _answer(
        self, cells: Mapping[str, str], found: CuratedAnswer | None
    ) -> tuple[str, list[dict[str, str]]]:
        """The text with its sources numbered from 1, and these."""
        text = clean_text(cells["answer"]).strip()
        if not 1 <= len(text) <= MAX_ANSWER:
            raise InvalidInputError(
                worded("An answer has 1 to {most} characters.", most=f"{MAX_ANSWER:,}")
            )
        given = source_cells(cells)
        markers = cited_markers(text)
        if not markers or not markers <= given.keys():
            raise InvalidInputError(
                worded(
                    "Cite at least one passage by its number, such as [1]. Use only numbers from the list."
                )
            )
        for number in sorted(given.keys() - markers):
            raise InvalidInputError(
                worded(
                    "Cite source {number} in the answer, or leave its cells empty.", number=number
                )
            )
        places = {number: place for place, number in enumerate(sorted(given), 1)}
        text = CITATION.sub(lambda match: f"[{places[int(match[1])]}]", text)
        sources = [self._source(number, given[number], found) for number in sorted(given)]
        return text, sources

    def _source(
        self, number: int, cited: SourceCells, found: CuratedAnswer | None
    ) -> dict[str, str]:
        passage = cited.passage.strip()
        try:
            if not passage or not cited.document:
                raise InvalidInputError(
                    worded("Source {number} needs a document and a passage.", number=number)
                )
            collection = self.named.collection(cited.collection)
            document = self.named.document(collection, cited.document)
            return _source_of(document, passage)
        except AppError:
            kept = _as_it_was(found, number, cited.document, passage)
            if kept is None:
                raise
            return kept

    def accepted(self, key: UUID, values: Values) -> None:
        if self._before is None:
            self._left -= 1
        else:
            self._release(self._before)
        lines = [values["question"], *values["wordings"]]
        self._reserve(key, lines)
        if self._is_check:
            self._checked[key] = lines

    def stored(self, instance: CuratedAnswer) -> Values:
        expires = instance.expires_at
        return {
            "question": instance.question,
            "wordings": list(instance.wordings),
            "answer": unix_lines(instance.text).strip(),
            "expires_at": timezone.localtime(expires).isoformat() if expires else "",
            "sources": [
                {"document": str(one.document_id), "title": one.title, "text": one.text}
                for one in instance.sources.all()
            ],
        }

    def set_fields(self, instance: CuratedAnswer, values: Values) -> None:
        expires = values["expires_at"]
        if word_key(instance.question) != word_key(values["question"]):  # a curator's words
            instance.from_answer = False
        instance.question = values["question"]
        instance.wordings = values["wordings"]
        instance.text = values["answer"]
        instance.expires_at = datetime.fromisoformat(expires) if expires else None

    def write_relations(self, instance: CuratedAnswer, values: Values) -> None:
        if self._before is not None:
            CuratedSource.objects.filter(answer=instance).delete()
        CuratedSource.objects.bulk_create(_sources(instance, values))

    def take_back(self, steps: Sequence[Mapping[str, Any]]) -> list[str]:
        ids = [UUID(step["id"]) for step in steps]
        rows = self.rows().select_for_update(of=("self",)).in_bulk(ids)
        unchanged = [step for step in steps if self._is_unchanged(rows, step)]
        added = [step["id"] for step in unchanged if step["before"] is None]
        CuratedAnswer.objects.filter(pk__in=added).update(ended_at=timezone.now(), ended_by=self.by)
        self._load_wordings()
        changed = []
        for step in unchanged:
            if step["before"] is not None and self._is_free(rows[UUID(step["id"])], step["before"]):
                changed.append(step)
        self._restore(rows, changed)
        self.all_written()
        done = {*added, *(step["id"] for step in changed)}
        return [step["id"] for step in steps if step["id"] not in done]

    def _is_unchanged(self, rows: Mapping[UUID, CuratedAnswer], step: Mapping[str, Any]) -> bool:
        row = rows.get(UUID(step["id"]))
        return row is not None and digest(self.stored(row)) == step["after"]

    def _is_free(self, row: CuratedAnswer, before: Values) -> bool:
        """Whether its former wordings can be its own again; then they are."""
        lines = [before["question"], *before["wordings"]]
        try:
            self._check_holders(row.pk, lines)
        except ConflictError:
            return False
        self._release(self.stored(row))
        self._reserve(row.pk, lines)
        return True

    def _restore(
        self, rows: Mapping[UUID, CuratedAnswer], steps: Sequence[Mapping[str, Any]]
    ) -> None:
        authors = authors_left(steps)
        now = timezone.now()
        restored = []
        sources: list[CuratedSource] = []
        for step in steps:
            row = rows[UUID(step["id"])]
            self.set_fields(row, step["before"])
            row.created_by_id = step["by"] if step["by"] in authors else None
            row.updated_at = now
            restored.append(row)
            sources += _sources(row, step["before"])
        columns = ["question", "wordings", "text", "expires_at", "created_by", "updated_at"]
        CuratedAnswer.objects.bulk_update(restored, columns)
        CuratedSource.objects.filter(answer__in=restored).delete()
        CuratedSource.objects.bulk_create(sources)


# ------------------------------------------------------------------------------------------------ sources
def _sources(answer: CuratedAnswer, values: Values) -> list[CuratedSource]:
    """Under the markers of the text, from 1."""
    return [
        CuratedSource(
            answer=answer,
            marker=marker,
            title=source["title"],
            document_id=UUID(source["document"]),
            text=source["text"],
        )
        for marker, source in enumerate(values["sources"], 1)
    ]


def _source_of(document: Document, passage: str) -> dict[str, str]:
    """The passage of the document that holds these words. Raises InvalidInputError."""
    chunks = Chunk.objects.filter(document=document, document__superseded_at=None)
    near = chunks.filter(text__contains=passage).order_by("seq")
    for text in near.values_list("text", flat=True)[:10]:  # SQLite finds other cases, too
        if passage in text:
            return {"document": str(document.pk), "title": document.title[:300], "text": text}
    raise InvalidInputError(
        worded(
            "No passage of “{title}” has these words in one piece. Copy them from the document; a part is enough.",
            title=document.title,
        )
    )


def _as_it_was(
    found: CuratedAnswer | None, number: int, document: str, passage: str
) -> dict[str, str] | None:
    """A source that the stored answer has although its passage is gone: it pauses the answer, and stays."""
    for source in found.sources.all() if found else ():
        names = (source.title, str(source.document_id))
        if source.marker == number and document in names and source.text.strip() == passage:
            return {"document": names[1], "title": source.title, "text": source.text}
    return None
