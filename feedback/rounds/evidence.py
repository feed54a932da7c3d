"""Draws evidence from ratings: those that are new or have changed since their evidence was drawn.

`attributed_at` of a rating is the `updated_at` that its evidence belongs to. Both are written in one transaction, so
after a crash or a change of the clock nothing is lost, and nothing is counted twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, F, Q, QuerySet
from django.utils import timezone

from chat.models import DecisionStep, Message, Source
from feedback.models import Evidence, RatedPassage, Rating, SetAsideVote
from feedback.ranking.attribution import (
    CheckedSentence,
    CitedSource,
    Credit,
    GivenRating,
    RatedAnswer,
    attribute,
)
from feedback.rounds.bulk_rows import Key, one_of, packed, raw, rows_add, unpacked
from feedback.rounds.deletions import written
from feedback.rounds.passages import PassageReader, Shown
from feedback.rounds.questions import QuestionReader

BATCH = 1000  # rated answers in a transaction
AT_ONCE = 500
DRAWN = ExpressionWrapper(Q(attributed_at=F("updated_at")), output_field=BooleanField())
MAX_QUESTION_CHARS = 4000
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.get_fixed_timezone(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """How many ratings were looked at, and how many rows of evidence they gave."""

    ratings: int = 0
    evidence: int = 0


def answer_touch(*, user_id: int, message_id: UUID) -> None:
    """Have the evidence of this user's rating of the whole answer drawn anew."""
    Rating.objects.filter(user=user_id, message=message_id, source=None).update(attributed_at=None)


def evidence_gather(*, which: Q | None = None, report: Callable[[], None] = lambda: None) -> Gathered:
    """Bring all evidence up to date, or that of some ratings and of what else was said of their answers.

    Batch by batch; `report` is called between them. Killed, the next call goes on.
    """
    changed = Q(attributed_at=None) | ~Q(attributed_at=F("updated_at"))
    waiting = (
        Rating.objects.filter(changed, which or Q())
        .order_by("updated_at", "pk")
        .values_list(raw("message_id"), flat=True)
    )
    ratings = evidence = 0

    def rated() -> Iterator[Key]:
        nonlocal ratings
        for message in waiting.iterator():
            ratings += 1
            yield message

    messages, read = packed(rated()), _Readers()
    for start in range(0, len(messages), BATCH):
        evidence += _attribute_batch(unpacked(messages[start : start + BATCH]), read)
        report()
    return Gathered(ratings=ratings, evidence=evidence)


class _Readers:
    """What a round has read of questions and passages."""

    def __init__(self) -> None:
        self.questions, self.passages = QuestionReader(), PassageReader()

    def forget(self) -> None:
        self.questions.forget()
        self.passages.forget()


# ------------------------------------------------------------------------------------------------ one batch
@dataclass(slots=True)
class _Row:
    """A row of Evidence before it is written."""

    rating: Key
    question: int
    passage: int
    voter: int
    weight: float
    document_weight: float
    day: int
    normalized_score: float | None = None
    burst: Key | None = None
    discarded_by: Key | None = None


ROW = tuple(column.name for column in fields(_Row))


class _Given(NamedTuple):
    """A rating. source: None for the whole answer. is_drawn: its evidence is up to date; None or
    False: it is to be drawn."""

    key: Key
    user: int
    message: Key
    source: int | None
    score: int
    tags: list[str]
    updated_at: datetime
    is_drawn: bool | None


@dataclass(slots=True)
class _Answer:
    """An answer that was rated, with all that is needed of it. question: as searched for."""

    rated: RatedAnswer
    question: str
    sources: dict[int, int]  # marker → source, without pages from the web
    ratings: dict[int, list[GivenRating]] = field(default_factory=lambda: defaultdict(list))  # by user


def _attribute_batch(messages: Sequence[Key], read: _Readers) -> int:
    """Returns how many rows were written. Questions and passages that earlier batches read may be deleted by now."""
    return written(partial(_attribute, messages, read), before_again=read.forget)


def _attribute(messages: Sequence[Key], read: _Readers) -> int:
    """A user's ratings of one answer belong together, so all of them are drawn anew when one has changed."""
    ratings = _changed(messages)
    if not ratings:
        return 0
    answers = _answers(ratings)
    credits = [
        (answer, user, credit)
        for answer in answers.values()
        for user, given in answer.ratings.items()
        for credit in attribute(answer.rated, given)
        if credit.marker in answer.sources
    ]
    rows = _evidence_rows(credits, {rating.key: day_of(rating.updated_at) for rating in ratings}, read)
    by_key = {rating.key: rating for rating in ratings}
    former = Evidence.objects.filter(one_of("rating_id", by_key))
    there_is = former.exists()  # of ratings that are drawn for the first time there is none
    _keep_marks(rows, by_key, _marks(by_key) if there_is else {})
    if there_is:
        former.delete()
    rows_add(Evidence, ROW, map(attrgetter(*ROW), rows))
    Rating.objects.filter(one_of("pk", by_key)).update(attributed_at=F("updated_at"))
    return len(rows)


