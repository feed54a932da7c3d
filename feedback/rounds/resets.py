"""Resets: what was said of a document, or by a rater, up to now counts no more. The ratings stay; audited."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from feedback.models import Evidence, RevisionEvent
from feedback.rounds.evidence import evidence_gather
from feedback.rounds.round import RoundOutcome, feedback_round
from ragsite.core.errors import ConflictError
from retrieval.models import Document


def reset_document(*, document: Document, by: User, why: str) -> RoundOutcome:
    """Discard all evidence on a document, then run a round that draws the consequence.

    The round's outcome may be that the guard holds it, that rounds are frozen, or that one is running already; what was
    discarded stays so for the next.
    """
    return _reset(by=by, why=why, document=document)


def reset_rater(*, rater: User, by: User, why: str) -> RoundOutcome:
    """The same for all that one user has said."""
    return _reset(by=by, why=why, rater=rater)


def _reset(*, by: User, why: str, document: Document | None = None, rater: User | None = None) -> RoundOutcome:
    evidence_gather()  # what was rated but not drawn yet is meant as well
    with transaction.atomic():
        rows = Evidence.objects.filter(discarded_by=None)
        rows = rows.filter(passage__document=document) if document else rows.filter(voter=rater)
        event = RevisionEvent.objects.create(
            action=RevisionEvent.Action.RESET_DOCUMENT if document else RevisionEvent.Action.RESET_RATER,
            document_id=document.pk if document else None,
            rater=rater,
            by=by,
            why=why[:500],
        )
        event.detail = {"evidence": rows.update(discarded_by=event)}
        event.save(update_fields=["detail"])
    return feedback_round(by=by)


def reset_undo(*, reset: RevisionEvent, by: User, why: str) -> RoundOutcome:
    """Count again what a reset discarded and is still there, then run a round. Raises ConflictError where that is
    nothing."""
    with transaction.atomic():
        count = Evidence.objects.filter(discarded_by=reset).update(discarded_by=None)
        if not count:
            raise ConflictError("Nothing of this reset is discarded any more.")
        RevisionEvent.objects.create(
            action=RevisionEvent.Action.RESET_UNDONE,
            document_id=reset.document_id,
            rater=reset.rater,
            by=by,
            why=why[:500],
            detail={"evidence": count},
        )
    return feedback_round(by=by)
