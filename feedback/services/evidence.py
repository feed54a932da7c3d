"""Draws evidence from ratings: those that are new or have changed since their evidence was drawn.

A rating knows the `updated_at` that its evidence belongs to, so nothing is lost to a clock or a kill and nothing is
counted twice: a batch's evidence and that mark are written in one transaction.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from chat.models import DecisionStep, Message, Source
from feedback.attribution import CitedSource, Credit, GivenRating, RatedAnswer, attribute
from feedback.models import Evidence, RatedPassage, RatedQuestion, Rating
from feedback.services.bulk_rows import rows_add
from retrieval.analysis import query_terms
from retrieval.models import Chunk

BATCH = 1000
MAX_QUESTION_CHARS = 4000
MAX_TERMS = 96
MOST_KEPT = 20_000  # questions in memory
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.get_fixed_timezone(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """How many ratings were looked at, and how many rows of evidence they gave."""

    ratings: int = 0
    evidence: int = 0


def answer_touch(*, user_id: int, message_id: UUID) -> None:
    """Have the evidence of this user's rating of the whole answer drawn anew."""
    Rating.objects.filter(user=user_id, message=message_id, source=None).update(attributed_at=None)


def ratings_to_attribute() -> list[UUID]:
    """Those whose evidence is not drawn yet, or from an earlier version of them; oldest first."""
    changed = Q(attributed_at=None) | ~Q(attributed_at=F("updated_at"))
    return list(Rating.objects.filter(changed).order_by("created_at", "pk").values_list("pk", flat=True))


def evidence_gather(*, report: Callable[[], None] = lambda: None) -> Gathered:
    """Bring all evidence up to date, batch by batch; `report` is called between them. Killed, the next call goes on."""
    waiting = ratings_to_attribute()
    read = QuestionReader()
    evidence = 0
    for start in range(0, len(waiting), BATCH):
        with transaction.atomic():
            evidence += _attribute_batch(waiting[start : start + BATCH], read)
        report()
    return Gathered(ratings=len(waiting), evidence=evidence)


# ------------------------------------------------------------------------------------------------ one batch
@dataclass(slots=True)
class _Row:
    """One of Evidence's, before it is written."""

    rating: UUID
    question: int
    passage: int
    voter: int
    weight: float
    document_weight: float
    voter_weight: float
    day: int
    burst: UUID | None = None
    discarded_by: UUID | None = None


ROW = tuple(column.name for column in fields(_Row))


class Shown(NamedTuple):
    """What a source showed of which chunk. key: the source's."""

    key: int
    document: UUID
    chunk: str
    text: str


@dataclass(slots=True)
class _Answer:
    """A rated answer with all that is needed of it. question: as it was searched for."""

    rated: RatedAnswer
    question: str
    sources: dict[int, Shown]  # by marker
    ratings: dict[int, list[GivenRating]] = field(default_factory=lambda: defaultdict(list))  # by user


def _attribute_batch(rating_ids: Sequence[UUID], read: QuestionReader) -> int:
    """A user's ratings of one answer belong together, so all of them are drawn anew. Returns the rows written."""
    pairs = set(Rating.objects.filter(pk__in=rating_ids).values_list("user_id", "message_id"))
    messages = {message for _, message in pairs}
    rows = Rating.objects.select_for_update(of=("self",)).filter(message__in=messages)
    ratings = [row for row in rows.order_by("pk") if (row.user_id, row.message_id) in pairs]
    answers = _answers(messages, ratings)
    credits = [
        (answer, user, credit)
        for answer in answers.values()
        for user, given in answer.ratings.items()
        for credit in attribute(answer.rated, given)
        if credit.marker in answer.sources
    ]
    rows_of_evidence = _evidence_rows(credits, {rating.pk: rating for rating in ratings}, read)
    ids = [rating.pk for rating in ratings]
    _keep_marks(rows_of_evidence, [rating.pk for rating in ratings if rating.attributed_at == rating.updated_at])
    Evidence.objects.filter(rating__in=ids).delete()
    rows_add(Evidence, ROW, map(attrgetter(*ROW), rows_of_evidence))
    Rating.objects.filter(pk__in=ids).update(attributed_at=F("updated_at"))
    return len(rows_of_evidence)


