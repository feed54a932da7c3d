"""Revisions: everything that ratings do to ranking at one moment, as one row that never changes."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from feedback.models.evidence import RatedPassage, RatedQuestion
from feedback.models.fields import who
from ragsite.core.localized import localized, said
from ragsite.core.wording import Wordings, wordings_of
from retrieval.models import Document

ROUND_STATUSES = {  # of a round, as the end of a sentence
    "live": _("its revision is live"), "held": _("its revision is held back"), "proposed": _("its revision waits"),
    "unchanged": _("no boost changes"), "failed": _("it failed"),
}  # fmt: skip
TOLD = ("reason", "notes")  # of a guard's report: what holds sentences


class Revision(models.Model):
    """What ranking is to make of the evidence. One is live; a switch of revisions is a switch of a pointer.

    It has all of its boosts as rows: how it differs from another one is counted when somebody looks.
    """

    class Status(models.TextChoices):
        PROPOSED = "proposed", _("Proposed")
        HELD = "held", _("Held")
        LIVE = "live", _("Live")
        SUPERSEDED = "superseded", _("Superseded")
        ROLLED_BACK = "rolled_back", _("Rolled back")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    number = models.PositiveIntegerField(
        unique=True, help_text=_("1, 2, 3 … in the order of making."), verbose_name=_("number")
    )
    parent = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="children",
        help_text=_("Live when made."),
        verbose_name=_("parent"),
    )
    status = models.CharField(max_length=12, choices=Status, default=Status.PROPOSED, verbose_name=_("status"))
    digest = models.CharField(
        max_length=64, db_index=True, help_text=_("The same for the same boosts."), verbose_name=_("digest")
    )
    summary = models.JSONField(
        default=dict,
        help_text=_("Counts: boosts, ratings, evidence."),
        verbose_name=_("summary"),
    )
    guard = models.JSONField(
        default=dict, blank=True, help_text=_("What was measured before it might go live."), verbose_name=_("guard")
    )
    reason = models.CharField(
        max_length=500, blank=True, help_text=_("Why it has its status."), verbose_name=_("reason")
    )
    made_by = who(_("made by"), help_text=_("Empty: the periodic round."))
    live_by = who(_("live by"), help_text=_("Who made it live; empty: the guard let it pass."))
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    live_at = models.DateTimeField(null=True, blank=True, verbose_name=_("live at"))
    ended_at = models.DateTimeField(null=True, blank=True, verbose_name=_("ended at"))

    class Meta:
        verbose_name = _("revision")
        verbose_name_plural = _("revisions")
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["status"], condition=Q(status="live"), name="one_live_revision")]
        indexes = [models.Index(fields=["status", "-number"])]

    def __str__(self) -> str:
        return said(
            "Revision {number} ({status})", number=self.number, status=str(self.get_status_display()).lower()
        )  # fmt: skip

    def reason_set(self, why: str) -> None:
        """Cut to 500 characters; what a sentence was made of is kept beside what was measured. Not saved."""
        self.reason = why[:500]
        if wordings := wordings_of(why):
            self.guard = {**self.guard, "wordings": {**self.guard.get("wordings", {}), **wordings}}

    @property
    def measured(self) -> dict[str, Any]:
        """The guard's report in the reader's language, without what its sentences were made of; empty: nothing was
        measured."""
        return _report_told(self.guard, self.wordings)

    @property
    def wordings(self) -> Wordings:
        """What its reason and the guard's sentences were made of, by their English text."""
        found: Wordings = self.guard.get("wordings", {})
        return found

    @property
    def reason_said(self) -> str:
        """In the reader's language, as far as the site wrote it. Earlier versions kept the English text alone."""
        return str(localized(self.reason, self.wordings))


class Boost(models.Model):
    """A multiplier of a revision. On a document: a prior, whatever is asked. With a passage and a question: for that
    question and for those that want the same answer."""

    id = models.BigAutoField(primary_key=True)
    revision = models.ForeignKey(Revision, on_delete=models.CASCADE, related_name="boosts", verbose_name=_("revision"))
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="boosts", verbose_name=_("document"))
    passage = models.ForeignKey(
        RatedPassage, null=True, blank=True, on_delete=models.CASCADE, related_name="boosts", verbose_name=_("passage")
    )
    question = models.ForeignKey(
        RatedQuestion,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="boosts",
        verbose_name=_("question"),
    )
    multiplier = models.FloatField(default=1.0, verbose_name=_("multiplier"))
    raters_up = models.PositiveIntegerField(default=0, verbose_name=_("raters up"))
    raters_down = models.PositiveIntegerField(default=0, verbose_name=_("raters down"))

    class Meta:
        verbose_name = _("boost")
        verbose_name_plural = _("boosts")
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(passage=None, question=None) | Q(passage__isnull=False, question__isnull=False),
                name="query_boosts_have_question_and_passage",
            ),
            models.CheckConstraint(condition=Q(multiplier__gte=0.5, multiplier__lte=2.0), name="boost_within_bounds"),
        ]
        indexes = [models.Index(fields=["document", "revision"])]

    def __str__(self) -> str:
        return f"× {self.multiplier:.2f}: {self.document_id}"


