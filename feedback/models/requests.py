"""Questions that people sent to a person: whom, what was said of them, and what came back."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models import Message
from feedback.models.curation import CuratedAnswer
from feedback.models.fields import who
from feedback.models.gaps import KnowledgeGap
from retrieval.models import Collection


class GapRequest(models.Model):
    """A question without a good answer that its asker sent to the people of a collection, or to the curators.

    It goes with its conversation. Where the asker's account is deleted while it is open, the question stays without
    name, remark and conversation. collection: None where it is the curators', also because it was deleted; `sent_to`
    says which it was. not_notified: people who could answer it when it was sent, and were not notified. key: as of a
    `GapQuestion`. reply: an answer as Markdown, or why it is declined. dismissed_at: since then a curator has said
    that the reply becomes no checked answer. times: that it was sent, since one that is withdrawn may be sent again.
    """

    class State(models.TextChoices):
        OPEN = "open", _("Waiting")
        ANSWERED = "answered", _("Answered")
        DECLINED = "declined", _("Declined")
        WITHDRAWN = "withdrawn", _("Withdrawn")

    class To(models.TextChoices):
        COLLECTION = "collection", _("Owner and editors of the collection")
        CURATORS = "curators", _("Curators of the site")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    gap = models.ForeignKey(KnowledgeGap, on_delete=models.CASCADE, related_name="requests")
    message = models.OneToOneField(
        Message, null=True, on_delete=models.CASCADE, related_name="sent_request"
    )
    asker = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    question = models.TextField()
    key = models.CharField(max_length=32)
    remark = models.TextField(blank=True, max_length=1000)
    sent_to = models.CharField(max_length=10, choices=To)
    collection = models.ForeignKey(
        Collection, null=True, on_delete=models.SET_NULL, related_name="sent_requests"
    )
    not_notified = models.PositiveIntegerField(null=True)  # None: of before this was kept
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    times = models.PositiveSmallIntegerField(default=1)
    sent_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)
    ended_by = who(_("ended by"))
    reply = models.TextField(blank=True, max_length=20_000)
    curated = models.ForeignKey(
        CuratedAnswer, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    dismissed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-sent_at", "pk"]
        default_permissions = ()
        indexes = [
            models.Index(fields=["asker", "-sent_at"], name="request_of_asker"),
            models.Index(fields=["-sent_at"], condition=Q(state="open"), name="request_that_waits"),
        ]

    def __str__(self) -> str:
        return f"{self.pk}: {self.state}"


class GapRequestSource(models.Model):
    """A passage that a reply cites, as it was then."""

    id = models.BigAutoField(primary_key=True)
    request = models.ForeignKey(GapRequest, on_delete=models.CASCADE, related_name="sources")
    marker = models.PositiveSmallIntegerField()
    document_id = models.UUIDField()
    title = models.CharField(max_length=300)
    text = models.TextField()

    class Meta:
        ordering = ["request", "marker"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["request", "marker"], name="request_marker_once")
        ]

    def __str__(self) -> str:
        return f"[{self.marker}] {self.title[:60]}"
