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
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ragsite.core.leases import Leased
from ragsite.core.localized import localized_text
from ragsite.core.messages import say
from retrieval.knowledge.lookups import TrigramIndex

# Neither "/" nor ":", which part a name from its owner's, nor the form of an id: an address means one thing.
name_validator = RegexValidator(
    r"^(?![0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z)[\w][\w .\-]{0,99}\Z",
    "Use letters, digits, spaces, dots, dashes and underscores; 100 characters at most, and not the form of an id.",
)
# Of a document's name elsewhere; an index has no room for more.
MAX_SOURCE_CHARS = 100
MAX_KEY_CHARS = 500
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
    # The conversation whose attached files it holds; empty for every other collection.
    conversation_id = models.UUIDField(null=True, blank=True, editable=False)
    name = models.CharField(_("name"), max_length=100, validators=[name_validator])
    description = models.CharField(_("description"), max_length=500, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="collections",
        verbose_name=_("owner"),
    )
    visibility = models.CharField(
        _("visibility"), max_length=10, choices=Visibility, default=Visibility.PRIVATE
    )
    approved = models.BooleanField(
        _("approved"),
        default=False,
        help_text=_(
            "Searched for everybody while it is public, also where a question names no collection. "
            "The site's own public collections always are."
        ),
    )
    # Of the handbook that the site came with, which steps back for whoever has documents of their own.
    is_sample = models.BooleanField(default=False, editable=False)
    groups = models.ManyToManyField(
        Group, blank=True, related_name="collections", verbose_name=_("groups")
    )
    editor_groups = models.ManyToManyField(
        Group,
        blank=True,
        related_name="edited_collections",
        help_text=_("The groups whose members may also change its documents."),
        verbose_name=_("editor groups"),
    )
    embedding_model = models.CharField(
        _("embedding model"),
        max_length=200,
        blank=True,
        help_text=_("Empty until the first document is embedded."),
    )
    embedding_dim = models.PositiveIntegerField(_("embedding dim"), null=True, blank=True)
    version = models.PositiveBigIntegerField(
        _("version"),
        default=0,
        help_text=_("Grows with every change: the index state in cache keys."),
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("collection")
        verbose_name_plural = _("collections")
        ordering = ["name"]
        permissions = [
            ("publish_collection", "Can make own collections public"),
            (
                "look_up_people",
                "Can look up people and groups by their first letters, to share with them",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="collection_name_per_owner"),
            models.UniqueConstraint(
                fields=["name"], condition=Q(owner=None), name="collection_name_of_site"
            ),
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

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="people")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="shared_collections"
    )
    role = models.CharField(max_length=10, choices=Role, default=Role.READER)

    class Meta:
        verbose_name = _("person of a collection")
        verbose_name_plural = _("people of a collection")
        ordering = ["collection", "user"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "user"], name="person_once_per_collection"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user_id}, {self.get_role_display()}: {self.collection_id}"


class ShareReply(models.Model):
    """What somebody said to a share: whether their questions that name no collection search it."""

    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="share_replies"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="share_replies"
    )
    accepted = models.BooleanField()

    class Meta:
        verbose_name = _("reply to a share")
        verbose_name_plural = _("replies to shares")
        constraints = [
            models.UniqueConstraint(fields=["collection", "user"], name="share_reply_once")
        ]

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


class SyncSource(Leased):
    """A place elsewhere whose files are kept in step with a collection, in the name of its owner.

    `credentials` are encrypted (`ragsite.core.sealed`). A run holds the lease; `report` tells of the last one. Where
    another one of the owner's is under way, `waits_since` says that a run was asked for.
    """

    lost_credentials = False  # by a change just made; not stored

    class Kind(models.TextChoices):
        FOLDER = "folder", _("Folder")
        WEB = "web", _("Web pages")
        GIT = "git", _("Git repository")
        S3 = "s3", _("S3 store")
        WEBDAV = "webdav", _("WebDAV folder")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sync_sources"
    )
    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="sync_sources"
    )
    kind = models.CharField(max_length=10, choices=Kind)
    address = models.CharField(max_length=1000)
    options = models.JSONField(default=dict, blank=True)
    credentials = models.TextField(blank=True)
    every_hours = models.PositiveSmallIntegerField(
        default=24, help_text=_("Hours between two runs; 0: only by hand.")
    )
    version = models.CharField(
        max_length=200, blank=True
    )  # of the whole, when all of it was taken in
    report = models.JSONField(default=dict, blank=True)
    waits_since = models.DateTimeField(null=True, blank=True, editable=False)
    waits_dry = models.BooleanField(default=False, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

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
        max_length=500,
        blank=True,
        help_text=_("Path of headings, outermost first, joined by ' › '."),
    )
    page = models.PositiveIntegerField(null=True, blank=True)
    page_end = models.PositiveIntegerField(null=True, blank=True)
    char_start = models.PositiveIntegerField(default=0)
    char_end = models.PositiveIntegerField(default=0)
    token_count = models.PositiveIntegerField(default=0)
    # [first, last, of how many] of a table that it holds a part of.
    table_rows = models.JSONField(null=True, blank=True)
    # What the index finds it by, for searches without the index (`retrieval.knowledge.term_search`).
    terms = models.TextField(blank=True, editable=False)
    indexed = models.BooleanField(default=False)  # its vector is durably in Milvus
    embedded = models.BooleanField(
        default=False
    )  # the vector in Milvus, if any, is of its present text and title

    class Meta:
        verbose_name = _("chunk")
        verbose_name_plural = _("chunks")
        ordering = ["document", "seq"]
        constraints = [
            models.UniqueConstraint(fields=["document", "seq"], name="chunk_seq_per_document")
        ]
        indexes = [models.Index(fields=["document", "indexed"])]

    def __str__(self) -> str:
        return f"{self.document_id}:{self.seq}"


class KeptVector(models.Model):
    """The vector of a row of the index (`retrieval.knowledge.index_sync.kept_vectors`).

    row_id: a chunk's, or for its summary the document's.
    """

    row_id = models.UUIDField(primary_key=True, editable=False)
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="kept_vectors")
    made_of = models.BinaryField(max_length=16)
    vector = models.BinaryField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.row_id)


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


class Memory(models.Model):
    """A fact that an earlier answer gave a user, with the question it answered. Only that user sees it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memories"
    )
    question = models.CharField(max_length=500)
    text = models.TextField()
    terms = models.TextField(blank=True)  # the distinct analysed terms of both, separated by spaces
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

    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="origins")
    conversation_id = models.UUIDField(db_index=True)
    answer_id = models.UUIDField(db_index=True)

    class Meta:
        verbose_name = _("memory origin")
        verbose_name_plural = _("memory origins")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["memory", "answer_id"], name="memory_origin_once")
        ]

    def __str__(self) -> str:
        return f"{self.memory_id}: {self.answer_id}"


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


class SamplePreference(models.Model):
    """Whether this user's questions leave the sample documents out; without a row, from the third own document on."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="sample_preference",
    )
    left_out = models.BooleanField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("choice about the samples")
        verbose_name_plural = _("choices about the samples")

    def __str__(self) -> str:
        return f"{self.user_id}: {self.left_out}"


class MemoryPreference(models.Model):
    """Whether answers are remembered for this user; without a row, as the settings say."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="memory_preference",
    )
    enabled = models.BooleanField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("memory preference")
        verbose_name_plural = _("memory preferences")

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.user_id}"
