"""The dashboard's counts: made anew for each day that has changed, from the desk's rows and their answers.

A day is marked when one of its answers ends or is rated (`days_touch`); a periodic task makes it anew. What is deleted
meanwhile counts until its day is made anew: `manage.py rollups_rebuild` makes all of them. A day of which conversations
were deleted for their age is closed (`days_close`): nothing makes it anew, so that its counts outlive its answers; a
rating of an answer that is still there is added to them (`closed_days_correct`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from time import monotonic
from typing import Any, cast
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest
from django.utils import timezone

from chat.models import AnswerReview, AnswerRollup, AskerDay, DocumentRollup, ReviewedCollection, RollupDay, Source
from chat.models.rollups import ANY
from chat.review.figures.sketches import added, bucket

BATCH = 2_000
PARTS = 3  # of a key that may be ANY
GOOD_SCORE, BAD_SCORE = 4, 2  # and above, and below
COUNTED = ("llm_calls", "llm_rounds", "prompt_tokens", "completion_tokens")
MOST_OF_A_FIGURE = 10**9
Key = tuple[str, str, str, UUID | None]


def day_of(moment: datetime) -> date:
    """The site's day."""
    return timezone.localtime(moment).date()


def days_touch(moments: Iterable[datetime]) -> None:
    """Answers of these moments have changed."""
    days = {day_of(moment) for moment in moments}
    settled = Q(stale=True) | Q(closed=True)
    days -= set(RollupDay.objects.filter(settled, day__in=days).values_list("day", flat=True))
    if days:
        RollupDay.objects.bulk_create(
            [RollupDay(day=day, stale=True) for day in sorted(days)],
            update_conflicts=True,
            unique_fields=["day"],
            update_fields=["stale"],
        )


def days_close(moments: Iterable[datetime]) -> None:
    """Answers of these moments, on days that are over, are about to be deleted for their age: their days are counted
    now if they have to be, and never again."""
    for day in sorted({day_of(moment) for moment in moments}):
        known = RollupDay.objects.filter(day=day).first()
        if known is not None and known.closed:
            continue
        if known is None or known.stale:
            day_make(day)
        RollupDay.objects.filter(day=day).update(closed=True, stale=False)


def closed_days_correct(changes: Iterable[tuple[AnswerReview, AnswerReview]], asked: Mapping[int, list[UUID]]) -> None:
    """What a rating has changed of answers on closed days, added to the rows of these days; by several processes too.

    changes: the desk's row of an answer as it was counted and as it is, in one transaction. asked: its collections.
    """
    differing = [(was, now, delta) for was, now in changes if (delta := _delta(was, now))]
    days = {day_of(was.created_at) for was, _, _ in differing}
    closed = set(RollupDay.objects.filter(closed=True, day__in=days).values_list("day", flat=True)) if days else set()
    for was, _, delta in differing:
        if day_of(was.created_at) not in closed:
            continue
        rows = AnswerRollup.objects.filter(
            Q(collection=None) | Q(collection__in=asked.get(was.pk, [])),
            day=day_of(was.created_at),
            workflow__in=(was.workflow, ANY),
            model__in=(was.model, ANY),
            language__in=(was.language, ANY),
        )
        rows.update(**{name: Greatest(F(name) + change, 0) for name, change in delta.items()})


def _delta(was: AnswerReview, now: AnswerReview) -> dict[str, int]:
    """Of what a rating decides."""
    before, after = _judged(was), _judged(now)
    return {name: after[name] - before[name] for name in after if after[name] != before[name]}


def _judged(row: AnswerReview) -> dict[str, bool]:
    score = row.worst_score
    return {
        "flagged": row.flagged,
        "rated": score is not None,
        "rated_good": score is not None and score >= GOOD_SCORE,
        "rated_bad": score is not None and score <= BAD_SCORE,
    }


def rollups_refresh(*, within_s: float) -> int:
    """Make stale days anew, the newest first. Returns how many."""
    began, done = monotonic(), 0
    while monotonic() - began < within_s:
        day = RollupDay.objects.filter(stale=True, closed=False).order_by("-day").values_list("day", flat=True).first()
        if day is None:
            break
        day_make(day)
        done += 1
    return done


def rollups_rebuild() -> Iterator[date]:
    """Make every day that has answers anew, and remove the others; gives each day when it is done. Closed days stay."""
    closed = set(RollupDay.objects.filter(closed=True).values_list("day", flat=True))
    kept = set(closed)
    first = AnswerReview.objects.order_by("created_at").values_list("created_at", flat=True).first()
    last = AnswerReview.objects.order_by("-created_at").values_list("created_at", flat=True).first()
    if first is not None and last is not None:
        day = day_of(first)
        while day <= day_of(last):
            if day not in closed and AnswerReview.objects.filter(_within(day)).exists():
                day_make(day)
                kept.add(day)
                yield day
            day += timedelta(days=1)
    for gone in RollupDay.objects.exclude(day__in=kept).values_list("day", flat=True):
        _day_clear(gone)
    RollupDay.objects.exclude(day__in=kept).delete()


