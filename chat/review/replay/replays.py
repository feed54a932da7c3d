"""Replays as people at the desk order, watch and cancel them."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any
from uuid import UUID

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from kombu.exceptions import OperationalError

from chat.models import Message, Replay, ReplayBatch
from chat.review.feedback_port import get_feedback
from chat.review.replay.replay_run import MAX_ATTEMPTS, NO_REVISION, OPEN, replay_lease, replay_run
from chat.review.roles import DeskAccess
from chat.runs.run import detach
from ragsite.core.database import database_call
from ragsite.core.errors import ConflictError, InvalidInputError, NotFoundError
from ragsite.core.leases import run_out
from ragsite.core.wording import worded, wordings_of
from retrieval.engine import close_engine, get_engine, has_engine
from retrieval.workflows import available_workflows

MAX_QUESTIONS = 500  # of a batch
MAX_OPEN = 1_000  # replays of one person that have not ended
AT_ONCE = 2  # in a web process; further ones are a worker's
TASK = "chat.tasks.replays_work_task"
REVISIONS_OFFERED = 30
LOST = worded("The process that replayed it was stopped twice; try again.")

logger = logging.getLogger(__name__)
_running: set[asyncio.Task[Any]] = set()


class TooManyReplaysError(ConflictError):
    message = worded("Too many of your replays have not ended yet; wait for them, or cancel some.")


# ------------------------------------------------------------------------------------------------ order
async def change_check(change: Mapping[str, Any]) -> None:
    """Whether the site has what is asked for. Raises InvalidInputError."""
    if (workflow := change.get("workflow")) and workflow not in available_workflows():
        known = ", ".join(available_workflows())
        raise InvalidInputError(fields={"workflow": [worded("One of {known}.", known=known)]})
    top_k = change.get("options", {}).get("top_k")
    if top_k is not None and not 1 <= top_k <= settings.RAG.search.max_top_k:
        most = settings.RAG.search.max_top_k
        raise InvalidInputError(fields={"options": {"top_k": [worded("From 1 to {max_top_k}.", max_top_k=most)]}})
    if model := change.get("model"):
        offered = (await get_engine().models.status()).models
        if model not in offered:
            raise InvalidInputError(
                fields={"model": [worded("The model server has no model of this name; choose one that it lists.")]}
            )
    if (revision := change.get("revision")) and revision != NO_REVISION:
        known_ids = {str(choice.id) for choice in await database_call(revisions_offered)}
        if revision not in known_ids:
            raise InvalidInputError(fields={"revision": [worded("There is no such revision; choose another one.")]})


async def models_listed() -> list[str]:
    """By the model server; none where it is away."""
    own = not has_engine()
    try:
        return list((await get_engine().models.status()).models)
    finally:
        if own:
            await close_engine()


def revisions_offered() -> Sequence[Any]:
    return get_feedback().revisions(limit=REVISIONS_OFFERED)


@transaction.atomic
def replay_create(*, access: DeskAccess, message_id: UUID, change: Mapping[str, Any]) -> Replay:
    """Of an answer that has ended. Raises NotFoundError, ConflictError."""
    message = _answers([message_id]).first()
    if message is None:
        raise NotFoundError
    _check_room(access, 1)
    return Replay.objects.create(message=message, question=_question(message), change=dict(change), made_by=access.user)


@transaction.atomic
def batch_create(
    *, access: DeskAccess, name: str, message_ids: Sequence[UUID], change: Mapping[str, Any]
) -> ReplayBatch:
    """Of these answers, in this order; those that have no question any more are left out.

    Raises InvalidInputError where none is left, TooManyReplaysError.
    """
    ids = list(dict.fromkeys(message_ids))[:MAX_QUESTIONS]
    found = {message.pk: message for message in _answers(ids)}
    answers = [found[pk] for pk in ids if pk in found]
    _check_batch(access, len(answers))
    batch = ReplayBatch.objects.create(name=name, change=dict(change), made_by=access.user)
    Replay.objects.bulk_create(
        Replay(batch=batch, message=answer, question=_question(answer), change=dict(change), made_by=access.user)
        for answer in answers
    )
    return batch


@transaction.atomic
def batch_create_golden(
    *, access: DeskAccess, name: str, set_name: str | None, change: Mapping[str, Any]
) -> ReplayBatch:
    """Of the golden questions in use that this person may know, or of those of one set. Raises InvalidInputError,
    TooManyReplaysError."""
    questions = get_feedback().golden_questions(user=access.user, set_name=set_name, limit=MAX_QUESTIONS)
    _check_batch(access, len(questions))
    batch = ReplayBatch.objects.create(name=name, change=dict(change), made_by=access.user)
    Replay.objects.bulk_create(
        Replay(
            batch=batch,
            question=asked.text,
            golden={
                "id": str(asked.id),
                "collection": asked.collection,
                "documents": list(asked.documents),
                "expects": asked.expects,
            },
            change=dict(change),
            made_by=access.user,
        )
        for asked in questions
    )
    return batch


def _answers(ids: Sequence[UUID]) -> QuerySet[Message]:
    ended = Message.objects.filter(pk__in=ids, role=Message.Role.ASSISTANT, reply_to__isnull=False)
    return ended.exclude(status=Message.Status.STREAMING).select_related("reply_to")


def _question(message: Message) -> str:
    assert message.reply_to is not None
    return message.reply_to.text


def _check_batch(access: DeskAccess, count: int) -> None:
    if not count:
        raise InvalidInputError(worded("There is no question to replay here; choose others."))
    _check_room(access, count)


def _check_room(access: DeskAccess, count: int) -> None:
    if Replay.objects.filter(made_by=access.user, status__in=OPEN).count() + count > MAX_OPEN:
        raise TooManyReplaysError


# ------------------------------------------------------------------------------------------------ run
async def replay_start(replay_id: UUID) -> None:
    """Begin it in this process, unless that is busy; then a worker does it."""
    if len(_running) < AT_ONCE:
        lease = replay_lease(replay_id)
        if await database_call(lease.take, status=Replay.Status.RUNNING, attempts=1):
            task = detach(replay_run(lease))
            _running.add(task)
            task.add_done_callback(_running.discard)
    else:
        await database_call(replays_queue)


def replays_queue() -> None:
    """A worker goes on with what is open. A broker that is away loses nothing: the next round finds it."""
    try:
        current_app.send_task(TASK, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("replays wait for the next round: the broker is away (%s)", error)


async def replays_work(*, within_s: float) -> bool:
    """Answer open replays one after the other, the oldest first. Whether some were left when the time was over."""
    until = monotonic() + within_s
    while monotonic() < until:
        lease = await database_call(_take_next)
        if lease is None:
            return False
        await replay_run(lease)
    return await database_call(_waiting().exists)


def _waiting() -> QuerySet[Replay]:
    return Replay.objects.filter(run_out(), status__in=OPEN).order_by("created_at", "id")


def _take_next() -> Any:
    for replay_id, attempts in _waiting().values_list("pk", "attempts")[:20]:
        lease = replay_lease(replay_id)
        if attempts >= MAX_ATTEMPTS:
            error = {"code": "internal", "content": LOST}
            Replay.objects.filter(run_out(), pk=replay_id, status__in=OPEN).update(
                status=Replay.Status.FAILED, error=error, wordings=wordings_of(LOST), finished_at=timezone.now()
            )
        elif lease.take(status=Replay.Status.RUNNING, attempts=attempts + 1):
            return lease
    return None


# ------------------------------------------------------------------------------------------------ read and cancel
def replay_get(replay_id: UUID) -> Replay:
    """Raises NotFoundError."""
    replay = Replay.objects.select_related("batch", "made_by").filter(pk=replay_id).first()
    if replay is None:
        raise NotFoundError
    return replay


def replay_list() -> QuerySet[Replay]:
    """Those made one by one, newest first, without their answers."""
    return _light(Replay.objects.filter(batch=None)).select_related("made_by").order_by("-created_at", "id")


def replays_of(batch: ReplayBatch) -> QuerySet[Replay]:
    """In the order in which they were put in, without their answers."""
    return _light(batch.replays.all()).select_related("made_by").order_by("created_at", "id")


def _light(replays: QuerySet[Replay]) -> QuerySet[Replay]:
    return replays.defer("original", "result", "differences", "wordings")


def batch_list() -> QuerySet[ReplayBatch]:
    """Newest first, each with `total`, `ended`, `failed`; counted of those batches alone that are read."""
    batches = ReplayBatch.objects.select_related("made_by").annotate(
        total=_count_of(Q()),
        ended=_count_of(~Q(status__in=OPEN)),
        failed=_count_of(Q(status=Replay.Status.FAILED)),
    )
    return batches.order_by("-created_at", "id")


def _count_of(which: Q) -> Coalesce:
    own = Replay.objects.filter(which, batch=OuterRef("pk")).order_by().values("batch")
    return Coalesce(Subquery(own.annotate(count=Count("pk")).values("count")), 0)


def batch_get(batch_id: UUID) -> ReplayBatch:
    """As `batch_list` gives it. Raises NotFoundError."""
    batch = batch_list().filter(pk=batch_id).first()
    if batch is None:
        raise NotFoundError
    return batch


def replay_cancel(*, replays: QuerySet[Replay]) -> int:
    """Those of them that have not ended; one that runs stops within seconds. Returns how many."""
    return replays.filter(status__in=OPEN).update(
        status=Replay.Status.CANCELLED, lease_token=None, lease_expires_at=None, finished_at=timezone.now()
    )


def batch_summary(batch: ReplayBatch) -> dict[str, Any]:
    """Of what has ended: how often each decision was come to (decided) and changed, how alike sources and texts are,
    median times. Pairs are [of the originals, of the replays].

    Of golden questions, better, worse: those where only the replay, or only the original, is as expected; ranked: those
    with right documents; among_sources: those of which one is among the sources; mrr: the mean of 1 / its place there,
    0 where there is none.
    """
    rows = [row for row in batch.replays.filter(status=Replay.Status.COMPLETE).values_list("summary", flat=True) if row]
    moves: dict[str, int] = {}
    for row in rows:
        move = " → ".join(row["decision"])
        moves[move] = moves.get(move, 0) + 1
    times = [[row["total_ms"][side] for row in rows if row["total_ms"][side] is not None] for side in (0, 1)]
    judged = [row["found"] for row in rows if "found" in row]
    counts = [Counter(row["decision"][side] for row in rows) for side in (0, 1)]
    ranks = [row["rank"] for row in rows if "rank" in row]
    return {
        "complete": len(rows),
        "decisions": dict(sorted(moves.items(), key=lambda move: -move[1])),
        "decided": {name: [counts[side][name] for side in (0, 1)] for name in sorted(counts[0] | counts[1])},
        "decision_changed": sum(row["decision"][0] != row["decision"][1] for row in rows),
        "same_sources": _mean([row["same_sources"] for row in rows]),
        "same_words": _mean([row["same_words"] for row in rows]),
        "median_ms": [_median(side) for side in times],
        "golden": len(judged),
        "found": [sum(found[side] for found in judged) for side in (0, 1)],
        "better": sum(found[1] and not found[0] for found in judged),
        "worse": sum(found[0] and not found[1] for found in judged),
        "ranked": len(ranks),
        "among_sources": [sum(rank[side] > 0 for rank in ranks) for side in (0, 1)],
        "mrr": [_mean([1 / rank[side] if rank[side] else 0.0 for rank in ranks]) for side in (0, 1)],
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 3) if values else None


def _median(values: Sequence[int]) -> int | None:
    return sorted(values)[len(values) // 2] if values else None
