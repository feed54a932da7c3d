"""Evidence: what ratings say for or against passages.

There are hundreds of thousands of rows, and every round reads them all: they hold numbers and have whole-number keys.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.models import Message, Source
from feedback.models.ratings import Rating
from ragsite.core.localized import localized, said
from ragsite.core.wording import Sentence, counted, worded
from retrieval.models import Document


class RatedQuestion(models.Model):
    """A question that was rated: one row for all who asked it in the same words.

    `signature` is made of the analysed terms in order, so case, punctuation, stop words and endings make no difference.
    """

    id = models.BigAutoField(primary_key=True)
    signature = models.CharField(max_length=32, unique=True, verbose_name=_("signature"))
    text = models.TextField(help_text=_("As it was put first."), verbose_name=_("text"))
    terms = models.TextField(
        blank=True, help_text=_("Its distinct analysed terms, separated by spaces."), verbose_name=_("terms")
    )
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    compared = models.BooleanField(
        default=False,
        db_default=False,
        help_text=_("Whether it was compared with those before it (QuestionPair)."),
        verbose_name=_("compared"),
    )

    class Meta:
        verbose_name = _("rated question")
        verbose_name_plural = _("rated questions")
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.text[:80]


class QuestionVector(models.Model):
    """A rated question in an embedding space: `dim` little-endian float16 numbers of a unit vector."""

    id = models.BigAutoField(primary_key=True)
    question = models.ForeignKey(
        RatedQuestion, on_delete=models.CASCADE, related_name="vectors", verbose_name=_("question")
    )
    embedding_model = models.CharField(max_length=200, verbose_name=_("embedding model"))
    embedding_dim = models.PositiveIntegerField(verbose_name=_("embedding dim"))
    vector = models.BinaryField(verbose_name=_("vector"))

    class Meta:
        verbose_name = _("question vector")
        verbose_name_plural = _("question vectors")
        constraints = [
            models.UniqueConstraint(
                fields=["question", "embedding_model", "embedding_dim"], name="question_vector_per_space"
            )
        ]

    def __str__(self) -> str:
        return f"{self.question_id}, {self.embedding_model}"


class RatedPassage(models.Model):
    """A chunk by what it says. Chunk ids follow a chunk's place, so a document that is read anew may give a passage
    another id; a round then finds it by its text, and evidence on a text that is gone is left out."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(
        Document, on_delete=models.CASCADE, related_name="rated_passages", verbose_name=_("document")
    )
    content_hash = models.CharField(
        max_length=32, help_text=_("Of the text without white space."), verbose_name=_("content hash")
    )
    chunk_id = models.UUIDField(
        null=True,
        blank=True,
        db_index=True,
        help_text=_("Where it was found last; empty: its text is gone."),
        verbose_name=_("chunk id"),
    )

    class Meta:
        verbose_name = _("rated passage")
        verbose_name_plural = _("rated passages")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["document", "content_hash"], name="rated_passage_text_per_document")
        ]

    def __str__(self) -> str:
        return f"{self.document_id}:{self.content_hash[:8]}"


class Burst(models.Model):
    """Votes on one document that look as if few people had many: left out until a person decides.

    question: of votes that are a burst because of what they say for that question alone. day: the last one.
    """

    class Status(models.TextChoices):
        OPEN = "open", _("Open")
        ACCEPTED = "accepted", _("Accepted")
        REJECTED = "rejected", _("Rejected")

    class Kind(models.TextChoices):
        BUSY = "busy", _("Many votes of few accounts")
        NEWCOMERS = "newcomers", _("New accounts that all say the same")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    document = models.ForeignKey(
        Document, on_delete=models.CASCADE, related_name="rating_bursts", verbose_name=_("document")
    )
    question = models.ForeignKey(
        RatedQuestion,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="rating_bursts",
        verbose_name=_("question"),
    )
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.BUSY, verbose_name=_("kind"))
    day = models.DateField(verbose_name=_("day"))
    votes = models.PositiveIntegerField(verbose_name=_("votes"))
    accounts = models.PositiveIntegerField(verbose_name=_("accounts"))
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN, verbose_name=_("status"))
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("decided by"),
    )
    decided_at = models.DateTimeField(null=True, blank=True, verbose_name=_("decided at"))
    why = models.CharField(max_length=500, blank=True, verbose_name=_("why"))
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))

    class Meta:
        verbose_name = _("burst")
        verbose_name_plural = _("bursts")
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
        title = self.document.title[:60]
        return said("{summary} on “{title}”, {day}", summary=self.summary(), title=title, day=str(self.day))

    def summary(self) -> Sentence:
        """16 votes of 1 account; 12 votes of 10 new accounts that all say the same"""
        if self.kind == self.Kind.BUSY:
            return counted(
                "{votes} votes of {count} account", "{votes} votes of {count} accounts", self.accounts, votes=self.votes
            )
        if self.question_id:
            return counted(
                "{votes} votes of {count} new account that all say the same for one question",
                "{votes} votes of {count} new accounts that all say the same for one question",
                self.accounts,
                votes=self.votes,
            )
        return counted(
            "{votes} votes of {count} new account that all say the same",
            "{votes} votes of {count} new accounts that all say the same",
            self.accounts,
            votes=self.votes,
        )

    def explanation(self) -> Sentence:
        """Why it waits, as a sentence."""
        if self.kind == self.Kind.BUSY:
            return worded("Very few accounts gave this document many votes on one day.")
        if self.question_id:
            return worded(
                "New accounts voted the same way on this document for one question within a few days, each of them "
                "perhaps only once."
            )
        return worded(
            "New accounts voted the same way on this document within a few days, each of them perhaps only once."
        )


