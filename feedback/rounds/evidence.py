"""Draws evidence from ratings: those that are new or have changed since their evidence was drawn.

`attributed_at` of a rating is the `updated_at` that its evidence belongs to. Both are written in one transaction, so
after a crash or a change of the clock nothing is lost, and nothing is counted twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import F, Prefetch, Q

from chat.models import Message, Source
from feedback.models import Evidence, Rating
from feedback.ranking.attribution import (
    CheckedSentence,
    CitedSource,
    Credit,
    RatedAnswer,
    RatingInput,
    attribute,
)
from feedback.rounds.deletions import write_with_retry
from feedback.rounds.passages import passages_of
from feedback.rounds.questions import questions_of

BATCH = 500  # rated answers in a transaction
MAX_QUESTION_CHARS = 4000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CHANGED = Q(attributed_at=None) | ~Q(attributed_at=F("updated_at"))


def answer_touch(*, user_id: int, message_id: UUID) -> None:
    """Have the evidence of this user's rating of the whole answer drawn again."""
    Rating.objects.filter(user=user_id, message=message_id, source=None).update(attributed_at=None)


def evidence_gather(*, report: Callable[[], None] = lambda: None) -> tuple[int, int]:
    """Bring all evidence up to date, batch by batch; `report` is called between them. Killed, the next call goes on.

    Returns how many ratings were looked at, and how many rows of evidence they gave.
    """
    ratings = evidence = 0
    waiting = (
        Rating.objects.filter(CHANGED)
        .order_by("updated_at", "pk")
        .values_list("message_id", flat=True)
    )
    messages = list(dict.fromkeys(waiting.iterator()))
    for start in range(0, len(messages), BATCH):
        counts = write_with_retry(partial(_draw, messages[start : start + BATCH]))
        ratings = ratings + counts[0]
        evidence = evidence + counts[1]
        report()
    return ratings, evidence


def _draw(message_ids: Sequence[UUID]) -> tuple[int, int]:
    """A person's ratings of one answer belong together: all of them are drawn again when one has changed.

    Returns how many ratings had changed, and how many rows were written.
    """
    rows = (
        Rating.objects.select_for_update()
        .filter(message__in=message_ids)
        .order_by("updated_at", "pk")
    )
    every = list(rows)
    changed = {
        (rating.user_id, rating.message_id)
        for rating in every
        if rating.attributed_at != rating.updated_at
    }
    new = sum(rating.attributed_at != rating.updated_at for rating in every)
    ratings = [rating for rating in every if (rating.user_id, rating.message_id) in changed]
    keys = [rating.pk for rating in ratings]
    evidence = _evidence(ratings)
    Evidence.objects.filter(rating__in=keys).delete()
    Evidence.objects.bulk_create(evidence, batch_size=1000)
    Rating.objects.filter(pk__in=keys).update(attributed_at=F("updated_at"))
    return new, len(evidence)


@dataclass(frozen=True, slots=True)
class _Credited:
    """What a rating says of one source of its answer. question: that was searched for."""

    credit: Credit
    source: Source
    question: str


def _evidence(ratings: Sequence[Rating]) -> list[Evidence]:
    """The oldest first: of a person's votes on one passage the newest counts."""
    credits = _credits(ratings)
    passages = passages_of(credited.source for credited in credits)
    known = [credited for credited in credits if credited.source.pk in passages]
    questions = questions_of(credited.question for credited in known)
    rows: dict[tuple[UUID, int], Evidence] = {}
    for credited in known:
        if credited.question not in questions:
            continue
        credit = credited.credit
        rating = credit.rating_id
        passage = passages[credited.source.pk]
        new = Evidence(
            rating=rating,
            question_id=questions[credited.question],
            passage_id=passage,
            voter_id=rating.user_id,
            weight=0.0,
            document_weight=0.0,
            day=day_of(rating.updated_at),
        )
        row = rows.setdefault((rating.pk, passage), new)
        row.weight = _limited(row.weight + credit.weight)  # two markers may be of one text
        row.document_weight = _limited(row.document_weight + credit.document_weight)
    return sorted(rows.values(), key=lambda row: (row.rating.updated_at, row.rating_id))


def _limited(weight: float) -> float:
    return max(-1.0, min(1.0, weight))


def _credits(ratings: Sequence[Rating]) -> list[_Credited]:
    """What each person's ratings say of the documents' passages that their answers were given."""
    by_person: dict[tuple[UUID, int], list[Rating]] = defaultdict(list)
    for rating in ratings:
        by_person[rating.message_id, rating.user_id].append(rating)
    messages = _rated_answers(ratings)
    credits: list[_Credited] = []
    for (message_id, _), own in by_person.items():
        message = messages[message_id]
        sources = {source.pk: source for source in message.credited}
        by_marker = {source.marker: source for source in sources.values() if source.document_id}
        question = (message.searched_for or message.question or "")[:MAX_QUESTION_CHARS]
        inputs = [_input(rating, sources) for rating in own]
        for credit in attribute(_answer(message, sources.values()), inputs):
            if credit.marker in by_marker:
                credits.append(_Credited(credit, by_marker[credit.marker], question))
    return credits


def _rated_answers(ratings: Sequence[Rating]) -> dict[UUID, Any]:
    """By id, with `question` and `credited`: the sources that are cited or were rated."""
    rated = [rating.source_id for rating in ratings]
    credited = Source.objects.filter(Q(cited=True) | Q(pk__in=rated)).order_by("marker")
    credited = credited.only("message", "marker", "document_id", "chunk_id", "text", "cited")
    answers = Message.objects.only(
        "text", "decision", "status", "grounding", "support", "searched_for"
    )
    answers = answers.prefetch_related(Prefetch("sources", credited, to_attr="credited"))
    ids = {rating.message_id for rating in ratings}
    return answers.annotate(question=F("reply_to__text")).in_bulk(ids)


def _input(rating: Rating, sources: Mapping[int, Source]) -> RatingInput:
    marker = sources[rating.source_id].marker if rating.source_id else None
    return RatingInput(id=rating, score=rating.score, tags=rating.tags, marker=marker)


def _answer(message: Message, sources: Iterable[Source]) -> RatedAnswer:
    """A checked sentence rests on the passages that were found to say it, else on those that it cites."""
    sentences = [
        CheckedSentence(
            text=sentence["sentence"],
            markers=[one["marker"] for one in sentence.get("evidence") or ()]
            or sentence.get("markers")
            or (),
            supported=sentence["supported"],
        )
        for sentence in message.grounding or ()
    ]
    cited = [CitedSource(source.marker, source.cited) for source in sources]
    return RatedAnswer(
        text=message.text,
        decision=message.decision,
        status=message.status,
        sources=cited,
        sentences=sentences,
        is_confirmed=message.support != Message.Support.NONE,
    )


def day_of(moment: datetime) -> int:
    """Days since 1970-01-01, UTC."""
    return max(0, (moment - EPOCH).days)
