"""Knowledge: collections, documents, chunks, the jobs that bring them in, and what is remembered for each user.

The database is the truth; Milvus is derived from it.
"""

from __future__ import annotations

import uuid
from pathlib import PurePosixPath

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from ragsite.core.leases import Leased
from ragsite.core.localized import localized_text

# Neither "/" nor ":", which part a name from its owner's, nor the form of an id: an address means one thing.
name_validator = RegexValidator(
    r"^(?![0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z)[\w][\w .\-]{0,99}\Z",
    "Use letters, digits, spaces, dots, dashes and underscores; 100 characters at most, and not the form of an id.",
)
MAX_SOURCE_CHARS, MAX_KEY_CHARS = 100, 500  # of a document's name elsewhere; an index has no room for more
SITE = "site:"  # in addresses of the site's own collections; no user name holds a colon


class Collection(models.Model):
    """A set of documents that are shared alike and embedded by one model.

    Names are unique per owner; a collection without an owner belongs to the site. One that holds a conversation's files
    is its owner's alone, is part of no list, and goes with the conversation, which is known by its id alone.
    """

    class Visibility(models.TextChoices):
        PRIVATE = "private", _("Private")
        SHARED = "shared", _("Shared")
        PUBLIC = "public", _("Public")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation_id = models.UUIDField(
        null=True,
        blank=True,
        editable=False,
        help_text=_("The conversation whose attached files it holds; empty for every other collection."),
        verbose_name=_("conversation id"),
    )
    name = models.CharField(max_length=100, validators=[name_validator], verbose_name=_("name"))
    description = models.CharField(max_length=500, blank=True, verbose_name=_("description"))
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="collections",
        verbose_name=_("owner"),
    )
    visibility = models.CharField(
        max_length=10, choices=Visibility, default=Visibility.PRIVATE, verbose_name=_("visibility")
    )
    approved = models.BooleanField(
        default=False,
        help_text=_(
            "Searched for everybody while it is public, also where a question names no collection. "
            "The site's own public collections always are."
        ),
        verbose_name=_("approved"),
    )
    groups = models.ManyToManyField(Group, blank=True, related_name="collections", verbose_name=_("groups"))
    editor_groups = models.ManyToManyField(
        Group,
        blank=True,
        related_name="edited_collections",
        help_text=_("Those of the groups whose members may also change its documents."),
        verbose_name=_("editor groups"),
    )
    embedding_model = models.CharField(
        max_length=200,
        blank=True,
        help_text=_("Empty until the first document is embedded."),
        verbose_name=_("embedding model"),
    )
    embedding_dim = models.PositiveIntegerField(null=True, blank=True, verbose_name=_("embedding dim"))
    version = models.PositiveBigIntegerField(
        default=0, help_text=_("Grows with every change: the index state in cache keys."), verbose_name=_("version")
    )
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    updated_at = models.DateTimeField(auto_now=True, verbose_name=_("updated at"))

    class Meta:
        verbose_name = _("collection")
        verbose_name_plural = _("collections")
        ordering = ["name"]
        permissions = [
            ("publish_collection", "Can make own collections public"),
            ("look_up_people", "Can look up people and groups by their first letters, to share with them"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="collection_name_per_owner"),
            models.UniqueConstraint(fields=["name"], condition=Q(owner=None), name="collection_name_of_site"),
            models.UniqueConstraint(
                fields=["conversation_id"],
                condition=Q(conversation_id__isnull=False),
                name="collection_once_per_conversation",
            ),
            models.CheckConstraint(
                condition=Q(embedding_model="", embedding_dim=None)
                | (~Q(embedding_model="") & Q(embedding_dim__isnull=False)),
                name="collection_embedding_model_and_dim_together",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def address(self) -> str:
        """What names this collection and no other, whoever asks: `owner/name`, for the site's `site:name`."""
        return f"{self.owner.username}/{self.name}" if self.owner else f"{SITE}{self.name}"


class CollectionPerson(models.Model):
    """Somebody who may read a shared collection, or change its documents as well."""

    class Role(models.TextChoices):
        READER = "reader", _("Reader")
        EDITOR = "editor", _("Editor")

    id = models.BigAutoField(primary_key=True)
    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="people", verbose_name=_("collection")
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="shared_collections", verbose_name=_("user")
    )
    role = models.CharField(max_length=10, choices=Role, default=Role.READER, verbose_name=_("role"))

    class Meta:
        verbose_name = _("person of a collection")
        verbose_name_plural = _("people of a collection")
        ordering = ["collection", "user"]
        constraints = [models.UniqueConstraint(fields=["collection", "user"], name="person_once_per_collection")]

    def __str__(self) -> str:
        return f"{self.user_id}, {self.get_role_display()}: {self.collection_id}"


class ShareReply(models.Model):
    """What somebody said to a share: whether their questions that name no collection search it."""

    id = models.BigAutoField(primary_key=True)
    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="share_replies", verbose_name=_("collection")
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="share_replies", verbose_name=_("user")
    )
    accepted = models.BooleanField(verbose_name=_("accepted"))

    class Meta:
        verbose_name = _("reply to a share")
        verbose_name_plural = _("replies to shares")
        constraints = [models.UniqueConstraint(fields=["collection", "user"], name="share_reply_once")]

    def __str__(self) -> str:
        return f"{self.user_id}, {self.accepted}: {self.collection_id}"


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

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="documents", verbose_name=_("collection")
    )
    title = models.CharField(max_length=300, verbose_name=_("title"))
    file_name = models.CharField(max_length=300, verbose_name=_("file name"))
    file = models.FileField(upload_to=upload_path, max_length=300, blank=True, verbose_name=_("file"))
    media_type = models.CharField(max_length=100, blank=True, verbose_name=_("media type"))
    size_bytes = models.PositiveBigIntegerField(default=0, verbose_name=_("size bytes"))
    content_hash = models.CharField(
        max_length=64, help_text=_("SHA-256 of the file, hexadecimal."), verbose_name=_("content hash")
    )
    language = models.CharField(max_length=10, blank=True, verbose_name=_("language"))
    department = models.CharField(max_length=100, blank=True, verbose_name=_("department"))
    doc_type = models.CharField(max_length=100, blank=True, verbose_name=_("doc type"))
    policy_year = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1000), MaxValueValidator(9999)],
        verbose_name=_("policy year"),
    )
    tags = models.JSONField(default=list, blank=True, verbose_name=_("tags"))
    summary = models.TextField(blank=True, verbose_name=_("summary"))
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED, verbose_name=_("status"))
    progress = models.FloatField(
        default=0.0, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)], verbose_name=_("progress")
    )
    error = models.CharField(max_length=500, blank=True, verbose_name=_("error"))
    error_wording = models.JSONField(null=True, blank=True, editable=False, help_text=_("What `error` was made of."))
    page_count = models.PositiveIntegerField(null=True, blank=True, verbose_name=_("page count"))
    chunk_count = models.PositiveIntegerField(default=0, verbose_name=_("chunk count"))
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
        related_name="newer_versions",
        help_text=_("The version that this one takes the place of as soon as it is ready."),
        verbose_name=_("replaces"),
    )
    superseded_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text=_("Since then a newer version is searched in its place; what cites it still opens."),
        verbose_name=_("superseded at"),
    )
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    updated_at = models.DateTimeField(auto_now=True, verbose_name=_("updated at"))

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["collection", "content_hash"], name="document_content_once_per_collection")
        ]
        indexes = [
            models.Index(fields=["collection", "status"]),
            models.Index(fields=["collection", "department", "doc_type", "policy_year"], name="document_metadata"),
            models.Index(fields=["collection", "size_bytes"], name="document_usage"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def told_error(self) -> str:
        """In the active language."""
        return localized_text(self.error, self.error_wording)


class DocumentKey(models.Model):
    """What another system calls a document: a program that pushes it, or a source that is kept in step.

    Several keys of one content share a document. Without one, what stands under the key could not be taken in.
    """

    id = models.BigAutoField(primary_key=True)
    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="keys", verbose_name=_("collection")
    )
    source = models.CharField(
        max_length=MAX_SOURCE_CHARS, help_text=_("The system's name; of a source that is kept in step, its id."),
        verbose_name=_("source"))  # fmt: skip
    key = models.CharField(max_length=MAX_KEY_CHARS, verbose_name=_("key"))
    document = models.ForeignKey(
        Document, null=True, blank=True, on_delete=models.CASCADE, related_name="keys", verbose_name=_("document")
    )
    brought = models.BooleanField(
        default=False, help_text=_("The document came in by this key, and goes with it."), verbose_name=_("brought")
    )
    fingerprint = models.CharField(
        max_length=200, blank=True, help_text=_("As the source told it at the last reading."),
        verbose_name=_("fingerprint"))  # fmt: skip
    missing_since = models.DateTimeField(null=True, blank=True, verbose_name=_("missing since"))

    class Meta:
        verbose_name = _("document key")
        verbose_name_plural = _("document keys")
        ordering = ["collection", "source", "key"]
        constraints = [models.UniqueConstraint(fields=["collection", "source", "key"], name="document_key_once")]

    def __str__(self) -> str:
        return f"{self.source}: {self.key}"


class SyncSource(Leased):
    """A place elsewhere whose files are kept in step with a collection, in the name of its owner.

    `credentials` are encrypted (`ragsite.core.sealed`). A run holds the lease; `report` tells of the last one.
    """

    class Kind(models.TextChoices):
        FOLDER = "folder", _("Folder")
        WEB = "web", _("Web pages")
        GIT = "git", _("Git repository")
        S3 = "s3", _("S3 store")
        WEBDAV = "webdav", _("WebDAV folder")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100, verbose_name=_("name"))
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sync_sources", verbose_name=_("owner")
    )
    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="sync_sources", verbose_name=_("collection")
    )
    kind = models.CharField(max_length=10, choices=Kind, verbose_name=_("kind"))
    address = models.CharField(max_length=1000, verbose_name=_("address"))
    options = models.JSONField(default=dict, blank=True, verbose_name=_("options"))
    credentials = models.TextField(blank=True, editable=False)
    every_hours = models.PositiveSmallIntegerField(
        default=24, help_text=_("Hours between two runs; 0: only by hand."), verbose_name=_("every hours")
    )
    version = models.CharField(
        max_length=200, blank=True, editable=False, help_text="Of the whole, when all of it was taken in."
    )
    report = models.JSONField(default=dict, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))

    class Meta:
        verbose_name = _("source")
        verbose_name_plural = _("sources")
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name


