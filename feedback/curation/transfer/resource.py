"""A row of a CSV ↔ what is stored, the same for both kinds: read, compared, written, taken back.

`Values` are what a row says, as JSON: of a row that was read and of one that is stored they are compared to know
whether it changes anything. django-import-export calls the hooks in this order: `before_import` with a batch, then for
each row `before_import_row`, `get_or_init_instance`, `skip_row`, `save_instance`, `save_m2m`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Model
from import_export import resources
from import_export.results import Result, RowResult
from tablib import Dataset

from feedback.curation.transfer.csv_table import CsvRow
from feedback.curation.transfer.documents import Named
from ragsite.core.errors import AppError, ConflictError, InvalidInputError
from ragsite.core.messages import Sentence, joined, worded

Values = dict[str, Any]
LABEL_CHARS = 160
CHANGED_SINCE = worded(
    "Somebody else has changed or added this since the file was checked. Check the file again."
)


class RowOutcome(NamedTuple):
    """Of one row. kind: new, changed, unchanged, wrong. reason: of a wrong one, a `Sentence`."""

    number: int
    kind: str
    label: str
    reason: str = ""


KINDS = {
    RowResult.IMPORT_TYPE_NEW: "new",
    RowResult.IMPORT_TYPE_UPDATE: "changed",
    RowResult.IMPORT_TYPE_SKIP: "unchanged",
    RowResult.IMPORT_TYPE_INVALID: "wrong",
}


class CurationResource(resources.ModelResource):
    """One import, or one export, of one person."""

    columns: ClassVar[tuple[str, ...]] = ()  # all that a file may have
    required: ClassVar[tuple[str, ...]] = ()

    class Meta:
        skip_diff = True  # `skip_row` compares what is stored itself
        report_skipped = True
        clean_model_instances = False

    def __init__(self, *, by: User) -> None:
        super().__init__()
        self.by = by
        self.named = Named(by)
        # Of the last rows that were taken in:
        self.undo: list[dict[str, Any]] = []  # how those that were written are taken back
        self.seen: dict[str, str] = {}  # by the row's number, a digest of what was stored
        self._row_of: dict[UUID, int] = {}  # what this file has said of, by which row
        self._lines: Sequence[CsvRow] = ()
        self._is_check = True
        self._expected: Mapping[str, str] | None = None
        self._found: Model | None = None
        self._key = UUID(int=0)
        self._values: Values = {}
        self._before: Values | None = None
        self._by: int | None = None  # who had written that

    # ---------------------------------------------------------------------------------------- of each kind
    def prepare(self, lines: Sequence[CsvRow]) -> None:
        """Look up together what these rows name."""
        raise NotImplementedError

    def read(self, cells: Mapping[str, str]) -> tuple[Model | None, UUID, Values]:
        """What the row says, of what is stored or of something new, and its key. Raises AppError."""
        raise NotImplementedError

    def accepted(self, key: UUID, values: Values) -> None:
        """The row is right: later ones must not contradict it."""

    def stored(self, instance: Any) -> Values:
        raise NotImplementedError

    def set_fields(self, instance: Any, values: Values) -> None:
        raise NotImplementedError

    def write_relations(self, instance: Any, values: Values) -> None:
        raise NotImplementedError

    def all_written(self) -> None:
        """The rows that were taken in are stored."""

    def take_back(self, steps: Sequence[Mapping[str, Any]]) -> list[str]:
        """Some of `undo`, the last one first, in a transaction of the caller's. Returns the ids of those that stay, since
        what they wrote has been changed since."""
        raise NotImplementedError

    # ---------------------------------------------------------------------------------------- in
    def take_in(
        self, lines: Sequence[CsvRow], *, dry_run: bool, expected: Mapping[str, str] | None = None
    ) -> list[RowOutcome]:
        """A batch, one outcome a row. In a transaction of the caller's. expected: `seen` of their check; a row that
        something else is stored of by now is wrong."""
        self._lines = lines
        self._is_check = dry_run
        self._expected = expected
        self.undo = []
        self.seen = {}
        dataset = Dataset(headers=list(self.columns))
        for line in lines:
            dataset.append([line.cells.get(name, "") for name in self.columns])
        result: Result = self.import_data(dataset, dry_run=dry_run, use_transactions=True)
        if not dry_run:
            self.all_written()
        if result.has_errors():
            errors = [*result.base_errors, *(one for row in result.rows for one in row.errors)]
            raise errors[0].error
        return [
            _outcome(line, row, self.label(line.cells))
            for line, row in zip(lines, result.rows, strict=True)
        ]

    def label(self, cells: Mapping[str, str]) -> str:
        return " ".join(cells.get("question", "").split())[:LABEL_CHARS]

    def before_import(self, dataset: Dataset, **kwargs: Any) -> None:
        self.prepare(self._lines)

    def before_import_row(self, row: Any, **kwargs: Any) -> None:
        line = self._lines[kwargs["row_number"] - 1]
        try:
            if line.surplus:
                raise InvalidInputError(worded("It has more cells than the head has columns."))
            self._found, self._key, self._values = self.read(line.cells)
            if earlier := self._row_of.get(self._key):
                raise InvalidInputError(
                    worded("Row {number} is about the same question.", number=earlier)
                )
            self._before = self.stored(self._found) if self._found is not None else None
            seen = digest(self._before) if self._before is not None else ""
            if self._expected is not None and self._expected.get(str(line.number)) != seen:
                raise ConflictError(CHANGED_SINCE)
        except AppError as error:
            raise ValidationError(sentence_of(error)) from error
        self._row_of[self._key] = line.number
        self.seen[str(line.number)] = seen
        self.accepted(self._key, self._values)

    def get_or_init_instance(self, instance_loader: Any, row: Any) -> tuple[Model, bool]:
        if self._found is not None:
            return self._found, False
        return self._meta.model(pk=self._key), True

    def import_instance(self, instance: Any, row: Any, **kwargs: Any) -> None:
        self._by = instance.created_by_id
        self.set_fields(instance, self._values)
        instance.created_by = self.by

    def skip_row(self, instance: Model, original: Any, row: Any, errors: Any = None) -> bool:
        return self._before == self._values

    def save_instance(self, instance: Model, is_create: bool, row: Any, **kwargs: Any) -> None:
        if not kwargs["dry_run"]:
            super().save_instance(instance, is_create, row, **kwargs)

    def save_m2m(self, instance: Model, row: Any, **kwargs: Any) -> None:
        if kwargs["dry_run"]:
            return
        self.write_relations(instance, self._values)
        step = {
            "id": str(self._key),
            "before": self._before,
            "by": self._by,
            "after": digest(self._values),
        }
        self.undo.append(step)


def _outcome(line: CsvRow, row: RowResult, label: str) -> RowOutcome:
    reason = row.validation_error.message if row.validation_error else ""
    return RowOutcome(line.number, KINDS[row.import_type], label, reason)


def sentence_of(error: AppError) -> str:
    """What is wrong with the fields, else with all of it: some errors name the field's value there, in no sentence."""
    problems = [one for problems in error.fields.values() for one in problems]
    sentences = [one for one in problems if isinstance(one, Sentence)]
    return joined("; ", sentences) if sentences else error.message


def authors_left(steps: Sequence[Mapping[str, Any]]) -> set[int]:
    """Of those who had written what an import changed, the ones whose accounts are still there."""
    ids = {step["by"] for step in steps if step["by"] is not None}
    return set(User.objects.filter(pk__in=ids).values_list("pk", flat=True))


def digest(values: Values) -> str:
    text = json.dumps(values, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
