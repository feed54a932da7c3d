"""The life of a revision: proposed, held or live, rolled back. Every step is in the log with who, when and why.

Live is a pointer in `FeedbackState`; switching it and raising its version is one transaction, so a search works with
the one revision or the other. Nothing here changes a revision's boosts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from feedback.models import Boost, FeedbackState, RatedPassage, RatedQuestion, Revision, RevisionEvent
from feedback.ranking.boosts import DocumentBoost, QueryBoost
from feedback.rounds.live import feedback_state
from ragsite.core.errors import ConflictError
from ragsite.core.wording import worded
from retrieval.models import Document

KEEP_REVISIONS = 20  # older ones that are not live are deleted
Action = RevisionEvent.Action
Status = Revision.Status


def revision_create(
    *,
    queries: Sequence[QueryBoost],
    documents: Sequence[DocumentBoost],
    digest: str,
    guard: dict[str, Any],
    summary: dict[str, Any],
    by: User | None = None,
    held: str = "",
) -> Revision:
    """A proposed revision, without boosts on what was deleted meanwhile; held: why it must not go live by itself. Call
    it inside a transaction that decides on it."""
    state = _locked()
    newest = Revision.objects.order_by("-number").values_list("number", flat=True).first() or 0
    for waiting in Revision.objects.filter(status__in=(Status.PROPOSED, Status.HELD)):
        _end(waiting, Status.SUPERSEDED, worded("Revision {number} took its place.", number=newest + 1))
    revision = Revision.objects.create(
        number=newest + 1, parent=state.live, digest=digest, summary=summary, guard=guard, made_by=by
    )
    document_of = dict(RatedPassage.objects.values_list("pk", "document_id"))
    questions = set(RatedQuestion.objects.values_list("pk", flat=True))
    there = set(Document.objects.filter(pk__in={one.document for one in documents}).values_list("pk", flat=True))
    rows = [
        Boost(
            revision=revision, question_id=boost.question, passage_id=boost.passage,
            document_id=document_of[boost.passage], multiplier=boost.multiplier, raters_up=boost.raters_up,
            raters_down=boost.raters_down,
        )
        for boost in queries
        if boost.passage in document_of and boost.question in questions
    ]  # fmt: skip
    rows += [
        Boost(
            revision=revision, document_id=boost.document, multiplier=boost.multiplier, raters_up=boost.raters_up,
            raters_down=boost.raters_down,
        )
        for boost in documents
        if boost.document in there
    ]  # fmt: skip
    Boost.objects.bulk_create(rows, batch_size=1000)
    RevisionEvent.log(Action.PROPOSED, revision=revision, by=by, detail=summary)
    return revision_hold(revision=revision, why=held) if held else revision


@transaction.atomic
def revision_go_live(
    *, revision: Revision, by: User | None = None, why: str = "", action: str = Action.WENT_LIVE
) -> Revision:
    """Make it the one that searches use; the one before is superseded.

    action: for the log. Raises ConflictError for one that is live, was rolled back, or was made before the one that is
    live now.
    """
    state = _locked()
    revision = Revision.objects.select_for_update().get(pk=revision.pk)
    if revision.status not in (Status.PROPOSED, Status.HELD):
        raise _conflict(revision)
    if state.live and state.live.number > revision.number:
        raise ConflictError(
            worded(
                "Revision {number} was made before revision {live}, which is live; run a new round.",
                number=revision.number, live=state.live.number,
            )
        )  # fmt: skip
    if state.live:
        _end(state.live, Status.SUPERSEDED, worded("Revision {number} took its place.", number=revision.number))
    _point_at(state, revision, by=by, why=why)
    RevisionEvent.log(action, revision=revision, by=by, why=why)
    return revision


def revision_release(*, revision: Revision, by: User, why: str = "") -> Revision:
    """Make a held or proposed one live in spite of the guard. Raises as `revision_go_live`."""
    return revision_go_live(revision=revision, by=by, why=why, action=Action.RELEASED)


@transaction.atomic
def revision_hold(*, revision: Revision, by: User | None = None, why: str) -> Revision:
    """Keep a proposed revision from going live. Raises ConflictError for one that is not waiting."""
    _locked()
    revision = Revision.objects.select_for_update().get(pk=revision.pk)
    if revision.status != Status.PROPOSED:
        raise _conflict(revision)
    revision.status = Status.HELD
    revision.reason_set(why)
    revision.save(update_fields=["status", "reason", "guard"])
    RevisionEvent.log(Action.HELD, revision=revision, by=by, why=why)
    return revision


@transaction.atomic
def revision_roll_back(*, revision: Revision, by: User, why: str = "") -> Revision | None:
    """The live revision's parent takes its place, or no boosts at all. The same boosts do not go live by themselves
    again.

    Returns what is live then. Raises ConflictError where this one is not live.
    """
    state = _locked()
    live = state.live
    if live is None or live.pk != revision.pk:
        raise ConflictError(worded("Revision {number} is not live.", number=revision.number))
    parent = live.parent
    _end(live, Status.ROLLED_BACK, why)
    _point_at(state, parent, by=by, why=worded("Revision {number} was rolled back.", number=live.number))
    RevisionEvent.log(Action.ROLLED_BACK, revision=live, by=by, why=why)
    return parent


def revisions_forget() -> int:
    """Delete revisions beyond the newest KEEP_REVISIONS, never the live one nor its parent. Returns how many."""
    live = feedback_state().live
    kept = [*Revision.objects.values_list("pk", flat=True)[:KEEP_REVISIONS]]
    kept += [key for key in (live and live.pk, live and live.parent_id) if key]
    return Revision.objects.exclude(pk__in=kept).delete()[1].get("feedback.Revision", 0)


def _locked() -> FeedbackState:
    feedback_state()
    return FeedbackState.objects.select_for_update(of=("self",)).select_related("live").get(pk=1)


def _point_at(state: FeedbackState, revision: Revision | None, *, by: User | None, why: str) -> None:
    if revision is not None:
        revision.status, revision.live_by, revision.live_at, revision.ended_at = Status.LIVE, by, timezone.now(), None
        revision.reason_set(why)
        revision.save(update_fields=["status", "live_by", "live_at", "ended_at", "reason", "guard"])
    state.live = revision
    state.version += 1
    state.save(update_fields=["live", "version"])


def _end(revision: Revision, status: str, why: str) -> None:
    revision.status, revision.ended_at = status, timezone.now()
    revision.reason_set(why)
    revision.save(update_fields=["status", "ended_at", "reason", "guard"])


def _conflict(revision: Revision) -> ConflictError:
    return ConflictError(
        worded(
            "Revision {number} is {status}; only one that waits can be decided on.",
            number=revision.number, status=revision.get_status_display().lower(),
        )
    )  # fmt: skip
