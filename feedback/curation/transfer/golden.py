"""Test questions as rows of a CSV. One is known by its id, else by its words within its collection."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from import_export.fields import Field

from feedback.curation.golden import golden_check, golden_list
from feedback.curation.transfer.csv_table import CsvRow
from feedback.curation.transfer.documents import document_names
from feedback.curation.transfer.resource import CurationResource, Values, authors_left, digest
from feedback.models import GoldenQuestion
from ragsite.core.errors import AppError, ConflictError, InvalidInputError
from ragsite.core.messages import worded
from ragsite.core.text import clean_text
from retrieval.knowledge.selectors import as_uuid
from retrieval.models import Collection, Document


class GoldenResource(CurationResource):
    """documents: one a line. from_answer: "yes" or "no", whether it is somebody's words; once it is, it stays so."""

    columns: ClassVar[tuple[str, ...]] = (
        "id",
        "question",
        "collection",
        "expects",
        "documents",
        "from_answer",
    )
    required: ClassVar[tuple[str, ...]] = ("question", "collection")
    id = Field(attribute="pk", column_name="id")
    question = Field(attribute="text", column_name="question")
    collection = Field(column_name="collection")
    expects = Field(attribute="expects", column_name="expects")
    documents = Field(column_name="documents")
    from_answer = Field(attribute="from_answer", column_name="from_answer")

    class Meta(CurationResource.Meta):
        model = GoldenQuestion
        fields = ("id", "question", "collection", "expects", "documents", "from_answer")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._by_id: dict[UUID, GoldenQuestion] = {}
        self._by_words: dict[tuple[UUID, str], GoldenQuestion] = {}
        self._in_file: dict[tuple[UUID, str], UUID] = {}
        self._names: dict[UUID, str] = {}

    def rows(self) -> QuerySet[GoldenQuestion]:
        known = golden_list(user=self.by)
        return known.select_related("collection__owner").prefetch_related("documents")

    # ---------------------------------------------------------------------------------------- out
    def before_export(self, queryset: Any, **kwargs: Any) -> None:
        self._names = document_names(
            one
            for row in queryset
            for one in row.documents.all()
            if one.collection_id == row.collection_id
        )

    def dehydrate_id(self, row: GoldenQuestion) -> str:
        return str(row.pk)

    def dehydrate_collection(self, row: GoldenQuestion) -> str:
        return row.collection.address

    def dehydrate_documents(self, row: GoldenQuestion) -> str:
        """One that has been moved to another collection by its id: its title may not be this person's to know."""
        return "\n".join(
            self._names[one.pk] if one.collection_id == row.collection_id else str(one.pk)
            for one in row.documents.all()
        )

    def dehydrate_from_answer(self, row: GoldenQuestion) -> str:
        return "no" if row.from_answer is False else "yes"

    # ---------------------------------------------------------------------------------------- in
    def prepare(self, lines: Sequence[CsvRow]) -> None:
        ids = [key for line in lines if (key := as_uuid(line.cells.get("id", "").strip()))]
        texts = {_words(line.cells) for line in lines}
        self._by_id = self.rows().in_bulk(ids)
        self._by_words = {
            (row.collection_id, row.text): row for row in self.rows().filter(text__in=texts)
        }
        wanted: dict[Collection, list[str]] = defaultdict(list)
        for line in lines:
            try:
                collection = self.named.collection(line.cells["collection"].strip())
            except AppError:  # `read` says so of the row
                continue
            wanted[collection] += _lines(line.cells.get("documents", ""))
        self.named.load(wanted)

    def read(self, cells: Mapping[str, str]) -> tuple[GoldenQuestion | None, UUID, Values]:
        name = cells["collection"].strip()
        if not name:
            raise InvalidInputError(worded("Name a collection."))
        collection = self.named.collection(name)
        text = _words(cells)
        same = self._by_words.get((collection.pk, text))
        key = as_uuid(cells.get("id", "").strip())
        found = self._by_id.get(key) if key else None
        if found is not None and same is not None and found.pk != same.pk:
            raise ConflictError(
                worded("Another test question of this collection has the same words.")
            )
        found = found or same
        documents = self._documents(cells, collection, found)
        expects = cells.get("expects", found.expects if found else "").strip().upper()
        expects = expects or GoldenQuestion.Expected.ANSWER.value
        golden_check(text, collection, documents, expects)
        values = {
            "question": text,
            "collection": str(collection.pk),
            "expects": expects,
            "documents": _keys(documents),
            "from_answer": _is_from_answer(cells)
            or (found is not None and found.from_answer is not False),
        }
        earlier = self._in_file.get((collection.pk, text))
        return found, earlier or (found.pk if found else uuid.uuid4()), values

    def accepted(self, key: UUID, values: Values) -> None:
        """A later row with the same words is about this one."""
        self._in_file[UUID(values["collection"]), values["question"]] = key

    def _documents(
        self, cells: Mapping[str, str], collection: Collection, found: GoldenQuestion | None
    ) -> list[Document]:
        """Without the column they stay."""
        if "documents" not in cells:
            return list(found.documents.all()) if found else []
        names = dict.fromkeys(_lines(cells["documents"]))
        return [self.named.document(collection, name) for name in names]

    def stored(self, instance: GoldenQuestion) -> Values:
        return {
            "question": instance.text,
            "collection": str(instance.collection_id),
            "expects": instance.expects,
            "documents": _keys(instance.documents.all()),
            "from_answer": instance.from_answer is not False,
        }

    def set_fields(self, instance: GoldenQuestion, values: Values) -> None:
        instance.text = values["question"]
        instance.collection_id = UUID(values["collection"])
        instance.expects = values["expects"]
        instance.from_answer = values["from_answer"]

    def write_relations(self, instance: GoldenQuestion, values: Values) -> None:
        """One statement for a new one: thousands of rows hold up whoever else writes."""
        if self._before is not None:
            instance.documents.set(Document.objects.filter(pk__in=values["documents"]))
            return
        through = GoldenQuestion.documents.through
        through._default_manager.bulk_create(
            through(goldenquestion_id=instance.pk, document_id=key) for key in values["documents"]
        )

    def take_back(self, steps: Sequence[Mapping[str, Any]]) -> list[str]:
        ids = [UUID(step["id"]) for step in steps]
        rows = self.rows().select_for_update(of=("self",)).in_bulk(ids)
        unchanged = [step for step in steps if self._is_unchanged(rows, step)]
        added = [step["id"] for step in unchanged if step["before"] is None]
        GoldenQuestion.objects.filter(pk__in=added).delete()
        changed = self._free([step for step in unchanged if step["before"] is not None])
        self._restore(rows, changed)
        done = {*added, *(step["id"] for step in changed)}
        return [step["id"] for step in steps if step["id"] not in done]

    def _is_unchanged(self, rows: Mapping[UUID, GoldenQuestion], step: Mapping[str, Any]) -> bool:
        row = rows.get(UUID(step["id"]))
        return row is not None and digest(self.stored(row)) == step["after"]

    def _free(self, steps: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Those whose former words and collection can be theirs again."""
        before = [step["before"] for step in steps]
        collections = {UUID(values["collection"]) for values in before}
        known = set(
            self.named.collections().filter(pk__in=collections).values_list("pk", flat=True)
        )
        same = GoldenQuestion.objects.filter(
            collection__in=collections, text__in=[values["question"] for values in before]
        )
        holders = {(row.collection_id, row.text): str(row.pk) for row in same}
        free = []
        for step in steps:
            collection = UUID(step["before"]["collection"])
            holder = holders.get((collection, step["before"]["question"]), step["id"])
            if collection in known and holder == step["id"]:
                free.append(step)
        return free

    def _restore(
        self, rows: Mapping[UUID, GoldenQuestion], steps: Sequence[Mapping[str, Any]]
    ) -> None:
        authors = authors_left(steps)
        now = timezone.now()
        restored = []
        named: list[tuple[UUID, UUID]] = []
        for step in steps:
            row = rows[UUID(step["id"])]
            self.set_fields(row, step["before"])
            row.created_by_id = step["by"] if step["by"] in authors else None
            row.updated_at = now
            restored.append(row)
            named += [(row.pk, UUID(key)) for key in step["before"]["documents"]]
        columns = ["text", "collection", "expects", "from_answer", "created_by", "updated_at"]
        GoldenQuestion.objects.bulk_update(restored, columns)
        through = GoldenQuestion.documents.through
        through._default_manager.filter(goldenquestion__in=restored).delete()
        there = Document.objects.filter(pk__in={key for _, key in named})
        left = set(there.values_list("pk", flat=True))
        through._default_manager.bulk_create(
            through(goldenquestion_id=question, document_id=key)
            for question, key in named
            if key in left
        )


def _is_from_answer(cells: Mapping[str, str]) -> bool:
    """Raises InvalidInputError."""
    said = cells.get("from_answer", "").strip().lower()
    if said not in ("", "yes", "no"):
        raise InvalidInputError(worded("Write “yes” or “no” in the column “from_answer”."))
    return said == "yes"


def _words(cells: Mapping[str, str]) -> str:
    return " ".join(clean_text(cells["question"]).split())


def _lines(cell: str) -> list[str]:
    return [line.strip() for line in cell.split("\n") if line.strip()]


def _keys(documents: Iterable[Document]) -> list[str]:
    return sorted(str(document.pk) for document in documents)