def _changed(messages: Sequence[Key]) -> list[_Given]:
    """The ratings of these answers by everyone who has one that is not drawn yet, the oldest first; locked."""
    rows = Rating.objects.select_for_update().filter(one_of("message_id", messages))
    ratings = list(_rows_of(rows.order_by("updated_at", "pk")))
    changed = {(rating.user, rating.message) for rating in ratings if not rating.is_drawn}
    return [rating for rating in ratings if (rating.user, rating.message) in changed]


def _rows_of(ratings: QuerySet[Rating]) -> Iterator[_Given]:
    columns = (raw("pk"), "user_id", raw("message_id"), "source_id", "score", "tags", "updated_at", DRAWN)
    return map(_Given._make, ratings.values_list(*columns))


def _sentences(grounding: Sequence[Mapping[str, Any]] | None) -> list[CheckedSentence]:
    """A sentence rests on the passages that were found to say it, else on those that it cites."""
    return [
        CheckedSentence(
            text=sentence["sentence"],
            markers=[one["marker"] for one in sentence.get("evidence") or ()] or sentence.get("markers") or (),
            supported=sentence["supported"],
        )
        for sentence in grounding or ()
    ]


def _answers(given: Sequence[_Given]) -> dict[Key, _Answer]:
    messages = list(dict.fromkeys(rating.message for rating in given))
    listed: dict[Key, list[CitedSource]] = defaultdict(list)
    places: dict[Key, dict[int, int]] = defaultdict(dict)
    marker_of: dict[int, int] = {}
    named = {rating.source for rating in given} - {None}
    wanted = Q(cited=True) | Q(pk__in=named) if named else Q(cited=True)
    sources = Source.objects.filter(wanted, one_of("message_id", messages)).order_by("pk")
    for key, message, marker, document, cited in sources.values_list(
        "pk", raw("message_id"), "marker", raw("document_id"), "cited"
    ):
        listed[message].append(CitedSource(marker, cited))
        if document is not None:  # a page from the web has none
            places[message][marker] = key
        marker_of[key] = marker
    searched = _first_queries(DecisionStep.objects.filter(one_of("message_id", messages)), raw("message_id"))
    rows = Message.objects.filter(one_of("id", messages)).order_by()
    columns = rows.values_list(raw("id"), "text", "decision", "status", "reply_to__text", "grounding")
    answers = {
        key: _Answer(
            rated=RatedAnswer(
                text=text, decision=decision, status=status, sources=listed[key], sentences=_sentences(grounding)
            ),
            question=(searched.get(key) or question or "")[:MAX_QUESTION_CHARS],
            sources=places[key],
        )
        for key, text, decision, status, question, grounding in columns
    }
    for rating in given:
        marker = None if rating.source is None else marker_of[rating.source]
        answers[rating.message].ratings[rating.user].append(
            GivenRating(id=rating.key, marker=marker, score=rating.score, tags=rating.tags)
        )
    return {key: answers[key] for key in messages}


def searched_for(message_ids: Iterable[UUID]) -> dict[UUID, str]:
    """By message, the question as it was searched for first: "and for Masters?" was made to stand alone."""
    return _first_queries(DecisionStep.objects.filter(message__in=message_ids), F("message_id"))


def _first_queries(steps: QuerySet[DecisionStep], message: Any) -> dict[Any, str]:
    """By message. Steps are read in reverse, so the first search overwrites the later ones."""
    rows = steps.filter(name="retrieve").order_by("-seq").values_list(message, "detail__queries__0")
    first = ((key, query) for key, query in rows if isinstance(query, dict) and query.get("kind") == "original")
    return {key: str(query["text"]) for key, query in first if query.get("text")}