def _answers(message_ids: Iterable[UUID], ratings: Sequence[Rating]) -> dict[UUID, _Answer]:
    messages = Message.objects.filter(pk__in=message_ids).order_by()
    sources: dict[UUID, list[tuple[int, bool]]] = defaultdict(list)
    texts: dict[UUID, dict[int, Shown]] = defaultdict(dict)
    marker_of: dict[int, int] = {}
    rated = {rating.source_id for rating in ratings} - {None}
    rows = Source.objects.filter(Q(cited=True) | Q(pk__in=rated), message__in=message_ids).order_by("pk")
    for key, message, marker, document, chunk, text, cited in rows.values_list(
        "pk", "message_id", "marker", "document_id", "chunk_id", "text", "cited"
    ):
        sources[message].append((marker, cited))
        if document is not None:  # a page from the web has none
            texts[message][marker] = Shown(key, document, chunk, text)
        marker_of[key] = marker
    searched = searched_for(message_ids)
    answers = {
        key: _Answer(
            rated=RatedAnswer(
                text=text,
                decision=decision,
                status=status,
                sources=[CitedSource(marker, cited) for marker, cited in sources[key]],
            ),
            question=(searched.get(key) or question or "")[:MAX_QUESTION_CHARS],
            sources=texts[key],
        )
        for key, text, decision, status, question in messages.values_list(
            "pk", "text", "decision", "status", "reply_to__text"
        )
    }
    for rating in ratings:
        place = None if rating.source_id is None else marker_of[rating.source_id]
        given = GivenRating(id=rating.pk, marker=place, score=rating.score, tags=rating.tags)
        answers[rating.message_id].ratings[rating.user_id].append(given)
    return answers


def searched_for(message_ids: Iterable[UUID]) -> dict[UUID, str]:
    """The user's words as they were searched for first: of "and for Masters?" made to stand alone."""
    steps = DecisionStep.objects.filter(
        message__in=message_ids, name="retrieve", detail__queries__0__kind="original"
    ).order_by("-seq")
    return {key: text for key, text in steps.values_list("message_id", "detail__queries__0__text") if text}


def _evidence_rows(
    credits: Sequence[tuple[_Answer, int, Credit]], ratings: dict[UUID, Rating], read: QuestionReader
) -> list[_Row]:
    passages = _passages([answer.sources[credit.marker] for answer, _, credit in credits])
    credited = [one for one in credits if one[0].sources[one[2].marker].key in passages]
    questions = read.questions({answer.question for answer, _, _ in credited if answer.question})
    weights = _VoterWeights({user for _, user, _ in credited})
    rows: dict[tuple[UUID, int], _Row] = {}
    for answer, user, credit in credited:
        if answer.question not in questions:
            continue
        rating, passage = ratings[credit.rating_id], passages[answer.sources[credit.marker].key]
        key = (rating.pk, passage)
        if key in rows:  # two markers of one text
            rows[key].weight = max(-1.0, min(1.0, rows[key].weight + credit.weight))
            rows[key].document_weight = max(-1.0, min(1.0, rows[key].document_weight + credit.document_weight))
            continue
        rows[key] = _Row(
            rating=rating.pk,
            question=questions[answer.question],
            passage=passage,
            voter=user,
            weight=credit.weight,
            document_weight=credit.document_weight,
            voter_weight=weights.of(user, rating.updated_at),
            day=day_of(rating.updated_at),
        )
    return list(rows.values())


def _keep_marks(rows: Iterable[_Row], unchanged: Sequence[UUID]) -> None:
    """A rating that is drawn anew without having changed stays in its burst, and stays discarded."""
    marked = Evidence.objects.filter(rating__in=unchanged).exclude(burst=None, discarded_by=None)
    marks = {
        (rating, passage): (burst, discarded)
        for rating, passage, burst, discarded in marked.values_list(
            "rating_id", "passage_id", "burst_id", "discarded_by_id"
        )
    }
    for row in rows:
        row.burst, row.discarded_by = marks.get((row.rating, row.passage), (None, None))


def day_of(moment: datetime) -> int:
    """Days since 1970-01-01, UTC."""
    return max(0, (moment - EPOCH).days)