class Chunk(models.Model):
    """The unit that is indexed and cited.

    `id` is derived from document and seq, so that a repeated ingest writes the same rows.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="chunks")
    seq = models.PositiveIntegerField()
    text = models.TextField()
    heading = models.CharField(
        max_length=500, blank=True, help_text=_("Path of headings, outermost first, joined by ' › '.")
    )
    page = models.PositiveIntegerField(null=True, blank=True)
    page_end = models.PositiveIntegerField(null=True, blank=True)
    char_start = models.PositiveIntegerField(default=0)
    char_end = models.PositiveIntegerField(default=0)
    token_count = models.PositiveIntegerField(default=0)
    indexed = models.BooleanField(default=False, help_text=_("Its vector is durably in Milvus."))
    embedded = models.BooleanField(
        default=False, help_text=_("The vector in Milvus, if one is there, is that of its present text and title.")
    )

    class Meta:
        verbose_name = _("chunk")
        verbose_name_plural = _("chunks")
        ordering = ["document", "seq"]
        constraints = [models.UniqueConstraint(fields=["document", "seq"], name="chunk_seq_per_document")]
        indexes = [models.Index(fields=["document", "indexed"])]

    def __str__(self) -> str:
        return f"{self.document_id}:{self.seq}"


class DocumentPart(models.Model):
    """What people look at at a time of a document, and where its text stands (`retrieval.ingest.parts`).

    Of a PDF its pages, else runs of blocks.
    """

    id = models.BigAutoField(primary_key=True)
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
        constraints = [models.UniqueConstraint(fields=["document", "number"], name="part_number_per_document")]

    def __str__(self) -> str:
        return f"{self.document_id}, {self.number}"


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
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="jobs", verbose_name=_("document"))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="ingest_jobs",
        db_index=False, help_text=_("Whose turn it takes; empty: the site's."), verbose_name=_("user"))  # fmt: skip
    state = models.CharField(max_length=10, choices=State, default=State.WAITING, verbose_name=_("state"))
    attempts = models.PositiveSmallIntegerField(default=0, verbose_name=_("attempts"))
    holder = models.CharField(
        max_length=100, blank=True, help_text=_("Host and process, for people."), verbose_name=_("holder")
    )
    waits = models.PositiveSmallIntegerField(
        default=0, help_text=_("Times it stood back because a server was away."), verbose_name=_("waits")
    )
    not_before = models.DateTimeField(
        null=True, blank=True, help_text=_("No worker takes a waiting job before this."), verbose_name=_("not before")
    )
    error = models.CharField(max_length=500, blank=True, verbose_name=_("error"))
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    started_at = models.DateTimeField(null=True, blank=True, verbose_name=_("started at"))
    finished_at = models.DateTimeField(null=True, blank=True, verbose_name=_("finished at"))

    class Meta:
        verbose_name = _("ingest job")
        verbose_name_plural = _("ingest jobs")
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["document"], condition=Q(state__in=["waiting", "running"]), name="one_open_job_per_document"
            )
        ]
        indexes = [
            models.Index(fields=["state", "lease_expires_at"]),
            models.Index(fields=["user", "state", "created_at"], name="ingest_job_turn"),
            models.Index(fields=["finished_at"], name="ingest_job_finished"),
        ]

    def __str__(self) -> str:
        return f"{self.document_id}: {self.get_state_display()}"


class WriteLease(Leased):
    """The one writer of an embedding space (Milvus Lite loses concurrent writers' rows at a kill)."""

    space = models.CharField(max_length=255, primary_key=True)
    holder = models.CharField(max_length=100, help_text=_("Host and process, for people."))

    class Meta:
        verbose_name = _("write lease")
        verbose_name_plural = _("write leases")

    def __str__(self) -> str:
        return f"{self.space}: {self.holder}"


class Memory(models.Model):
    """A fact that an earlier answer gave a user, with the question it answered. Only that user sees it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memories")
    question = models.CharField(max_length=500)
    text = models.TextField()
    terms = models.TextField(blank=True, help_text=_("The distinct analysed terms of both, separated by spaces."))
    embedding_model = models.CharField(max_length=200, blank=True)
    vector = models.BinaryField(default=bytes)  # float32, of that model; empty where it is
    use_count = models.PositiveIntegerField(default=0)
    last_used_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("memory")
        ordering = ["-updated_at", "pk"]
        verbose_name_plural = _("memories")
        indexes = [models.Index(fields=["user", "-updated_at"], name="memory_of_user")]

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.pk}"


class MemoryOrigin(models.Model):
    """An answer that a fact came from. The latest one gave it its words. Conversations are known by id alone."""

    id = models.BigAutoField(primary_key=True)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="origins")
    conversation_id = models.UUIDField(db_index=True)
    answer_id = models.UUIDField(db_index=True)

    class Meta:
        verbose_name = _("memory origin")
        verbose_name_plural = _("memory origins")
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["memory", "answer_id"], name="memory_origin_once")]

    def __str__(self) -> str:
        return f"{self.memory_id}: {self.answer_id}"


class MemoryPreference(models.Model):
    """Whether answers are remembered for this user; without a row, as the settings say."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="memory_preference"
    )
    enabled = models.BooleanField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("memory preference")
        verbose_name_plural = _("memory preferences")

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.user_id}"
