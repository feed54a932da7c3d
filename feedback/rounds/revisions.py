"""The life of a revision: proposed, held or live, rolled back.

A switch of revisions and the version that tells searches of it are one transaction, so a search works with the one
revision or the other. Nothing here changes a revision's boosts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from feedback.models import Boost, RatedPassage, RatedQuestion, Revision
from feedback.ranking.boosts import DocumentBoost, QueryBoost
from feedback.rounds.deletions import one_at_a_time
from feedback.rounds.live import live_revision, version_bump
from ragsite.core.errors import ConflictError
from ragsite.core.messages import worded
from retrieval.models import Document

KEEP_REVISIONS = 20  # older ones that are not live are deleted
Status = Revision.Status


def revision_create(
    *,
    queries: Sequence[QueryBoost],
    documents: Sequence[DocumentBoost],
    digest: str,
    guard: Mapping[str, Any],
    wordings: Mapping[str, Any],
    summary: Mapping[str, Any],
    by: User | None = None,
) -> Revision:
    """A proposed revision, without boosts on what was deleted meanwhile. Call it inside a transaction that decides on
    it."""
    one_at_a_time()
    newest = Revision.objects.order_by("-number").values_list("number", flat=True).first() or 0
    for waiting in Revision.objects.filter(status__in=(Status.PROPOSED, Status.HELD)):
        _end(
            waiting,
            Status.SUPERSEDED,
            worded("Ranking change {number} replaced it.", number=newest + 1),
        )
    revision = Revision.objects.create(
        number=newest + 1,
        parent=live_revision(),
        digest=digest,
        summary=summary,
        guard=guard,
        wordings=wordings,
        made_by=by,
    )
    document_of = dict(RatedPassage.objects.values_list("pk", "document_id"))
    questions = set(RatedQuestion.objects.values_list("pk", flat=True))
    there = set(
        Document.objects.filter(pk__in={one.document for one in documents}).values_list(
            "pk", flat=True
        )
    )
    rows = [
        Boost(
            revision=revision,
            question_id=boost.question,
            passage_id=boost.passage,
            document_id=document_of[boost.passage],
            multiplier=boost.multiplier,
            raters_up=boost.raters_up,
            raters_down=boost.raters_down,
        )
        for boost in queries
        if boost.passage in document_of and boost.question in questions
    ]
    rows += [
        Boost(
            revision=revision,
            document_id=boost.document,
            multiplier=boost.multiplier,
            raters_up=boost.raters_up,
            raters_down=boost.raters_down,
        )
        for boost in documents
        if boost.document in there
    ]
    Boost.objects.bulk_create(rows, batch_size=1000)
    return revision


@transaction.atomic
def revision_go_live(*, revision: Revision, by: User | None = None, why: str = "") -> Revision:
    """Make it the one that searches use, in spite of the guard where a person says so; the one before is superseded.

    Raises ConflictError for one that is live, was rolled back, or was made before the one that is live now.
    """
    revision = _waiting(revision)
    live = live_revision()
    if live and live.number > revision.number:
        raise ConflictError(
            worded(
                "Ranking change {number} was made before ranking change {live}, which is live; "
                "apply the new ratings again.",
                number=revision.number,
                live=live.number,
            )
        )
    if live:
        _end(
            live,
            Status.SUPERSEDED,
            worded("Ranking change {number} replaced it.", number=revision.number),
        )
    _make_live(revision, by=by, why=why)
    return revision


@transaction.atomic
def revision_hold(*, revision: Revision, why: str) -> Revision:
    """Keep a proposed revision from going live. Raises ConflictError for one that is not waiting."""
    revision = _waiting(revision)
    revision.status = Status.HELD
    revision.reason_set(why)
    revision.save(update_fields=["status", "reason", "wordings"])
    return revision


@transaction.atomic
def revision_roll_back(*, revision: Revision, by: User, why: str = "") -> Revision | None:
    """The live revision's parent takes its place, or no boosts at all. The same boosts do not go live by themselves
    again.

    Returns what is live then. Raises ConflictError where this one is not live.
    """
    one_at_a_time()
    live = live_revision()
    if live is None or live.pk != revision.pk:
        raise ConflictError(worded("Ranking change {number} is not live.", number=revision.number))
    _end(live, Status.ROLLED_BACK, why)
    if live.parent:
        _make_live(
            live.parent,
            by=by,
            why=worded("Ranking change {number} was undone.", number=live.number),
        )
    version_bump()
    return live.parent


def revisions_forget() -> None:
    """Delete revisions beyond the newest KEEP_REVISIONS, never the live one nor its parent."""
    live = live_revision()
    newest = set(Revision.objects.values_list("pk", flat=True)[:KEEP_REVISIONS])
    if live:
        newest |= {live.pk, live.parent_id or live.pk}
    Revision.objects.exclude(pk__in=newest).delete()


def _waiting(revision: Revision) -> Revision:
    """Locked. Raises ConflictError for one that is not proposed or held."""
    one_at_a_time()
    revision.refresh_from_db()
    if revision.status not in (Status.PROPOSED, Status.HELD):
        raise ConflictError(
            worded(
                "Ranking change {number} is {status}; only one that waits can be decided on.",
                number=revision.number,
                status=revision.get_status_display().lower(),
            )
        )
    return revision


def _make_live(revision: Revision, *, by: User | None, why: str) -> None:
    revision.status = Status.LIVE
    revision.live_by = by
    revision.live_at = timezone.now()
    revision.ended_at = None
    revision.reason_set(why)
    revision.save(update_fields=["status", "live_by", "live_at", "ended_at", "reason", "wordings"])
    version_bump()


def _end(revision: Revision, status: str, why: str) -> None:
    revision.status = status
    revision.ended_at = timezone.now()
    revision.reason_set(why)
    revision.save(update_fields=["status", "ended_at", "reason", "wordings"])
