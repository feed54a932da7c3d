"""Chunks, the unit that is indexed and cited, and the vectors kept of them."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from retrieval.models.documents import Document


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