def _evidence_rows(
    credits: Sequence[tuple[_Answer, int, Credit]], given: Mapping[Key, int], read: _Readers
) -> list[_Row]:
    """given: the day of each rating."""
    sources = {answer.sources[credit.marker] for answer, _, credit in credits}
    rows_of = Source.objects.filter(one_of("pk", sources)).order_by("pk")
    scores: dict[int, float] = {}
    shown: list[Shown] = []
    for *source, score in rows_of.values_list("pk", raw("document_id"), "chunk_id", "text", "scores__standing"):
        shown.append(Shown._make(source))
        if score is not None:  # older sources have none
            scores[shown[-1].key] = min(1.0, max(0.0, float(score)))
    passages = read.passages.passages(shown)
    credited = [(answer, user, credit) for answer, user, credit in credits if answer.sources[credit.marker] in passages]
    questions = read.questions.questions(answer.question for answer, _, _ in credited)
    rows: dict[tuple[Key, int], _Row] = {}
    for answer, user, credit in credited:
        if answer.question not in questions:
            continue
        passage = passages[answer.sources[credit.marker]]
        key = (credit.rating_id, passage)
        if key in rows:  # two markers of one text
            rows[key].weight = max(-1.0, min(1.0, rows[key].weight + credit.weight))
            rows[key].document_weight = max(-1.0, min(1.0, rows[key].document_weight + credit.document_weight))
            continue
        rows[key] = _Row(
            rating=credit.rating_id,
            question=questions[answer.question],
            passage=passage,
            voter=user,
            weight=credit.weight,
            document_weight=credit.document_weight,
            day=given[credit.rating_id],
            normalized_score=scores.get(answer.sources[credit.marker]),
        )
    return list(rows.values())


# ------------------------------------------------------------------------------------------------ set aside
class _Mark(NamedTuple):
    """Why a vote does not count: as part of a burst (unless that was accepted), or because of a reset."""

    burst: Key | None
    discarded_by: Key | None


_Verdict = tuple[Key, Key, bool]  # rating, document, and whether it is for what the document says


def _keep_marks(rows: Sequence[_Row], given: Mapping[Key, _Given], marks: dict[_Verdict, _Mark]) -> None:
    """Who sends a rating again, or takes it back in between, does not undo what has set it aside: a vote that says the
    same of the document stays in its burst, and stays discarded. The other verdict is a new vote. marks: of the
    evidence as it stands."""
    known = _marks_stored(given) | marks
    if not known:
        return
    passages = {row.passage for row in rows}
    places = RatedPassage.objects.filter(one_of("pk", passages)).order_by().values_list("pk", raw("document_id"))
    document_of = dict(places)
    for row in rows:
        verdict = (row.rating, document_of[row.passage], row.weight > 0)
        marks.pop(verdict, None)
        row.burst, row.discarded_by = known.get(verdict, (None, None))
    _marks_store(marks, given)


def _marks(given: Mapping[Key, _Given]) -> dict[_Verdict, _Mark]:
    """Of the evidence as it stands."""
    marked = Evidence.objects.filter(one_of("rating_id", given)).exclude(burst=None, discarded_by=None).order_by("pk")
    columns = ("rating_id", "passage__document_id", "burst_id", "discarded_by_id")
    return {
        (rating, document, weight > 0): _Mark(burst, discarded)
        for rating, document, burst, discarded, weight in marked.values_list(*map(raw, columns), "weight")
    }


def _marks_stored(given: Mapping[Key, _Given]) -> dict[_Verdict, _Mark]:
    """Of evidence that is gone."""
    if not SetAsideVote.objects.exists():
        return {}
    rating_of = {(rating.user, rating.message, rating.source): rating.key for rating in given.values()}
    rows = SetAsideVote.objects.filter(one_of("message_id", {rating.message for rating in given.values()}))
    columns = ("message_id", "document_id", "burst_id", "discarded_by_id")
    stored = {}
    for message, document, burst, discarded, voter, source, up in rows.values_list(
        *map(raw, columns), "voter_id", "source_id", "up"
    ):
        if rating := rating_of.get((voter, message, source)):
            stored[rating, document, up] = _Mark(burst, discarded)
    return stored


def _marks_store(marks: Mapping[_Verdict, _Mark], given: Mapping[Key, _Given]) -> None:
    """In place of earlier ones of the same verdicts."""
    columns = ("voter", "message", "source", "document", "up", "burst", "discarded_by")
    rows = []
    for (key, document, up), mark in marks.items():
        rating = given[key]
        same = SetAsideVote.objects.filter(voter=rating.user, source=rating.source, up=up)
        same.filter(one_of("message_id", [rating.message]), one_of("document_id", [document])).delete()
        rows.append((rating.user, rating.message, rating.source, document, up, *mark))
    rows_add(SetAsideVote, columns, rows)


def rating_forget(rating_id: UUID) -> None:
    """In the transaction in which a user takes a rating back: what has set it aside is remembered."""
    given = {rating.key: rating for rating in _rows_of(Rating.objects.filter(pk=rating_id))}
    _marks_store(_marks(given), given)


def day_of(moment: datetime) -> int:
    """Days since 1970-01-01, UTC."""
    return max(0, (moment - EPOCH).days)
