"""The life of a revision: proposed, held or live, rolled back. Every step is audited with who, when and why.

Live is a pointer in `FeedbackState`; switching it and raising its version is one transaction, so a search works with
the one revision or the other. Nothing here changes a revision's content.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from feedback.models import Boost, FeedbackState, Revision, RevisionEvent
from feedback.rounds.bulk_rows import rows_add
from feedback.rounds.live import feedback_state
from feedback.rounds.proposals import Proposal
from ragsite.core.errors import ConflictError
from ragsite.core.wording import worded

KEEP_REVISIONS = 60  # older ones that are not live are deleted
Action = RevisionEvent.Action
BOOST_COLUMNS = (
    "revision", "kind", "change", "document", "passage", "question", "before", "after", "raters_up", "raters_down",
)  # fmt: skip
Status = Revision.Status


def revision_create(
    proposal: Proposal, *, guard: dict[str, Any], summary: dict[str, Any], by: User | None = None
) -> Revision:
    """A proposed revision with its differences from the live one. Call it inside a transaction that decides on it."""
    state = _locked()
    newest = Revision.objects.order_by("-number").values_list("number", flat=True).first() or 0
    revision = Revision.objects.create(
        number=newest + 1,
        parent=state.live,
        content=proposal.content.encode(),
        digest=proposal.content.digest(),
        summary={**summary, **proposal.counts()},
        guard=guard,
        made_by=by,
    )
    document, query = Boost.Kind.DOCUMENT, Boost.Kind.QUERY
    rows = (
        (
            revision.pk, document if change.passage is None else query, change.kind, change.document, change.passage,
            change.question, change.before, change.after, change.raters_up, change.raters_down,
        )
        for change in proposal.changes
    )  # fmt: skip
    rows_add(Boost, BOOST_COLUMNS, rows)
    why = proposal.silenced_text()
    RevisionEvent.log(Action.PROPOSED, revision=revision, by=by, why=why, detail=proposal.counts())
    return revision


@transaction.atomic
def revision_go_live(
    *, revision: Revision, by: User | None = None, why: str = "", action: str = Action.WENT_LIVE
) -> Revision:
    """Make it the one that searches use; the one before is superseded, and so are those that were waiting.

    action: for the log. Raises ConflictError for one that is live, was rolled back, or was made before the one that is
    live now.
    """
    state = _locked()
    revision = Revision.objects.select_for_update().get(pk=revision.pk)
    if revision.status not in (Status.PROPOSED, Status.HELD):
        raise ConflictError(
            worded(
                "Revision {number} is {status}; only one that waits can go live.",
                number=revision.number,
                status=revision.get_status_display().lower(),
            )
        )
    if state.live and state.live.number > revision.number:
        raise ConflictError(
            worded(
                "Revision {number} was made before revision {live}, which is live; run a new round.",
                number=revision.number,
                live=state.live.number,
            )
        )
    _supersede_waiting(revision)
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
        raise ConflictError(
            worded(
                "Revision {number} is {status}; only a proposed one can be held.",
                number=revision.number,
                status=revision.get_status_display().lower(),
            )
        )
    _supersede_waiting(revision)
    revision.status = Status.HELD
    revision.reason_set(why)
    revision.save(update_fields=["status", "reason", "guard"])
    RevisionEvent.log(Action.HELD, revision=revision, by=by, why=why)
    return revision


@transaction.atomic
def revision_roll_back(
    *, by: User, why: str, revision: Revision | None = None, to: Revision | None = None, freeze: bool = True
) -> Revision | None:
    """Take the live revision back, to the one that was live before it, or to `to`. Returns that one; None: no boosts.

    revision: the one to take back; ConflictError when another went live meanwhile. freeze: rounds too, because the next
    one would make the same from the same ratings. Raises ConflictError when nothing is live, or when `to` never was.
    """
    state = _locked()
    live = state.live
    if revision is not None and revision != live:
        raise ConflictError(
            worded("Revision {number} is not live any more; look at the one that is.", number=revision.number)
        )
    if live is None:
        raise ConflictError(worded("No revision is live, so there is nothing to roll back."))
    target = to or _before(live)
    if target is not None and (target.pk == live.pk or target.live_at is None):
        raise ConflictError(
            worded("Revision {number} can't be rolled back to: it is live, or never was.", number=target.number)
        )
    _end(live, Status.ROLLED_BACK, why)
    RevisionEvent.log(
        Action.ROLLED_BACK, revision=live, by=by, why=why, detail={"to": target.number if target else None}
    )
    if target is None:
        FeedbackState.objects.filter(pk=state.pk).update(live=None, version=state.version + 1)
    else:
        _point_at(
            state, target, by=by, why=worded("Rolled back from revision {number}: {why}", number=live.number, why=why)
        )
    if freeze and not state.frozen:
        FeedbackState.objects.filter(pk=state.pk).update(frozen=True)
        RevisionEvent.log(
            Action.FROZEN, by=by, why=worded("Rolled back revision {number}: {why}", number=live.number, why=why)
        )
    return target


def _before(live: Revision) -> Revision | None:
    """The revision that was live before this one, leaving out what was rolled back."""
    earlier = Revision.objects.filter(live_at__isnull=False, live_at__lt=live.live_at)
    return earlier.exclude(status=Status.ROLLED_BACK).exclude(pk=live.pk).order_by("-live_at").first()


@transaction.atomic
def feedback_freeze(*, by: User, why: str, frozen: bool = True) -> bool:
    """Stop rounds from proposing anything, or (`frozen=False`) let them again. False where it was so already."""
    state = _locked()
    if state.frozen == frozen:
        return False
    FeedbackState.objects.filter(pk=state.pk).update(frozen=frozen)
    RevisionEvent.log(Action.FROZEN if frozen else Action.UNFROZEN, by=by, why=why)
    return True


# ------------------------------------------------------------------------------------------------ parts
def _locked() -> FeedbackState:
    feedback_state()
    return FeedbackState.objects.select_for_update(of=("self",)).select_related("live").get(pk=1)


def _point_at(state: FeedbackState, revision: Revision, *, by: User | None, why: str) -> None:
    revision.status, revision.live_at, revision.live_by, revision.ended_at = Status.LIVE, timezone.now(), by, None
    revision.reason_set(why)
    revision.save(update_fields=["status", "live_at", "live_by", "ended_at", "reason", "guard"])
    FeedbackState.objects.filter(pk=state.pk).update(live=revision, version=state.version + 1)


def _supersede_waiting(revision: Revision) -> None:
    """Those before it that nobody has decided on."""
    waiting = Revision.objects.filter(status__in=(Status.PROPOSED, Status.HELD), number__lt=revision.number)
    for row in waiting.defer("content"):
        _end(row, Status.SUPERSEDED, worded("Revision {number} came after it.", number=revision.number))


def _end(revision: Revision, status: str, why: str) -> None:
    """Before another one becomes live: there is only ever one."""
    revision.reason_set(why)
    Revision.objects.filter(pk=revision.pk).update(
        status=status, ended_at=timezone.now(), reason=revision.reason, guard=revision.guard
    )


def revisions_forget() -> int:
    """Delete revisions beyond the newest KEEP_REVISIONS, never the live one. Returns how many."""
    kept = list(Revision.objects.values_list("pk", flat=True)[:KEEP_REVISIONS])
    old = Revision.objects.exclude(pk__in=kept).exclude(status=Revision.Status.LIVE)
    old = old.exclude(pk__in=FeedbackState.objects.exclude(live=None).values("live"))
    return old.delete()[1].get("feedback.Revision", 0)