class _VoterWeights:
    """How much each voter counts: new accounts less, staff more."""

    def __init__(self, user_ids: Iterable[int]) -> None:
        rows = get_user_model().objects.filter(pk__in=set(user_ids)).values_list("pk", "date_joined", "is_staff")
        self._users = {key: (joined, staff) for key, joined, staff in rows}

    def of(self, user: int, rated_at: datetime) -> float:
        numbers = settings.RAG.feedback
        joined, staff = self._users[user]
        if staff:
            return numbers.staff_weight
        is_new = rated_at - joined < timedelta(days=numbers.new_account_days)
        return numbers.new_account_weight if is_new else 1.0


# ------------------------------------------------------------------------------------------------ passages
def content_hash(text: str) -> str:
    """Of a text without its white space: 32 hexadecimal digits."""
    return hashlib.blake2b("".join(text.split()).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _passages(sources: Iterable[Shown]) -> dict[int, int]:
    """Source → the passage that it showed. Pages from the web, deleted documents and texts that have changed since have
    none."""
    shown = {source.key: source for source in sources}
    chunk_ids = {key for source in shown.values() if (key := _as_uuid(source.chunk))}
    chunks = {
        str(key): (key, document, text)
        for key, document, text in Chunk.objects.filter(pk__in=chunk_ids).values_list("pk", "document_id", "text")
    }
    hashes = {key: content_hash(text) for key, (_, _, text) in chunks.items()}
    placed: dict[int, tuple[UUID, str, UUID]] = {}
    for source in shown.values():
        known = chunks.get(source.chunk)
        if known and known[1] == source.document and _holds(source.text, known[2]):
            placed[source.key] = (known[1], hashes[source.chunk], known[0])
    ids = _passage_ids(set(placed.values()))
    return {source: ids[document, digest] for source, (document, digest, _) in placed.items()}


def _holds(shown: str, text: str) -> bool:
    """Neighbouring chunks may have been joined to what was shown."""
    return text in shown or "".join(text.split()) in "".join(shown.split())


def _passage_ids(wanted: set[tuple[UUID, str, UUID]]) -> dict[tuple[UUID, str], int]:
    documents = {document for document, _, _ in wanted}
    rows = RatedPassage.objects.filter(document__in=documents)  # both lists would be tried in all combinations

    def known() -> dict[tuple[UUID, str], int]:
        columns = rows.values_list("document_id", "content_hash", "pk")
        return {(document, digest): key for document, digest, key in columns}

    there = known()
    missing = {(document, digest): chunk for document, digest, chunk in wanted if (document, digest) not in there}
    if not missing:
        return there
    made = [(document, digest, chunk) for (document, digest), chunk in missing.items()]
    rows_add(RatedPassage, ["document", "content_hash", "chunk_id"], made)
    return known()


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


# ------------------------------------------------------------------------------------------------ questions
class QuestionReader:
    """Rated questions by their words. Keeps what it has analysed, for the same question comes again and again."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def questions(self, texts: Iterable[str]) -> dict[str, int]:
        """Text → the rated question, made where it is new. Texts that say nothing at all are left out."""
        texts = list(texts)
        if len(self._known) > MOST_KEPT:
            self._known.clear()
        new = {text: _terms(text) for text in texts if text not in self._known and text.strip()}
        if new:
            signatures = {text: signature(text, terms) for text, terms in new.items()}
            now = timezone.now()
            made = [(signatures[text], text, " ".join(dict.fromkeys(terms)), now) for text, terms in new.items()]
            rows_add(RatedQuestion, ["signature", "text", "terms", "created_at"], made)
            rows = RatedQuestion.objects.filter(signature__in=set(signatures.values()))
            ids: dict[str, Any] = dict(rows.values_list("signature", "pk"))
            self._known.update((text, ids[signatures[text]]) for text in new)
        return {text: self._known[text] for text in texts if text in self._known}


def _terms(text: str) -> list[str]:
    return query_terms(text)[:MAX_TERMS]


def signature(text: str, terms: Sequence[str]) -> str:
    """The same for questions that differ in case, punctuation, stop words and endings alone."""
    told = " ".join(terms) or "text:" + " ".join(text.casefold().split())
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
