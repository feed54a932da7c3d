"""Knowledge gaps as people work on them: to-dos that outlive the clusters they were found as."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models import Message, Replay, ReplayBatch
from retrieval.models import Collection, Document


class KnowledgeGap(models.Model):
    """Questions on one subject that the documents did not answer. It is known by its questions (`GapQuestion`),
    whatever clusters they fall into later. Users' words stand there alone, and go with their conversations.

    questions … answered: counted by `feedback.curation.gap_todos`. recent, earlier: questions of the last 30 days, and
    of the 30 before. wordings: distinct ones; asked_again, answered: of these.
    """

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        IN_WORK = "in_work", _("In work")
        CLOSED = "closed", _("Closed")
        SET_ASIDE = "set_aside", _("Set aside")

    class Reopened(models.TextChoices):
        ASKED = "asked", _("People asked it again and were not answered.")
        FAILED = "failed", _("Asked again, some of its questions were not answered.")

    scope = models.CharField(
        max_length=300, blank=True, help_text=_("What was asked of: a collection's id, its name, or all.")
    )
    collection = models.ForeignKey(
        Collection,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="knowledge_gaps",
        verbose_name=_("collection"),
    )
    leader = models.CharField(max_length=32, blank=True, help_text=_("The wording that it is called by."))
    state = models.CharField(max_length=10, choices=State, default=State.OPEN, verbose_name=_("state"))
    state_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+",
        verbose_name=_("state set by"),
    )  # fmt: skip
    state_at = models.DateTimeField(default=timezone.now, verbose_name=_("state set at"))
    reopened = models.CharField(max_length=10, choices=Reopened, blank=True, verbose_name=_("why it was reopened"))
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+",
        verbose_name=_("assignee"),
    )  # fmt: skip
    merged_into = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="merged",
        help_text=_("Somebody has said that both are one; its questions stand there."), verbose_name=_("merged into"),
    )  # fmt: skip
    note = models.TextField(blank=True, max_length=4000, verbose_name=_("note"))
    due = models.DateField(null=True, blank=True, verbose_name=_("due"))
    questions = models.PositiveIntegerField(default=0)
    people = models.PositiveIntegerField(default=0)
    recent = models.PositiveIntegerField(default=0)
    earlier = models.PositiveIntegerField(default=0)
    wordings = models.PositiveIntegerField(default=0)
    asked_again = models.PositiveIntegerField(default=0)
    answered = models.PositiveIntegerField(default=0)
    newest_at = models.DateTimeField(default=timezone.now, verbose_name=_("newest question at"))
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))

    class Meta:
        verbose_name = _("knowledge gap")
        verbose_name_plural = _("knowledge gaps")
        ordering = ["-questions", "-newest_at", "-id"]
        default_permissions = ()
        indexes = [
            models.Index(fields=["-questions", "-newest_at", "-id"], name="gap_largest"),
            models.Index(fields=["-newest_at", "-id"], name="gap_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.pk}: {self.state}"


class GapQuestion(models.Model):
    """An answer that did not answer, in a gap. It goes with its conversation.

    key: the same for questions in nearly the same words; a wording stays in the gap that it came into. merged_from: the
    gap that it came into first, where that one was merged into `gap`. answered:
    whether its wording was answered when it was last asked again; None: it was not, or could not be asked.
    """

    id = models.BigAutoField(primary_key=True)
    gap = models.ForeignKey(KnowledgeGap, on_delete=models.CASCADE, related_name="rows")
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+")
    scope = models.CharField(max_length=300, blank=True)
    key = models.CharField(max_length=32)
    merged_from = models.ForeignKey(KnowledgeGap, null=True, on_delete=models.SET_NULL, related_name="+")
    text = models.TextField(max_length=1000)
    at = models.DateTimeField()
    no_answer = models.BooleanField(default=False)
    badly_rated = models.BooleanField(default=False)
    failed = models.BooleanField(default=False)
    answered = models.BooleanField(null=True)
    asked_again_at = models.DateTimeField(null=True)
    replay = models.ForeignKey(Replay, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        verbose_name = _("question of a gap")
        verbose_name_plural = _("questions of gaps")
        ordering = ["-at", "-id"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["message", "scope"], name="gap_question_once")]
        indexes = [
            models.Index(fields=["gap", "key", "-at"], name="gap_question_wording"),
            models.Index(fields=["gap", "-at"], name="gap_question_newest"),
            models.Index(fields=["scope", "key"], name="gap_question_scope"),
        ]

    def __str__(self) -> str:
        return self.text[:80]


class GapDocument(models.Model):
    """A document that was added for a gap. `asked`: whether the gap's questions were asked again since it is ready."""

    id = models.BigAutoField(primary_key=True)
    gap = models.ForeignKey(KnowledgeGap, on_delete=models.CASCADE, related_name="documents")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="+")
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    added_at = models.DateTimeField(auto_now_add=True)
    asked = models.BooleanField(default=False)

    class Meta:
        verbose_name = _("document of a gap")
        verbose_name_plural = _("documents of gaps")
        ordering = ["-added_at"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["gap", "document"], name="gap_document_once")]

    def __str__(self) -> str:
        return f"{self.gap_id}: {self.document_id}"


class GapRun(models.Model):
    """A gap's questions asked again. `taken`: its results stand in the gap's rows, and all of it has ended."""

    id = models.BigAutoField(primary_key=True)
    gap = models.ForeignKey(KnowledgeGap, on_delete=models.CASCADE, related_name="runs")
    batch = models.OneToOneField(ReplayBatch, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    taken = models.BooleanField(default=False)

    class Meta:
        verbose_name = _("gap asked again")
        verbose_name_plural = _("gaps asked again")
        ordering = ["-at", "-id"]
        default_permissions = ()
        indexes = [models.Index(fields=["gap"], condition=models.Q(taken=False), name="gap_run_open")]

    def __str__(self) -> str:
        return f"{self.gap_id}: {self.at}"


class GapEvent(models.Model):
    """Who did what with a gap. It holds nobody's question."""

    class Kind(models.TextChoices):
        FOUND = "found", _("Found")
        STATE = "state", _("State")
        REOPENED = "reopened", _("Reopened")
        ASSIGNEE = "assignee", _("Assigned")
        NOTE = "note", _("Note")
        DUE = "due", _("Due")
        DOCUMENT = "document", _("Document added")
        ASKED = "asked", _("Asked again")
        MERGED = "merged", _("Merged")
        SPLIT = "split", _("Split again")

    id = models.BigAutoField(primary_key=True)
    gap = models.ForeignKey(KnowledgeGap, on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=10, choices=Kind)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    by_name = models.CharField(max_length=150, blank=True, help_text=_("Empty: the site itself."))
    at = models.DateTimeField(auto_now_add=True)
    detail: Any = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name = _("what was done with a gap")
        verbose_name_plural = _("what was done with gaps")
        ordering = ["-at", "-id"]
        default_permissions = ()
        indexes = [models.Index(fields=["gap", "-at", "-id"], name="gap_event_newest")]

    def __str__(self) -> str:
        return f"{self.kind}, {self.at:%Y-%m-%d %H:%M}"
