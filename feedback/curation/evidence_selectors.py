"""Why a document is ranked higher or lower: its live boosts, those that staff set, and the votes. For staff."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from math import log
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from feedback.curation.sentences import LightVotes, VotesBehind, boost_sentence
from feedback.models import (
    Burst,
    Evidence,
    ManualBoost,
    RatedPassage,
    RatedQuestion,
    RevisionEvent,
    VoterWeight,
)
from feedback.ranking import boosts
from feedback.rounds.evidence import day_of
from feedback.rounds.live import content_of, feedback_state
from ragsite.core.localized import said
from retrieval.models import Chunk, Document

EPOCH = date(1970, 1, 1)
RELATED = (
    "rating__message", "rating__source", "question", "passage", "voter__voter_weight",
    "burst", "discarded_by",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveBoost:
    """One boost of a revision. question_id, passage_id: None for a document's prior."""

    document_id: UUID
    multiplier: float
    raters_up: int
    raters_down: int
    question_id: int | None = None
    passage_id: int | None = None


def live_boosts(*, document_id: UUID | None = None) -> list[LiveBoost]:
    """The boosts of the live revision, those that differ most from 1 first. document_id: those of this document."""
    content = content_of(feedback_state().live)
    of_document = {"document": document_id} if document_id else {"pk__in": set(content.queries.passage.tolist())}
    document_of = dict(RatedPassage.objects.filter(**of_document).values_list("pk", "document_id"))
    rows = content.queries
    columns = (rows.question, rows.passage, content.multipliers(), rows.raters_up, rows.raters_down)
    live = [
        LiveBoost(
            document_id=document_of[passage], multiplier=multiplier, raters_up=up, raters_down=down,
            question_id=question, passage_id=passage,
        )
        for question, passage, multiplier, up, down in zip(*(column.tolist() for column in columns), strict=True)
        if passage in document_of
    ]  # fmt: skip
    priors = content.documents.items()
    live += [LiveBoost(document_id=key, **asdict(prior)) for key, prior in priors if document_id in (None, key)]
    return sorted(live, key=lambda boost: -abs(log(boost.multiplier)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBoost:
    """A live boost with its question and passage, both None for a document's prior. chunk: None where its text is
    gone. why: in a sentence."""

    boost: LiveBoost
    document: Document
    question: RatedQuestion | None
    passage: RatedPassage | None
    chunk: Chunk | None
    why: str


def boosts_explained(boosts: Iterable[LiveBoost]) -> list[ShownBoost]:
    """With what they are about and why, in five queries; without those whose document is gone."""
    boosts = list(boosts)
    documents = Document.objects.select_related("collection").in_bulk({boost.document_id for boost in boosts})
    questions = RatedQuestion.objects.in_bulk({boost.question_id for boost in boosts if boost.question_id})
    passages = RatedPassage.objects.in_bulk({boost.passage_id for boost in boosts if boost.passage_id})
    chunks = Chunk.objects.in_bulk({passage.chunk_id for passage in passages.values() if passage.chunk_id})
    votes = _votes_behind(boosts)
    explained = []
    for boost in boosts:
        passage = passages.get(boost.passage_id) if boost.passage_id else None
        if document := documents.get(boost.document_id):
            question = questions.get(boost.question_id) if boost.question_id else None
            chunk = chunks.get(passage.chunk_id) if passage and passage.chunk_id else None
            why = boost_sentence(boost.multiplier, votes[boost], of_document=boost.passage_id is None)
            explained.append(
                ShownBoost(boost=boost, document=document, question=question, passage=passage, chunk=chunk, why=why)
            )
    return explained


def _votes_behind(boosts: Sequence[LiveBoost]) -> dict[LiveBoost, VotesBehind]:
    """People are counted as the revision counted them; wordings and light votes as they are now."""
    questions = {boost.question_id for boost in boosts if boost.question_id}
    passages = {boost.passage_id for boost in boosts if boost.passage_id}
    counted = Evidence.objects.filter(question__in=questions, passage__in=passages, discarded_by=None)
    counted = counted.exclude(burst__status__in=(Burst.Status.OPEN, Burst.Status.REJECTED))
    wordings: dict[tuple[int, int], set[str]] = defaultdict(set)
    light: dict[tuple[int, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    related = (
        "rating__message__reply_to",
        "voter__voter_weight",
        "burst",
        "discarded_by",
        "passage",
        "question",
        "rating__source",
    )
    for row in counted.select_related(*related).order_by("pk"):
        key = (row.question_id, row.passage_id)
        asked = row.rating.message.reply_to
        wordings[key].add(" ".join((asked.text if asked else row.question.text).casefold().split()))
        weight, reason = _voter_counts(vote_shown(row))
        light[key][reason].append(weight)
    behind = {}
    for boost in boosts:
        key = (boost.question_id or 0, boost.passage_id or 0)
        rows = [
            LightVotes(count=len(weights), weight=sum(weights) / len(weights), reason=reason)
            for reason, weights in sorted(light[key].items())
        ]
        behind[boost] = VotesBehind(
            up=boost.raters_up, down=boost.raters_down, wordings=max(1, len(wordings[key])), light=rows
        )
    return behind


def manual_boosts_in_force() -> QuerySet[ManualBoost]:
    open_ended = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return ManualBoost.objects.filter(open_ended, ended_at=None).select_related("document", "created_by")


def votes_on(*, document: Document) -> QuerySet[Evidence]:
    """The evidence on a document, newest first."""
    return Evidence.objects.filter(passage__document=document).select_related(*RELATED).order_by("-day", "-pk")


def events_on(document: Document) -> QuerySet[RevisionEvent]:
    """What staff did about this document, newest first."""
    return RevisionEvent.objects.filter(document_id=document.pk).select_related("by", "rater", "revision")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """A row of evidence as people read it.

    fading: the share of it that its half-life has left, 0..1. left_out: why it does not count; empty: it does.
    voter_weight: what such votes of its voter weighed in the last round on average; None: no round has weighed them.
    why: the reason of that weight, empty: there is nothing to say.
    """

    evidence: Evidence
    fading: float
    left_out: str
    voter_weight: float | None = None
    why: str = ""

    @property
    def counts_now(self) -> float:
        """What it adds to this question's votes today, before deduplication."""
        weight = 1.0 if self.voter_weight is None else self.voter_weight
        return 0.0 if self.left_out else self.evidence.weight * weight * self.fading

    def given(self) -> str:
        """5/5 of the answer"""
        rating = self.evidence.rating
        if rating.source_id:
            return said("{score}/5 of the source", score=rating.score)
        return said("{score}/5 of the answer", score=rating.score)

    @property
    def day(self) -> date:
        return EPOCH + timedelta(days=self.evidence.day)


def vote_shown(row: Evidence) -> Vote:
    age_days = max(0, day_of(timezone.now()) - row.day)
    weighed: VoterWeight | None = getattr(row.voter, "voter_weight", None)  # no row before the first round
    weight = None if weighed is None else weighed.down if row.weight < 0.0 else weighed.up
    why = weighed.reason_said if weighed else said("no round has weighed this voter's votes yet")
    fading = 0.5 ** (age_days / boosts.HALF_LIFE_DAYS)
    return Vote(evidence=row, fading=fading, left_out=_left_out(row), voter_weight=weight, why=why)


def _voter_counts(vote: Vote) -> tuple[float, str]:
    """What a vote of this voter weighs, and why; a full one where no round has weighed it."""
    return (1.0, "") if vote.voter_weight is None else (vote.voter_weight, vote.why)


def _left_out(row: Evidence) -> str:
    if row.discarded_by is not None:
        day, why = f"{row.discarded_by.at:%Y-%m-%d}", row.discarded_by.why_said
        return said("discarded on {day}: {why}", day=day, why=why) if why else said("discarded on {day}", day=day)
    if row.burst is not None and row.burst.status == Burst.Status.OPEN:
        return said("part of a burst that nobody has decided on")
    if row.burst is not None and row.burst.status == Burst.Status.REJECTED:
        why = row.burst.why
        return (
            said("part of a burst that was rejected: {why}", why=why)
            if why
            else said("part of a burst that was rejected")
        )
    if row.passage.chunk_id is None:
        return said("its text is gone from the document")
    return ""
