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
from feedback.models.uses import SourceUse
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
    compared = models.BooleanField(
        default=False, db_default=False, help_text="Whether it was compared with those before it (QuestionPair)."
    )

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


class PassageVector(models.Model):
    """A rated passage in its collection's embedding space, as the index has it: what queries are moved towards. `dim`
    little-endian float16 numbers of a unit vector."""

    id = models.BigAutoField(primary_key=True)
    passage = models.ForeignKey(RatedPassage, on_delete=models.CASCADE, related_name="vectors")
    embedding_model = models.CharField(max_length=200)
    embedding_dim = models.PositiveIntegerField()
    vector = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["passage", "embedding_model", "embedding_dim"], name="passage_vector_per_space"
            )
        ]

    def __str__(self) -> str:
        return f"{self.passage_id} in {self.embedding_model}"


class Burst(models.Model):
    """Votes on one document that look as if few people had many: left out until a person decides.

    question: of votes that are a burst because of what they say for that question alone. day: the last one.
    """

    class Status(models.TextChoices):
        OPEN = "open"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    class Kind(models.TextChoices):
        BUSY = "busy", "Many votes of few accounts"
        NEWCOMERS = "newcomers", "New accounts that all say the same"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="rating_bursts")
    question = models.ForeignKey(
        RatedQuestion, null=True, blank=True, on_delete=models.CASCADE, related_name="rating_bursts"
    )
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.BUSY)
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
                fields=["document", "day", "kind"],
                condition=Q(status="open", question=None),
                name="one_open_burst_per_document_and_day",
            ),
            models.UniqueConstraint(
                fields=["document", "question", "day", "kind"],
                condition=Q(status="open", question__isnull=False),
                name="one_open_burst_per_question_and_day",
            ),
        ]
        indexes = [models.Index(fields=["status"])]

    def __str__(self) -> str:
        return f"{self.summary()} on “{self.document.title[:60]}”, {self.day}"

    def summary(self) -> str:
        """16 votes of 1 account; 12 votes of 10 new accounts that all say the same"""
        accounts = f"account{'s'[: self.accounts != 1]}"
        if self.kind == self.Kind.BUSY:
            return f"{self.votes} votes of {self.accounts} {accounts}"
        about = " for one question" if self.question_id else ""
        return f"{self.votes} votes of {self.accounts} new {accounts} that all say the same{about}"

    def explanation(self) -> str:
        """Why it waits, as a sentence."""
        if self.kind == self.Kind.BUSY:
            return "Very few accounts gave this document many votes on one day."
        about = "on this document for one question" if self.question_id else "on this document"
        return f"New accounts voted the same way {about} within a few days, each of them perhaps only once."


class Evidence(models.Model):
    """What one rating, or one use of a source, says of one passage. It goes with it, its voter or its document.

    weight: -1..1, for this question; document_weight: -1..1, for the document whatever is asked; what the voter's votes
    weigh is not in them, see `VoterWeight`. day: of the rating, days since 1970-01-01. normalized_score: of the passage
    in the search that was rated, 0..1; empty: not known.
    """

    id = models.BigAutoField(primary_key=True)
    rating = models.ForeignKey(Rating, null=True, blank=True, on_delete=models.CASCADE, related_name="evidence")
    use = models.ForeignKey(
        SourceUse, null=True, blank=True, on_delete=models.CASCADE, related_name="evidence",
        help_text="What it comes from where nobody has rated.",
    )  # fmt: skip
    question = models.ForeignKey(RatedQuestion, on_delete=models.CASCADE, related_name="evidence")
    passage = models.ForeignKey(RatedPassage, on_delete=models.CASCADE, related_name="evidence")
    voter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="evidence")
    weight = models.FloatField()
    document_weight = models.FloatField()
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
            models.UniqueConstraint(fields=["use", "passage"], name="evidence_once_per_use_and_passage"),
            models.CheckConstraint(
                condition=Q(rating__isnull=False, use__isnull=True) | Q(rating__isnull=True, use__isnull=False),
                name="evidence_of_a_rating_or_a_use",
            ),
            models.CheckConstraint(
                condition=Q(weight__gte=-1, weight__lte=1, document_weight__gte=-1, document_weight__lte=1),
                name="evidence_weights_within_1",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.voter}: {self.weight:+.2f} for “{self.question}”"

    @property
    def message(self) -> Message:
        """The answer that was rated, or whose source was used."""
        if self.rating is not None:
            return self.rating.message
        assert self.use is not None  # evidence_of_a_rating_or_a_use
        return self.use.source.message


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


class QuestionPair(models.Model):
    """Whether two rated questions want the same answer, decided once. A pair without a row was found to want different
    answers, or was never near.

    same: probability, 0..1. decided_by: "words", "vectors", or the model that was asked as well.
    """

    id = models.BigAutoField(primary_key=True)
    first = models.ForeignKey(RatedQuestion, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(RatedQuestion, on_delete=models.CASCADE, related_name="+")
    same = models.FloatField()
    decided_by = models.CharField(max_length=200)
    decided_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="question_pair_once"),
            models.CheckConstraint(condition=Q(first__lt=models.F("second")), name="question_pair_in_order"),
            models.CheckConstraint(condition=Q(same__gte=0, same__lte=1), name="question_pair_probability"),
        ]

    def __str__(self) -> str:
        return f"{self.first_id} and {self.second_id}: {self.same:.2f}"


class VoterWeight(models.Model):
    """What a voter's votes weighed in the last round, on average over all of them, and why.

    up, down: of votes for and against, 0..1, of staff 1.5. established: the voter belongs to the core that others are
    judged by. reason: in words; empty: nothing to say.
    """

    voter = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="voter_weight"
    )
    up = models.FloatField()
    down = models.FloatField()
    established = models.BooleanField(default=False)
    reason = models.CharField(max_length=200, blank=True)

    class Meta:
        verbose_name = "weight of a voter"
        verbose_name_plural = "weights of voters"

    def __str__(self) -> str:
        return f"{self.voter}: {self.up:.2f} for, {self.down:.2f} against"
