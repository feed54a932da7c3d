"""CSV files of checked answers and test questions on their way in. A row is deleted some days after it was made, and
with it the way back: what came in stays."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ragsite.core.leases import Leased


class CurationImport(Leased):
    """One file: checked first, written once somebody has said so; leased to the process that does either."""

    class Kind(models.TextChoices):
        CURATED = "curated", _("Checked answers")
        GOLDEN = "golden", _("Test questions")

    class State(models.TextChoices):
        CHECKING = "checking", _("Being checked")
        READY = "ready", _("To be confirmed")
        WRITING = "writing", _("Being imported")
        DONE = "done", _("Imported")
        UNDOING = "undoing", _("Being taken back")
        UNDONE = "undone", _("Taken back")
        FAILED = "failed", _("Failed")

    WORKED_ON = (State.CHECKING, State.WRITING, State.UNDOING)
    UNDECIDED = (State.CHECKING, State.READY)  # nothing has been written yet

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=10, choices=Kind)
    state = models.CharField(max_length=10, choices=State, default=State.CHECKING)
    by = models.ForeignKey(  # nobody else sees it
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    file_name = models.CharField(max_length=300, blank=True)
    text = models.TextField(blank=True)  # the file's, until it is written
    total = models.PositiveIntegerField(default=0)  # rows
    done = models.PositiveIntegerField(default=0)  # of what goes on: rows, or steps back
    counts: Any = models.JSONField(default=dict)  # new, changed, unchanged, wrong
    samples: Any = models.JSONField(default=dict)  # of the first three: [row's number, question]
    columns: Any = models.JSONField(default=list)  # of the file
    unread: Any = models.JSONField(default=list)  # columns that nobody knows
    error: Any = models.JSONField(null=True, blank=True)  # {text, wording}
    # What the parts hold now; nothing reads these, and a later migration drops them.
    wrong: Any = models.JSONField(default=list)
    undo: Any = models.JSONField(default=list)
    kept: Any = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "id"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.file_name}"

    @property
    def to_write(self) -> int:
        """How many rows of the file are new or changed, as they were checked."""
        return int(self.counts.get("new", 0)) + int(self.counts.get("changed", 0))

    @property
    def state_shown(self) -> str:
        if self.state == self.State.READY and not self.to_write:
            return gettext("Nothing to import")
        return self.get_state_display()

    @property
    def written(self) -> int:
        """How many rows were written."""
        return self.parts.aggregate(rows=Coalesce(Sum("written"), 0))["rows"]

    @property
    def stayed(self) -> int:
        """How many of them a taking back has left alone."""
        return self.parts.aggregate(rows=Coalesce(Sum("stayed"), 0))["rows"]


class CurationImportPart(models.Model):
    """Rows of a file that are checked, written and taken back in one transaction.

    start: the place of the first one among the rows of the file, from 0; lines: how many. seen: of those that can be
    written, by the row's number, a digest of what was stored when they were checked; empty: nothing. wrong: {row, label,
    text, wording, cells}. undo: {id, before, by, after}, see `take_back`; written: how many. kept: ids of these that
    a taking back has left alone, stayed: how many; None: they have not been taken back.
    """

    id = models.BigAutoField(primary_key=True)
    of = models.ForeignKey(
        CurationImport,
        on_delete=models.CASCADE,
        related_name="parts",
        db_index=False,  # the constraint's serves
    )
    start = models.PositiveIntegerField()
    lines = models.PositiveIntegerField()
    seen: Any = models.JSONField(default=dict)
    wrong: Any = models.JSONField(default=list)
    undo: Any = models.JSONField(default=list)
    written = models.PositiveIntegerField(default=0)
    kept: Any = models.JSONField(null=True, blank=True)
    stayed = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["of", "start"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["of", "start"], name="import_part_once")]

    def __str__(self) -> str:
        return f"{self.of_id}: {self.start}"