class RevisionEvent(models.Model):
    """The audit log: who or what did what, when, and why. Never changed, never deleted."""

    class Action(models.TextChoices):
        PROPOSED = "proposed", _("Revision proposed")
        WENT_LIVE = "went_live", _("Revision went live")
        HELD = "held", _("Revision held")
        RELEASED = "released", _("Revision released")
        ROLLED_BACK = "rolled_back", _("Revision rolled back")
        MANUAL_SET = "manual_set", _("Boost by hand set")
        MANUAL_ENDED = "manual_ended", _("Boost by hand ended")
        GOLDEN_ADDED = "golden_added", _("Golden question added")
        GOLDEN_CHANGED = "golden_changed", _("Golden question changed")
        GOLDEN_DELETED = "golden_deleted", _("Golden question deleted")
        CURATED_SET = "curated_set", _("Curated answer set")
        CURATED_ENDED = "curated_ended", _("Curated answer withdrawn")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    action = models.CharField(max_length=20, choices=Action, verbose_name=_("action"))
    revision = models.ForeignKey(
        Revision, null=True, blank=True, on_delete=models.SET_NULL, related_name="events", verbose_name=_("revision")
    )
    document_id = models.UUIDField(null=True, blank=True, db_index=True, verbose_name=_("document id"))
    by = who(_("by"), help_text=_("Empty: the periodic round."))
    why = models.CharField(max_length=500, blank=True, verbose_name=_("why"))
    detail = models.JSONField(default=dict, blank=True, verbose_name=_("detail"))
    at = models.DateTimeField(auto_now_add=True, verbose_name=_("at"))

    class Meta:
        verbose_name = _("log entry")
        verbose_name_plural = _("log entries")
        ordering = ["-at", "pk"]
        indexes = [models.Index(fields=["action", "-at"])]

    def __str__(self) -> str:
        return f"{self.get_action_display()}, {self.at:%Y-%m-%d %H:%M}"

    @classmethod
    def log(
        cls, action: str, *, why: str = "", detail: Mapping[str, Any] | None = None, **fields: Any
    ) -> RevisionEvent:
        """Write an entry. why: cut to 500 characters; what a sentence was made of is kept in the detail."""
        known = {"wordings": wordings} if (wordings := wordings_of(why)) else {}
        return cls.objects.create(action=action, why=why[:500], detail={**(detail or {}), **known}, **fields)

    @property
    def why_said(self) -> str:
        """In the reader's language, as far as the site wrote it. Earlier versions kept the English text alone."""
        return str(localized(self.why, self.detail.get("wordings")))


class FeedbackState(models.Model):
    """The one row (key 1) that says what is live. `version` grows with every change that searches have to see."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    live = models.ForeignKey(
        Revision, null=True, blank=True, on_delete=models.PROTECT, related_name="+", verbose_name=_("live")
    )
    version = models.PositiveBigIntegerField(default=0, verbose_name=_("version"))
    last_round_at = models.DateTimeField(null=True, blank=True, verbose_name=_("last round at"))
    last_round = models.JSONField(default=dict, blank=True, verbose_name=_("last round"))

    class Meta:
        verbose_name = _("feedback state")
        verbose_name_plural = _("feedback states")
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_feedback_state")]

    def __str__(self) -> str:
        return f"version {self.version}"

    @property
    def last_round_told(self) -> dict[str, Any]:
        """In the reader's language; its status is the end of a sentence."""
        told = round_told(self.last_round)
        return {**told, "status": str(ROUND_STATUSES.get(told["status"], told["status"]))} if told else {}


def round_told(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """A round's outcome in the reader's language, without what its sentences were made of."""
    guard = outcome.get("guard", {})
    known = {**guard.get("wordings", {}), **outcome.get("wordings", {})}
    told = _report_told(outcome, known)
    return {**told, "guard": _report_told(guard, known)} if "guard" in told else told


def _report_told(report: Mapping[str, Any], known: Wordings) -> dict[str, Any]:
    return {
        name: localized(value, known) if name in TOLD else value for name, value in report.items() if name != "wordings"
    }
