"""Revisions: everything that ratings do to ranking at one moment, as one row that never changes."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from feedback.models.evidence import RatedPassage, RatedQuestion
from retrieval.models import Document


class Revision(models.Model):
    """What ranking is to make of the evidence. One is live; a switch of revisions is a switch of a pointer.

    `content` holds all of its boosts (`feedback.ranking.snapshot`); the `boosts` rows only how it differs from
    its parent.
    """

    class Status(models.TextChoices):
        PROPOSED = "proposed"
        HELD = "held"
        LIVE = "live"
        SUPERSEDED = "superseded"
        ROLLED_BACK = "rolled_back", "Rolled back"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    number = models.PositiveIntegerField(unique=True, help_text="1, 2, 3 … in the order of making.")
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="children", help_text="Live when made."
    )
    status = models.CharField(max_length=12, choices=Status, default=Status.PROPOSED)
    content = models.BinaryField()
    digest = models.CharField(max_length=64, db_index=True, help_text="SHA-256 of what it does, hexadecimal.")
    summary = models.JSONField(default=dict, help_text="Counts: boosts, added, changed, removed, ratings, evidence.")
    guard = models.JSONField(default=dict, blank=True, help_text="What was measured before it might go live.")
    reason = models.CharField(max_length=500, blank=True, help_text="Why it has its status.")
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+",
        help_text="Empty: the periodic round.",
    )  # fmt: skip
    live_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+",
        help_text="Who made it live; empty: the guard let it pass.",
    )  # fmt: skip
    created_at = models.DateTimeField(auto_now_add=True)
    live_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["status"], condition=Q(status="live"), name="one_live_revision")]
        indexes = [models.Index(fields=["status", "-number"])]

    def __str__(self) -> str:
        return f"Revision {self.number} ({self.get_status_display().lower()})"


class Boost(models.Model):
    """One difference between a revision and its parent: a multiplier before and after; 1 means there was or is none.

    document: a prior, whatever is asked. query: for questions near `question`, on one passage; `before` and `after`
    hold for that very question and fade to 1 with the distance from it.
    """

    class Kind(models.TextChoices):
        DOCUMENT = "document"
        QUERY = "query"

    class Change(models.TextChoices):
        ADDED = "added"
        CHANGED = "changed"
        REMOVED = "removed"

    id = models.BigAutoField(primary_key=True)
    revision = models.ForeignKey(Revision, on_delete=models.CASCADE, related_name="boosts")
    kind = models.CharField(max_length=10, choices=Kind)
    change = models.CharField(max_length=10, choices=Change)
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="boosts")
    passage = models.ForeignKey(RatedPassage, null=True, blank=True, on_delete=models.CASCADE, related_name="boosts")
    question = models.ForeignKey(RatedQuestion, null=True, blank=True, on_delete=models.CASCADE, related_name="boosts")
    before = models.FloatField(default=1.0)
    after = models.FloatField(default=1.0)
    raters_up = models.PositiveIntegerField(default=0)
    raters_down = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="document", passage=None, question=None)
                | Q(kind="query", passage__isnull=False, question__isnull=False),
                name="query_boosts_have_question_and_passage",
            ),
            models.CheckConstraint(condition=Q(after__gte=0.5, after__lte=2.0), name="boost_within_bounds"),
        ]
        indexes = [models.Index(fields=["document", "revision"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.document_id}: {self.before:.2f} → {self.after:.2f}"


class RevisionEvent(models.Model):
    """The audit log: who or what did what, when, and why. Never changed, never deleted."""

    class Action(models.TextChoices):
        PROPOSED = "proposed", "Revision proposed"
        WENT_LIVE = "went_live", "Revision went live"
        HELD = "held", "Revision held"
        RELEASED = "released", "Revision released"
        ROLLED_BACK = "rolled_back", "Revision rolled back"
        FROZEN = "frozen", "Rounds frozen"
        UNFROZEN = "unfrozen", "Freeze lifted"
        RESET_DOCUMENT = "reset_document", "Document reset"
        RESET_RATER = "reset_rater", "Rater reset"
        RESET_UNDONE = "reset_undone", "Reset taken back"
        BURST_FLAGGED = "burst_flagged", "Burst found"
        BURST_ACCEPTED = "burst_accepted", "Burst counted"
        BURST_REJECTED = "burst_rejected", "Burst left out"
        BURST_REOPENED = "burst_reopened", "Burst to be decided anew"
        MANUAL_SET = "manual_set", "Boost by hand set"
        MANUAL_ENDED = "manual_ended", "Boost by hand ended"
        GOLDEN_ADDED = "golden_added", "Golden question added"
        GOLDEN_CHANGED = "golden_changed", "Golden question changed"
        GOLDEN_DELETED = "golden_deleted", "Golden question deleted"
        GOLDEN_IMPORTED = "golden_imported", "Golden questions imported"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    action = models.CharField(max_length=20, choices=Action)
    revision = models.ForeignKey(Revision, null=True, blank=True, on_delete=models.SET_NULL, related_name="events")
    document_id = models.UUIDField(null=True, blank=True, db_index=True)
    rater = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+",
        help_text="Empty: the periodic round.",
    )  # fmt: skip
    why = models.CharField(max_length=500, blank=True)
    detail = models.JSONField(default=dict, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "log entry"
        verbose_name_plural = "log entries"
        ordering = ["-at", "pk"]
        indexes = [models.Index(fields=["action", "-at"])]

    def __str__(self) -> str:
        return f"{self.get_action_display()}, {self.at:%Y-%m-%d %H:%M}"

    @classmethod
    def log(cls, action: str, *, why: str = "", **fields: Any) -> RevisionEvent:
        """Write an entry. why: cut to 500 characters."""
        return cls.objects.create(action=action, why=why[:500], **fields)


class FeedbackState(models.Model):
    """The one row (key 1) that says what is live. `version` grows with every change that searches have to see."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    live = models.ForeignKey(Revision, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    version = models.PositiveBigIntegerField(default=0)
    frozen = models.BooleanField(default=False, help_text="Rounds gather evidence, but propose nothing.")
    last_round_at = models.DateTimeField(null=True, blank=True)
    last_round = models.JSONField(default=dict, blank=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_feedback_state")]

    def __str__(self) -> str:
        return f"version {self.version}{', frozen' if self.frozen else ''}"
