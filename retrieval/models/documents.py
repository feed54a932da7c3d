"""Documents, what other systems call them, and the parts that people look at."""

from __future__ import annotations

import uuid
from pathlib import PurePosixPath

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ragsite.core.localized import localized_text
from ragsite.core.messages import say
from retrieval.knowledge.lookups import TrigramIndex
from retrieval.models.collections import Collection

# Of a document's name elsewhere; an index has no room for more.
MAX_SOURCE_CHARS = 100
MAX_KEY_CHARS = 500


def upload_path(document: Document, file_name: str) -> str:
    """Under the document's own id: names from users never make paths."""
    suffix = PurePosixPath(file_name).suffix.lower()[:10]
    return f"{document.collection_id}/{document.pk}{suffix}"


class Document(models.Model):
    """An uploaded file, with what was read of it."""

    class Status(models.TextChoices):
        QUEUED = "queued", _("Queued")
        PARSING = "parsing", _("Parsing")
        EMBEDDING = "embedding", _("Embedding")
        READY = "ready", _("Ready")
        FAILED = "failed", _("Failed")

    BEING_READ = (Status.QUEUED, Status.PARSING, Status.EMBEDDING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="documents", verbose_name=_("collection")
    )
    title = models.CharField(_("title"), max_length=300)
    file_name = models.CharField(_("file name"), max_length=300)
    file = models.FileField(_("file"), upload_to=upload_path, max_length=300, blank=True)
    media_type = models.CharField(_("media type"), max_length=100, blank=True)
    size_bytes = models.PositiveBigIntegerField(_("size bytes"), default=0)
    content_hash = models.CharField(
        _("content hash"), max_length=64, help_text=_("SHA-256 of the file, hexadecimal.")
    )
    language = models.CharField(_("language"), max_length=10, blank=True)
    department = models.CharField(_("department"), max_length=100, blank=True)
    doc_type = models.CharField(_("doc type"), max_length=100, blank=True)
    policy_year = models.PositiveSmallIntegerField(
        _("policy year"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1000), MaxValueValidator(9999)],
    )
    tags = models.JSONField(_("tags"), default=list, blank=True)
    summary = models.TextField(_("summary"), blank=True)
    status = models.CharField(_("status"), max_length=10, choices=Status, default=Status.QUEUED)
    progress = models.FloatField(
        _("progress"), default=0.0, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)]
    )
    error = models.CharField(_("error"), max_length=500, blank=True)
    error_wording = models.JSONField(
        null=True, blank=True, editable=False
    )  # what `error` was made of
    page_count = models.PositiveIntegerField(_("page count"), null=True, blank=True)
    chunk_count = models.PositiveIntegerField(_("chunk count"), default=0)
    word_count = models.PositiveIntegerField(_("word count"), default=0)
    unread = models.JSONField(
        default=list, blank=True, editable=False
    )  # wordings of what was not read
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="uploaded_documents",
        verbose_name=_("uploaded by"),
    )
    replaces = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        db_index=False,  # below; most have none, and SQLite would rather read all documents by their age
        related_name="newer_versions",
        help_text=_("The version that this one replaces as soon as it is ready."),
        verbose_name=_("replaces"),
    )
    superseded_at = models.DateTimeField(
        _("superseded at"),
        null=True,
        blank=True,
        help_text=_("Since then a newer version is searched instead; citations of it still open."),
    )
    version = models.PositiveIntegerField(
        default=1, editable=False
    )  # of those it replaced, one more
    review_by = models.DateField(
        _("review by"),
        null=True,
        blank=True,
        help_text=_("Empty: as its collection says."),
    )
    # Its own date, else that of its collection's rule (`retrieval.knowledge.services.reviews`).
    review_due = models.DateField(null=True, blank=True, editable=False)
    review_notified = models.BooleanField(
        default=False, editable=False
    )  # that this date has passed
    reviewed_at = models.DateTimeField(null=True, blank=True, editable=False)
    reviewed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "content_hash"], name="document_content_once_per_collection"
            )
        ]
        indexes = [
            models.Index(fields=["collection", "status"]),
            models.Index(
                fields=["collection", "department", "doc_type", "policy_year"],
                name="document_metadata",
            ),
            models.Index(fields=["collection", "size_bytes"], name="document_usage"),
            models.Index(fields=["-created_at", "id", "collection"], name="document_newest"),
            models.Index(
                fields=["collection", "-created_at", "id"], name="document_newest_of_collection"
            ),
            # Counts read these alone, and no document.
            models.Index(
                fields=["collection", "chunk_count"],
                condition=Q(status="ready", superseded_at=None),
                name="document_searched",
            ),
            models.Index(
                fields=["collection"],
                condition=Q(status="ready", superseded_at=None) & ~Q(summary=""),
                name="document_summarised",
            ),
            models.Index(
                fields=["collection"],
                condition=Q(status__in=["queued", "parsing", "embedding"]),
                name="document_being_read",
            ),
            models.Index(
                fields=["replaces", "-created_at"],
                condition=Q(replaces__isnull=False),
                name="document_replaces",
            ),
            models.Index(
                fields=["review_due", "id"],
                condition=Q(review_due__isnull=False, superseded_at=None),
                name="document_review_due",
            ),
            # By collection first, so that SQLite, which has no statistics before ANALYZE, takes them for those of the
            # collections that somebody may read.
            models.Index(
                fields=["collection", "review_due", "id"],
                condition=Q(review_due__isnull=False, superseded_at=None),
                name="document_overdue_in_collection",
            ),
            models.Index(
                fields=["collection", "superseded_at", "created_at", "id"],
                name="document_oldest_of_collection",
            ),
            models.Index(
                fields=["review_due", "id"],
                condition=Q(review_due__isnull=False, superseded_at=None, review_notified=False),
                name="document_review_unnotified",
            ),
            TrigramIndex(fields=["title"], name="document_title_trigrams"),
            TrigramIndex(fields=["file_name"], name="document_file_name_trigrams"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def newer_version(self) -> Document | None:
        """The latest that replaces it; one in another collection, which its reader may not know of, is none."""
        versions = [
            one for one in self.newer_versions.all() if one.collection_id == self.collection_id
        ]
        return max(versions, key=lambda one: one.created_at, default=None)

    @property
    def overdue(self) -> bool:
        """Whether the day by which it was to be reviewed has passed; never of an earlier version."""
        if self.review_due is None or self.superseded_at is not None:
            return False
        return self.review_due < timezone.localdate()

    @property
    def localized_error(self) -> str:
        """In the active language."""
        return localized_text(self.error, self.error_wording)

    @property
    def localized_unread(self) -> list[str]:
        """What a viewer shows of it and was not read, each with its place, in the active language."""
        return [localized_text(say(wording), wording) for wording in self.unread]


class DocumentKey(models.Model):
    """What another system calls a document: a program that pushes it, or a source that is kept in step.

    Several keys of one content share a document. Without one, what stands under the key could not be taken in.
    """

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="keys")
    source = models.CharField(
        max_length=MAX_SOURCE_CHARS
    )  # a system's name; of one that is kept in step, its id
    key = models.CharField(max_length=MAX_KEY_CHARS)
    document = models.ForeignKey(
        Document, null=True, blank=True, on_delete=models.CASCADE, related_name="keys"
    )
    brought = models.BooleanField(
        default=False
    )  # the document came in by this key, and goes with it
    fingerprint = models.CharField(
        max_length=200, blank=True
    )  # as the source told it at the last reading
    missing_since = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("document key")
        verbose_name_plural = _("document keys")
        ordering = ["collection", "source", "key"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "source", "key"], name="document_key_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.source}: {self.key}"


class DocumentChange(models.Model):
    """That a document was replaced or is read again, until those whose answers cite it are notified.

    former_text: a digest of what was read of it before; empty where a newer version has replaced it.
    """

    document = models.OneToOneField(
        Document, on_delete=models.CASCADE, primary_key=True, related_name="change"
    )
    at = models.DateTimeField(default=timezone.now)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    former_text = models.CharField(max_length=64, blank=True)

    class Meta:
        verbose_name = _("changed document")
        verbose_name_plural = _("changed documents")
        default_permissions = ()
        indexes = [models.Index(fields=["at"], name="document_change_oldest")]

    def __str__(self) -> str:
        return str(self.document_id)


class DocumentPart(models.Model):
    """What people look at at a time of a document, and where its text stands (`retrieval.knowledge.ingest.chunking`).

    Of a PDF its pages, else runs of blocks.
    """

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="parts")
    number = models.PositiveIntegerField()
    char_start = models.PositiveIntegerField()
    char_end = models.PositiveIntegerField()
    page = models.PositiveIntegerField(null=True, blank=True)
    width = models.FloatField(null=True, blank=True)
    height = models.FloatField(null=True, blank=True)
    blocks = models.JSONField(default=list, blank=True)
    lines = models.JSONField(default=list, blank=True)

    class Meta:
        verbose_name = _("document part")
        verbose_name_plural = _("document parts")
        ordering = ["document", "number"]
        constraints = [
            models.UniqueConstraint(fields=["document", "number"], name="part_number_per_document")
        ]

    def __str__(self) -> str:
        return f"{self.document_id}, {self.number}"