def day_make(day: date) -> None:
    """Its rows, in one transaction; an answer that changes meanwhile makes the day stale again.

    Of two processes that make the same day, the one that began later has read more, and its rows stand.
    """
    began = timezone.now()
    RollupDay.objects.update_or_create(day=day, defaults={"stale": False, "made_at": began})
    cells: dict[Key, dict[str, Any]] = {}
    askers: set[int] = set()
    after = 0
    documents: dict[UUID, list[int]] = {}
    while True:
        rows = AnswerReview.objects.filter(_within(day), pk__gt=after).order_by("pk")
        batch = list(rows.select_related("message").only(*_READ)[:BATCH])
        if not batch:
            break
        after = batch[-1].pk
        asked: dict[int, list[UUID]] = {}
        links = ReviewedCollection.objects.filter(answer__in=[row.pk for row in batch])
        for answer_id, collection_id in links.values_list("answer_id", "collection_id"):
            asked.setdefault(answer_id, []).append(collection_id)
        for row in batch:
            askers.add(row.user_id)
            in_collections: list[UUID | None] = [None, *asked.get(row.pk, ())]
            for collection in in_collections:
                key: Key = (row.workflow, row.model, row.language, collection)
                _count(cells.setdefault(key, _empty()), row)
        shown = Source.objects.filter(message__in=[row.message_id for row in batch])
        for document_id, cited in shown.values_list("document_id", "cited"):
            if document_id is None:  # a web page
                continue
            counts = documents.setdefault(document_id, [0, 0])
            counts[0] += 1
            counts[1] += bool(cited)
    with transaction.atomic():
        if not RollupDay.objects.select_for_update().filter(day=day, made_at=began, closed=False).first():
            return
        _day_clear(day)
        AnswerRollup.objects.bulk_create(
            AnswerRollup(day=day, workflow=workflow, model=model, language=language, collection_id=collection, **cell)
            for (workflow, model, language, collection), cell in with_margins(cells).items()
        )
        DocumentRollup.objects.bulk_create(
            DocumentRollup(day=day, document_id=document, shown=shown_times, cited=cited_times)
            for document, (shown_times, cited_times) in documents.items()
        )
        AskerDay.objects.bulk_create(AskerDay(day=day, user_id=user) for user in askers)


_READ = (
    "created_at", "workflow", "model", "language", "user_id", "decision", "total_ms", "worst_score", "no_answer",
    "weak", "degraded", "slow", "cut", "flagged", "message__usage",
)  # fmt: skip


def _day_clear(day: date) -> None:
    for model in (AnswerRollup, DocumentRollup, AskerDay):
        model._default_manager.filter(day=day).delete()


def _within(day: date) -> Q:
    start = timezone.make_aware(datetime(day.year, day.month, day.day))
    end = timezone.make_aware(datetime.combine(day + timedelta(days=1), datetime.min.time()))
    return Q(created_at__gte=start, created_at__lt=end)


def with_margins(cells: Mapping[Key, Mapping[str, Any]]) -> dict[Key, Mapping[str, Any]]:
    """With a cell of all workflows, models and languages together, and of each two and one of these.

    Source: Gray et al., "Data Cube: A Relational Aggregation Operator", Data Mining and Knowledge Discovery 1997.
    """
    cube = dict(cells)
    for part in range(PARTS):
        together: dict[Key, list[Mapping[str, Any]]] = {}
        for key, cell in cube.items():
            parts = (*key[:part], ANY, *key[part + 1 :])
            together.setdefault(cast(Key, parts), []).append(cell)
        cube |= {key: _sum(of_it) for key, of_it in together.items()}
    return cube


def _sum(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of their counts, and of their sketches."""
    sums: dict[str, Any] = {}
    for name, value in cells[0].items():
        values = (cell[name] for cell in cells)
        sums[name] = added(values) if isinstance(value, dict) else sum(values)
    return sums


def _empty() -> dict[str, Any]:
    names = (
        "answers", "answered", "clarified", "no_answer", "cut", "weak", "degraded", "slow", "flagged", "rated",
        "rated_good", "rated_bad", *COUNTED,
    )  # fmt: skip
    return dict.fromkeys(names, 0) | {"first_token_ms": {}, "total_ms": {}}


def _count(cell: dict[str, Any], row: AnswerReview) -> None:
    usage = row.message.usage if isinstance(row.message.usage, dict) else {}
    for name, holds in (
        ("answers", True), ("answered", row.decision == "ANSWER"), ("clarified", row.decision == "CLARIFY"),
        ("no_answer", row.no_answer), ("cut", row.cut), ("weak", row.weak), ("degraded", row.degraded),
        ("slow", row.slow), *_judged(row).items(),
    ):  # fmt: skip
        cell[name] += bool(holds)
    for name in COUNTED:
        cell[name] += _whole(usage.get(name)) or 0
    for name, ms in (("first_token_ms", _whole(usage.get("first_token_ms"))), ("total_ms", row.total_ms)):
        if ms is not None:
            key = bucket(ms)
            cell[name][key] = cell[name].get(key, 0) + 1


def _whole(value: Any) -> int | None:
    """A figure of `usage`; None for what is none."""
    return value if isinstance(value, int) and 0 <= value <= MOST_OF_A_FIGURE else None
