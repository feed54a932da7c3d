"""Resets: the votes on a document, or by a rater, up to now are discarded. The ratings stay. Audited."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from feedback.models import Evidence, RevisionEvent, SetAsideVote
from feedback.rounds.deletions import deletions_wait
from feedback.rounds.evidence import evidence_gather
from feedback.rounds.queueing import round_queue_or_run
from feedback.rounds.round import RoundOutcome
from ragsite.core.errors import ConflictError
from ragsite.core.wording import worded
from retrieval.models import Document

Action = RevisionEvent.Action


def reset_document(*, document: Document, by: User, why: str) -> RoundOutcome:
    """Discard all evidence on a document, and have a worker run a round without it (`round_queue_or_run`).

    The round may hold its revision, find rounds frozen, or find one that is running already: then a later one works
    without the evidence.
    """
    evidence_gather(which=Q(message__sources__document_id=document.pk))
    return _reset(Action.RESET_DOCUMENT, {"passage__document": document}, by=by, why=why, document_id=document.pk)


def reset_rater(*, rater: User, by: User, why: str) -> RoundOutcome:
    """The same for all that one user has rated."""
    evidence_gather(which=Q(user=rater))
    return _reset(Action.RESET_RATER, {"voter": rater}, by=by, why=why, rater=rater)


def _reset(action: str, which: dict[str, Any], **fields: Any) -> RoundOutcome:
    """What was rated before is discarded too where its evidence was not drawn yet; the callers have done that."""
    with transaction.atomic():
        deletions_wait()
        event = RevisionEvent.log(action, **fields)
        event.detail = {"evidence": Evidence.objects.filter(discarded_by=None, **which).update(discarded_by=event)}
        event.save(update_fields=["detail"])
    return round_queue_or_run(by=fields["by"])


def reset_undo(*, reset: RevisionEvent, by: User, why: str) -> RoundOutcome:
    """Count again what a reset discarded, and have a worker run a round. Raises ConflictError where nothing of it is
    left."""
    with transaction.atomic():
        deletions_wait()
        count = Evidence.objects.filter(discarded_by=reset).update(discarded_by=None)
        count += SetAsideVote.objects.filter(discarded_by=reset).update(discarded_by=None)
        SetAsideVote.objects.filter(discarded_by=None, burst=None).delete()
        if not count:
            raise ConflictError(worded("Nothing of this reset is discarded any more."))
        about = {"document_id": reset.document_id, "rater": reset.rater}
        RevisionEvent.log(Action.RESET_UNDONE, by=by, why=why, detail={"evidence": count}, **about)
    return round_queue_or_run(by=by)
