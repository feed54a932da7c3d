"""Evidence: what ratings say for or against passages.

There are hundreds of thousands of rows, and every round reads them all: they hold numbers and have whole-number keys.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from chat.models import Message, Source
from feedback.models.ratings import Rating
from retrieval.models import Document


class RatedQuestion(models.Model):
    """A question that was rated: one row for all who asked it in the same words.

    `signature` is made of the analysed terms in order, so case, punctuation, stop words and endings make no difference.
    """

    id = models.BigAutoField(primary_key=True)
    signature = models.CharField(max_length=32, unique=True)
    text = models.TextField(help_text="As it was put first.")
    terms = models.TextField(blank=True, help_text="Its distinct analysed terms, separated by spaces.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.text[:80]


class QuestionVector(models.Model):
    """A rated question in an embedding space: `dim` little-endian float16 numbers of a unit vector."""

    id = models.BigAutoField(primary_key=True)
    question = models.ForeignKey(RatedQuestion, on_delete=models.CASCADE, related_name="vectors")
    embedding_model = models.CharField(max_length=200)
    embedding_dim = models.PositiveIntegerField()
    vector = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["question", "embedding_model", "embedding_dim"], name="question_vector_per_space"
            )
        ]

    def __str__(self) -> str:
        return f"{self.question_id} in {self.embedding_model}"


class RatedPassage(models.Model):
    """A chunk by what it says. Chunk ids follow a chunk's place, so a document that is read anew may give a passage
    another id; a round then finds it by its text, and evidence on a text that is gone is left out."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="rated_passages")
    content_hash = models.CharField(max_length=32, help_text="Of the text without white space.")
    chunk_id = models.UUIDField(
        null=True, blank=True, db_index=True, help_text="Where it was found last; empty: its text is gone."
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["document", "content_hash"], name="rated_passage_text_per_document")
        ]

    def __str__(self) -> str:
        return f"{self.document_id}:{self.content_hash[:8]}"


class PassageSketch(models.Model):
    """A sketch of a rated passage's text, to find it again where its document is split differently.

    In a table of its own, because every round reads all passages and few sketches.
    """

    passage = models.OneToOneField(RatedPassage, on_delete=models.CASCADE, primary_key=True, related_name="sketch")
    hashes = models.BinaryField(help_text="The smallest hashes of its shingles, little-endian uint32.")

    def __str__(self) -> str:
        return f"sketch of passage {self.passage_id}"


class Burst(models.Model):
    """Many votes on one document on one day from very few accounts: left out until a person decides."""

    class Status(models.TextChoices):
        OPEN = "open"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="rating_bursts")
    day = models.DateField()
    votes = models.PositiveIntegerField()
    accounts = models.PositiveIntegerField()
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    why = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "day"], condition=Q(status="open"), name="one_open_burst_per_document_and_day"
            )
        ]
        indexes = [models.Index(fields=["status"])]

    def __str__(self) -> str:
        return f"{self.summary()} on “{self.document.title[:60]}”, {self.day}"

    def summary(self) -> str:
        """16 votes of 1 account"""
        return f"{self.votes} votes of {self.accounts} account{'s'[: self.accounts != 1]}"


class Evidence(models.Model):
    """What one rating says of one passage. It goes when its rating, its voter or its document goes.

    weight: -1..1, for this question; document_weight: -1..1, for the document whatever is asked; voter_weight: how much
    the voter counted when the rating was given. day: of the rating, days since 1970-01-01. normalized_score: of the
    passage in the search that was rated, 0..1; empty: not known.
    """

    id = models.BigAutoField(primary_key=True)
    rating = models.ForeignKey(Rating, on_delete=models.CASCADE, related_name="evidence")
    question = models.ForeignKey(RatedQuestion, on_delete=models.CASCADE, related_name="evidence")
    passage = models.ForeignKey(RatedPassage, on_delete=models.CASCADE, related_name="evidence")
    voter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="evidence")
    weight = models.FloatField()
    document_weight = models.FloatField()
    voter_weight = models.FloatField(default=1.0)
    day = models.PositiveIntegerField()
    normalized_score = models.FloatField(null=True, blank=True, db_column="standing")
    burst = models.ForeignKey(Burst, null=True, blank=True, on_delete=models.SET_NULL, related_name="evidence")
    discarded_by = models.ForeignKey(
        "feedback.RevisionEvent", null=True, blank=True, on_delete=models.SET_NULL, related_name="discarded"
    )

    class Meta:
        verbose_name = "vote"
        verbose_name_plural = "evidence"
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["rating", "passage"], name="evidence_once_per_rating_and_passage"),
            models.CheckConstraint(
                condition=Q(weight__gte=-1, weight__lte=1, document_weight__gte=-1, document_weight__lte=1),
                name="evidence_weights_within_1",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.voter}: {self.weight:+.2f} for “{self.question}”"


class SetAsideVote(models.Model):
    """A vote of a burst, or one that a reset discarded, which its rater has taken back or turned round since.

    Given again it is set aside again: only another verdict on the document is a new one. up: for it.
    """

    id = models.BigAutoField(primary_key=True)
    voter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+")
    source = models.ForeignKey(Source, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="+")
    up = models.BooleanField()
    burst = models.ForeignKey(Burst, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    discarded_by = models.ForeignKey(
        "feedback.RevisionEvent", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["voter", "message", "document", "up"],
                condition=Q(source=None),
                name="set_aside_once_per_answer",
            ),
            models.UniqueConstraint(
                fields=["voter", "source", "document", "up"],
                condition=Q(source__isnull=False),
                name="set_aside_once_per_source",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.voter_id} on document {self.document_id}: {'up' if self.up else 'down'}"
