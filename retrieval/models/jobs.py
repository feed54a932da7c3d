"""The jobs that bring documents in, and a collection's move to another embedding model."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ragsite.core.leases import Leased
from retrieval.models.collections import Collection
from retrieval.models.documents import Document


class IngestJob(Leased):
    """Work on one document.

    The row, not the queue's message, is what survives: a job whose lease ran out is taken over.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    document = models.ForeignKey(
        Document, on_delete=models.CASCADE, related_name="jobs", verbose_name=_("document")
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="ingest_jobs",
        db_index=False,
        help_text=_("Whose turn it uses; empty: the site's."),
        verbose_name=_("user"),
    )
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    holder = models.CharField(
        _("holder"), max_length=100, blank=True, help_text=_("Host and process, for people.")
    )
    waits = models.PositiveSmallIntegerField(
        _("waits"),
        default=0,
        help_text=_("How often it waited because a server was not reachable."),
    )
    not_before = models.DateTimeField(
        _("not before"),
        null=True,
        blank=True,
        help_text=_("No worker takes a waiting job before this."),
    )
    error = models.CharField(_("error"), max_length=500, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)

    class Meta:
        verbose_name = _("ingest job")
        verbose_name_plural = _("ingest jobs")
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["document"],
                condition=Q(state__in=["waiting", "running"]),
                name="one_open_job_per_document",
            )
        ]
        indexes = [
            models.Index(fields=["state", "lease_expires_at"]),
            models.Index(fields=["user", "state", "created_at"], name="ingest_job_turn"),
            models.Index(fields=["finished_at"], name="ingest_job_finished"),
        ]

    def __str__(self) -> str:
        return f"{self.document_id}: {self.get_state_display()}"


class Reembedding(models.Model):
    """A collection's move to another embedding model, and how far it is; total, done: passages. The last one alone."""

    collection = models.OneToOneField(
        Collection, on_delete=models.CASCADE, primary_key=True, related_name="reembedding"
    )
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    error = models.CharField(max_length=500, blank=True)
    requested_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("re-embedding")
        verbose_name_plural = _("re-embeddings")

    def __str__(self) -> str:
        return f"{self.collection_id}: {self.done}/{self.total}"
