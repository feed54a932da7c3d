"""Revisions: everything that ratings do to ranking at one moment, as one row that never changes."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy as _

from feedback.models.evidence import RatedPassage, RatedQuestion
from feedback.models.fields import who
from ragsite.core.localized import localized, translate
from ragsite.core.messages import wordings_of
from retrieval.models import Document

ROUND_STATUSES = {  # of a round, as the end of a sentence
    "live": _("the ranking change is live"),
    "held": _("the ranking change is held back"),
    "proposed": _("the ranking change waits for a decision"),
    "unchanged": _("nothing had to change"),
    "failed": _("it failed"),
}


class Revision(models.Model):
    """What ranking is to make of the evidence. At most one is live.

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
        unique=True, verbose_name=_("number")
    )  # 1, 2, 3 … in the order of making
    parent = models.ForeignKey(  # live when it was made
        "self",
        null=True,
        on_delete=models.SET_NULL,
        related_name="children",
        verbose_name=_("parent"),
    )
    status = models.CharField(
        max_length=12, choices=Status, default=Status.PROPOSED, verbose_name=_("status")
    )
    digest = models.CharField(max_length=64, db_index=True)  # the same for the same boosts
    summary = models.JSONField(default=dict)  # counts: boosts, ratings, evidence
    guard = models.JSONField(default=dict)  # what was measured before it might go live
    reason = models.CharField(
        max_length=500, blank=True, help_text=_("Why it has its status."), verbose_name=_("reason")
    )
    wordings = models.JSONField(
        default=dict, editable=False
    )  # what the sentences in `guard` and `reason` were made of
    made_by = who(_("made by"), help_text=_("Empty: the nightly run."))
    live_by = who(_("live by"), help_text=_("Who made it live; empty: it went live automatically."))
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    live_at = models.DateTimeField(null=True, blank=True, verbose_name=_("live at"))
    ended_at = models.DateTimeField(null=True, blank=True, verbose_name=_("ended at"))

    class Meta:
        verbose_name = _("ranking change")
        verbose_name_plural = _("ranking changes")
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(
                fields=["status"], condition=Q(status="live"), name="one_live_revision"
            )
        ]
        indexes = [models.Index(fields=["status", "-number"])]

    def __str__(self) -> str:
        return translate(
            "Ranking change {number} ({status})",
            number=self.number,
            status=str(self.get_status_display()).lower(),
        )

    def reason_set(self, why: str) -> None:
        """Cut to 500 characters. Not saved."""
        self.reason = why[:500]
        self.wordings = {**self.wordings, **wordings_of(why)}

    @property
    def measured(self) -> dict[str, Any]:
        """The guard's report in the reader's language; empty: nothing was measured."""
        report: dict[str, Any] = localized(self.guard, self.wordings)
        return report

    @property
    def reason_text(self) -> str:
        """In the reader's language, as far as the site wrote it."""
        return str(localized(self.reason, self.wordings))


class Boost(models.Model):
    """A multiplier of a revision. On a document: a prior, whatever is asked. With a passage and a question: for that
    question and for those that want the same answer."""

    id = models.BigAutoField(primary_key=True)
    revision = models.ForeignKey(Revision, on_delete=models.CASCADE, related_name="boosts")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="boosts")
    passage = models.ForeignKey(
        RatedPassage, null=True, on_delete=models.CASCADE, related_name="boosts"
    )
    question = models.ForeignKey(
        RatedQuestion, null=True, on_delete=models.CASCADE, related_name="boosts"
    )
    multiplier = models.FloatField(default=1.0)
    raters_up = models.PositiveIntegerField(default=0)
    raters_down = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["pk"]
        default_permissions = ()
        constraints = [
            models.CheckConstraint(
                condition=Q(passage=None, question=None)
                | Q(passage__isnull=False, question__isnull=False),
                name="query_boosts_have_question_and_passage",
            ),
            models.CheckConstraint(
                condition=Q(multiplier__gte=0.5, multiplier__lte=2.0), name="boost_within_bounds"
            ),
        ]
        indexes = [models.Index(fields=["document", "revision"])]

    def __str__(self) -> str:
        return f"× {self.multiplier:.2f}: {self.document_id}"


class FeedbackState(models.Model):
    """The one row (key 1) that rounds and deletions lock. version: grows when searches have to look again."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    version = models.PositiveBigIntegerField(default=0)
    last_round = models.JSONField(default=dict)

    class Meta:
        default_permissions = ()
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_feedback_state")]

    def __str__(self) -> str:
        return f"version {self.version}"

    @property
    def last_round_at(self) -> datetime | None:
        """When it ended; None: there was none yet."""
        return parse_datetime(self.last_round.get("at", ""))

    @property
    def last_round_report(self) -> dict[str, Any]:
        """In the reader's language; its status is the end of a sentence."""
        report = round_report(self.last_round)
        return (
            {**report, "status": str(ROUND_STATUSES.get(report["status"], report["status"]))}
            if report
            else {}
        )


def round_report(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """A round's outcome in the reader's language, without what its sentences were made of."""
    shown = {name: value for name, value in outcome.items() if name != "wordings"}
    report: dict[str, Any] = localized(shown, outcome.get("wordings"))
    return report