class Evidence(models.Model):
    """What one rating says of one passage. It goes with it, its voter or its document.

    weight: -1..1, for this question; document_weight: -1..1, for the document whatever is asked; what the voter's votes
    weigh is not in them, see `VoterWeight`. day: of the rating, days since 1970-01-01. normalized_score: of the passage
    in the search that was rated, 0..1; empty: not known.
    """

    id = models.BigAutoField(primary_key=True)
    rating = models.ForeignKey(Rating, on_delete=models.CASCADE, related_name="evidence", verbose_name=_("rating"))
    question = models.ForeignKey(
        RatedQuestion, on_delete=models.CASCADE, related_name="evidence", verbose_name=_("question")
    )
    passage = models.ForeignKey(
        RatedPassage, on_delete=models.CASCADE, related_name="evidence", verbose_name=_("passage")
    )
    voter = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="evidence", verbose_name=_("voter")
    )
    weight = models.FloatField(verbose_name=_("weight"))
    document_weight = models.FloatField(verbose_name=_("document weight"))
    day = models.PositiveIntegerField(verbose_name=_("day"))
    normalized_score = models.FloatField(
        null=True, blank=True, db_column="standing", verbose_name=_("normalized score")
    )
    burst = models.ForeignKey(
        Burst, null=True, blank=True, on_delete=models.SET_NULL, related_name="evidence", verbose_name=_("burst")
    )
    discarded_by = models.ForeignKey(
        "feedback.RevisionEvent",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="discarded",
        verbose_name=_("discarded by"),
    )

    class Meta:
        verbose_name = _("vote")
        verbose_name_plural = _("evidence")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["rating", "passage"], name="evidence_once_per_rating_and_passage"),
            models.CheckConstraint(
                condition=Q(weight__gte=-1, weight__lte=1, document_weight__gte=-1, document_weight__lte=1),
                name="evidence_weights_within_1",
            ),
        ]

    def __str__(self) -> str:
        return said(
            "{voter}: {weight} for “{question}”",
            voter=str(self.voter), weight=f"{self.weight:+.2f}", question=str(self.question),
        )  # fmt: skip

    @property
    def message(self) -> Message:
        """The answer that was rated."""
        return self.rating.message


class SetAsideVote(models.Model):
    """A vote of a burst, or one that a reset discarded, which its rater has taken back or turned round since.

    Given again it is set aside again: only another verdict on the document is a new one. up: for it.
    """

    id = models.BigAutoField(primary_key=True)
    voter = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", verbose_name=_("voter")
    )
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+", verbose_name=_("message"))
    source = models.ForeignKey(
        Source, null=True, blank=True, on_delete=models.CASCADE, related_name="+", verbose_name=_("source")
    )
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="+", verbose_name=_("document"))
    up = models.BooleanField(verbose_name=_("up"))
    burst = models.ForeignKey(
        Burst, null=True, blank=True, on_delete=models.CASCADE, related_name="+", verbose_name=_("burst")
    )
    discarded_by = models.ForeignKey(
        "feedback.RevisionEvent",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        verbose_name=_("discarded by"),
    )

    class Meta:
        verbose_name = _("set aside vote")
        verbose_name_plural = _("set aside votes")
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
        return f"{self.voter_id}, {self.document_id}: {'+' if self.up else '−'}"


class QuestionPair(models.Model):
    """Whether two rated questions want the same answer, decided once. A pair without a row was found to want different
    answers, or was never near.

    same: probability, 0..1. decided_by: "words", "vectors", or the model that was asked as well.
    """

    id = models.BigAutoField(primary_key=True)
    first = models.ForeignKey(RatedQuestion, on_delete=models.CASCADE, related_name="+", verbose_name=_("first"))
    second = models.ForeignKey(RatedQuestion, on_delete=models.CASCADE, related_name="+", verbose_name=_("second"))
    same = models.FloatField(verbose_name=_("same"))
    decided_by = models.CharField(max_length=200, verbose_name=_("decided by"))
    decided_at = models.DateTimeField(verbose_name=_("decided at"))

    class Meta:
        verbose_name = _("question pair")
        verbose_name_plural = _("question pairs")
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="question_pair_once"),
            models.CheckConstraint(condition=Q(first__lt=models.F("second")), name="question_pair_in_order"),
            models.CheckConstraint(condition=Q(same__gte=0, same__lte=1), name="question_pair_probability"),
        ]

    def __str__(self) -> str:
        return f"{self.first_id}, {self.second_id}: {self.same:.2f}"


class VoterWeight(models.Model):
    """What a voter's votes weighed in the last round, on average over all of them, and why.

    up, down: of votes for and against, 0..1, of staff 1.5. established: the voter belongs to the core that others are
    judged by. reason: in words; empty: nothing to say. wordings: what it was made of; empty in rows of earlier
    versions, which the next round writes anew.
    """

    voter = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="voter_weight",
        verbose_name=_("voter"),
    )
    up = models.FloatField(verbose_name=_("up"))
    down = models.FloatField(verbose_name=_("down"))
    established = models.BooleanField(default=False, verbose_name=_("established"))
    reason = models.CharField(max_length=200, blank=True, verbose_name=_("reason"))
    wordings = models.JSONField(default=dict, blank=True, editable=False, verbose_name=_("wordings"))

    class Meta:
        verbose_name = _("weight of a voter")
        verbose_name_plural = _("weights of voters")

    def __str__(self) -> str:
        return f"{self.voter}: +{self.up:.2f} −{self.down:.2f}"

    @property
    def reason_said(self) -> str:
        """In the reader's language. Earlier versions kept the English text alone."""
        return str(localized(self.reason, self.wordings))
