"""Replays as people at the desk order and watch them. A worker answers them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chat import labels
from chat.feedback import get_feedback
from chat.models import Replay
from chat.review.records import ended_answers
from chat.review.replay.replay_run import NO_REVISION, OPEN, replay_lease, replay_run
from chat.review.roles import DeskAccess
from ragsite.core.database import database_call
from ragsite.core.errors import ConflictError, NotFoundError
from ragsite.core.leases import Lease, run_out
from ragsite.core.messages import worded, wordings_of
from ragsite.core.queueing import enqueue
from retrieval.compose import Engine, with_engine
from retrieval.engine.ports import ModelStatus

MAX_OPEN = 1_000  # replays of one person that have not ended
TASK = "chat.tasks.replays_work_task"
REVISIONS_OFFERED = 30
LATEST = 10
LOST = worded("The replay was interrupted. Try again.")


class TooManyReplaysError(ConflictError):
    message = worded("Too many of your replays are still running. Wait until they finish.")


# ------------------------------------------------------------------------------------------------ order
def model_status() -> ModelStatus:
    async def status(engine: Engine) -> ModelStatus:
        return await engine.models.status()

    return with_engine(status)


def revisions_offered() -> Sequence[Any]:
    return get_feedback().revisions(limit=REVISIONS_OFFERED)


def replays_create(
    *, access: DeskAccess, message_ids: Sequence[UUID], change: Mapping[str, Any]
) -> list[Replay]:
    """Of these answers, in this order; those that have not ended, or have no question any more, are left out.

    Raises NotFoundError where none is left, TooManyReplaysError.
    """
    return replays_order(by=access.user, message_ids=message_ids, change=change)


@transaction.atomic
def replays_order(
    *, by: User, message_ids: Sequence[UUID], change: Mapping[str, Any]
) -> list[Replay]:
    """The same for somebody without the desk, who sees no more of it than whether it answers: the caller knows that
    they may have these questions asked again."""
    ended = ended_answers().filter(reply_to__isnull=False)
    found = ended.select_related("reply_to").in_bulk(list(message_ids))
    answers = [found[pk] for pk in message_ids if pk in found]
    if not answers:
        raise NotFoundError
    if Replay.objects.filter(made_by=by, status__in=OPEN).count() + len(answers) > MAX_OPEN:
        raise TooManyReplaysError
    replays = Replay.objects.bulk_create(
        Replay(
            message=answer,
            question=answer.reply_to.text,  # type: ignore[union-attr]
            change=dict(change),
            made_by=by,
        )
        for answer in answers
    )
    transaction.on_commit(replays_queue)
    return replays


# ------------------------------------------------------------------------------------------------ work
def replays_queue() -> None:
    """A worker continues with what is open."""
    enqueue(TASK)


async def replays_work(*, within_s: float) -> bool:
    """Answer open replays one after the other, the oldest first. Whether some were left when the time was over."""
    until = monotonic() + within_s
    while monotonic() < until:
        lease = await database_call(_take_next)
        if lease is None:
            return False
        await replay_run(lease)
    return await database_call(Replay.objects.filter(run_out(), status__in=OPEN).exists)


def _take_next() -> Lease | None:
    """The oldest; one whose process was killed has failed."""
    Replay.objects.filter(run_out(), status=Replay.Status.RUNNING).update(
        status=Replay.Status.FAILED,
        error={"code": "internal", "content": LOST},
        wordings=wordings_of(LOST),
        finished_at=timezone.now(),
    )
    waiting = Replay.objects.filter(status=Replay.Status.QUEUED).order_by("created_at", "id")
    leases = map(replay_lease, waiting.values_list("pk", flat=True)[:20])
    return next((lease for lease in leases if lease.take(status=Replay.Status.RUNNING)), None)


# ------------------------------------------------------------------------------------------------ read
def replay_get(replay_id: UUID) -> Replay:
    """Raises NotFoundError."""
    replay = Replay.objects.select_related("made_by").filter(pk=replay_id).first()
    if replay is None:
        raise NotFoundError
    return replay


def replays_latest(*, most: int = LATEST, **where: Any) -> list[dict[str, Any]]:
    """Of an answer, or of all: what was asked, what was done otherwise, and what came of it."""
    replays = (
        Replay.objects.filter(**where)
        .defer("result", "wordings")
        .select_related("message__reply_to", "made_by")
    )
    return [
        {
            "id": replay.pk,
            "question": replay.message.reply_to.text
            if replay.message and replay.message.reply_to
            else "–",
            "by": replay.made_by.username if replay.made_by else "–",
            "made_at": replay.created_at,
            "change": change_words(replay.change),
            "status": replay.get_status_display(),
            "decisions": [
                labels.label(labels.DECISIONS, name) if name else "–"
                for name in replay.summary.get("decision", ())
            ],
        }
        for replay in replays.order_by("-created_at", "id")[:most]
    ]


def change_words(change: Mapping[str, Any]) -> list[str]:
    """What is done otherwise, for people."""
    words: list[str] = []
    if workflow := change.get("workflow"):
        words.append(_("workflow {name}").format(name=labels.workflow_label(workflow)))
    if model := change.get("model"):
        words.append(_("model {name}").format(name=model))
    if revision := change.get("revision"):
        words.append(
            _("without rating effects")
            if revision == NO_REVISION
            else _("ranking change {name}").format(name=revision[:8])
        )
    for name, value in change.get("options", {}).items():
        shown = value if not isinstance(value, bool) else _("on") if value else _("off")
        words.append(f"{option_label(name)}: {shown}")
    if "filters" in change:
        filters = ", ".join(
            labels.filter_words(name, value) for name, value in change["filters"].items()
        )
        words.append(
            _("filters {names}").format(names=filters) if filters else _("without filters")
        )
    return words or [_("nothing changed")]


def option_label(name: str) -> str:
    """Of a question's option."""
    if name == "top_k":
        return _("Passages given to the model")
    return labels.label(labels.STEPS, "assess" if name == "judge" else name)
