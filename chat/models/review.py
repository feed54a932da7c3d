"""What the review desk keeps: one row per answer, so that each of its queues is the scan of an index.

`chat.review.records` makes the rows when an answer ends or is rated. What people add (state, assignee, note, labels) is
kept by that.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.models.conversations import Message, Session

NEWEST = ("-created_at", "-id")  # the order of a queue, and of the cursors of its pages


def _queue(reason: str) -> models.Index:
    """Of the answers that have this reason, which are few."""
    return models.Index(fields=NEWEST, condition=Q(**{reason: True}), name=f"review_{reason}")


class AnswerReview(models.Model):
    """An answer at the desk. Its number grows in the order in which rows are made, which is nearly that of answers."""

    class State(models.TextChoices):
        TODO = "todo", _("New")
        REVIEWED = "reviewed", _("Reviewed")
        RESOLVED = "resolved", _("Resolved")

    message = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="review")
    # Copies of the message's: the database holds that there, and need not look them up here, too.
    session = models.ForeignKey(
        Session, on_delete=models.CASCADE, related_name="reviews", db_constraint=False
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    created_at = models.DateTimeField()
    workflow = models.CharField(max_length=40, blank=True)
    model = models.CharField(max_length=200, blank=True)
    decision = models.CharField(max_length=10, blank=True)
    status = models.CharField(max_length=12)
    answer_score = models.PositiveSmallIntegerField(
        null=True, blank=True
    )  # of the answer's own rating, 1 to 5
    worst_score = models.PositiveSmallIntegerField(
        null=True, blank=True
    )  # of this one and those of its sources
    first_token_ms = models.PositiveIntegerField(null=True, blank=True)
    total_ms = models.PositiveIntegerField(null=True, blank=True)
    llm_calls = models.PositiveIntegerField(null=True, blank=True)
    llm_rounds = models.PositiveIntegerField(null=True, blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True, blank=True)
    completion_tokens = models.PositiveIntegerField(null=True, blank=True)
    offered = models.CharField(max_length=10, blank=True)  # its question was: where
    follow_ups = models.PositiveSmallIntegerField(default=0)  # that were offered below it

    badly_rated = models.BooleanField(default=False)
    no_answer = models.BooleanField(default=False)
    unconfirmed = models.BooleanField(default=False)
    weak = models.BooleanField(default=False)
    degraded = models.BooleanField(default=False)
    slow = models.BooleanField(default=False)
    cut = models.BooleanField(default=False)
    flagged = models.BooleanField(default=False)
    severity = models.PositiveSmallIntegerField(
        default=0
    )  # the sum of its reasons: the worst have the most

    state = models.CharField(max_length=10, choices=State, default=State.TODO)
    state_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
    )
    state_at = models.DateTimeField(null=True, blank=True)
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
    )
    note = models.TextField(blank=True, max_length=4000)

    class Meta:
        verbose_name = _("reviewed answer")
        verbose_name_plural = _("reviewed answers")
        ordering = NEWEST
        default_permissions = ()
        permissions = [
            ("read_answers", _("Can read and mark answers at the review desk")),
            ("see_names", _("Can see at the review desk who asked")),
            ("export_answers", _("Can export answers from the review desk")),
            (
                "curate_answers",
                _(
                    "Can create test questions and checked answers and change source ranks at the review desk"
                ),
            ),
            ("administer_desk", _("Can see the log of the review desk")),
        ]
        indexes = [
            models.Index(fields=NEWEST, name="review_newest"),
            models.Index(fields=["-severity", *NEWEST], name="review_worst"),
            models.Index(fields=["state", *NEWEST], name="review_state"),
            models.Index(fields=["state", "-severity", *NEWEST], name="review_state_worst"),
            models.Index(fields=["workflow", *NEWEST], name="review_workflow"),
            models.Index(fields=["decision", *NEWEST], name="review_decision"),
            models.Index(fields=["user", *NEWEST], name="review_user"),
            models.Index(
                fields=["worst_score", *NEWEST],
                condition=Q(worst_score__isnull=False),
                name="review_worst_score",
            ),
            models.Index(
                fields=["assignee", *NEWEST],
                condition=Q(assignee__isnull=False),
                name="review_assignee",
            ),
            models.Index(
                fields=["state_by", *NEWEST],
                condition=Q(state_by__isnull=False),
                name="review_state_by",
            ),
            _queue("badly_rated"),
            _queue("no_answer"),
            _queue("unconfirmed"),
            _queue("weak"),
            _queue("degraded"),
            _queue("slow"),
            _queue("cut"),
            _queue("flagged"),
        ]

    def __str__(self) -> str:
        return f"{self.get_state_display()}: {self.message_id}"


class ReviewedCollection(models.Model):
    """A collection that an answer was asked of, or whose documents are among its sources."""

    # Stored while the row of the answer is locked.
    answer = models.ForeignKey(
        AnswerReview, on_delete=models.CASCADE, related_name="collections", db_constraint=False
    )
    collection = models.ForeignKey(
        "retrieval.Collection", on_delete=models.CASCADE, related_name="+", db_index=False
    )

    class Meta:
        verbose_name = _("collection of an answer")
        verbose_name_plural = _("collections of answers")
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "answer"], name="reviewed_collection_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.collection_id}"


class AnswerLabel(models.Model):
    """A word that a reviewer put on an answer."""

    answer = models.ForeignKey(AnswerReview, on_delete=models.CASCADE, related_name="labels")
    name = models.CharField(max_length=40)

    class Meta:
        verbose_name = _("label of an answer")
        verbose_name_plural = _("labels of answers")
        ordering = ["name"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["name", "answer"], name="label_once")]

    def __str__(self) -> str:
        return self.name


class DeskEvent(models.Model):
    """What somebody did at the desk: read or exported conversations, changed what is kept of an answer, or brought in
    checked answers or test questions as a file."""

    class Kind(models.TextChoices):
        READ = "read", _("Read")
        EXPORT = "export", _("Exported")
        STATE = "state", _("State")
        ASSIGNEE = "assignee", _("Assigned")
        NOTE = "note", _("Note")
        LABELS = "labels", _("Labels")
        IMPORT = "import", _("Imported")
        TAKE_BACK = "take_back", _("Took back")

    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    by_name = models.CharField(max_length=150)  # kept when the account is deleted
    at = models.DateTimeField(auto_now_add=True)
    kind = models.CharField(max_length=10, choices=Kind)
    answer = models.ForeignKey(
        AnswerReview,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="events",
        db_index=False,
    )
    detail = models.JSONField(
        default=dict, blank=True
    )  # {from, to} of a change; the filters of an export; what a file was of, and its counts

    class Meta:
        verbose_name = _("event at the desk")
        verbose_name_plural = _("events at the desk")
        ordering = ["-at", "-id"]
        default_permissions = ()
        indexes = [
            models.Index(fields=["-at", "-id"], name="desk_event_newest"),
            models.Index(fields=["answer", "-at", "-id"], name="desk_event_of_answer"),
        ]

    def __str__(self) -> str:
        return f"{self.by_name}: {self.get_kind_display()}"
