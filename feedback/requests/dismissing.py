"""A reply that a curator gives to nobody else: it no longer waits to become a checked answer, until they say otherwise."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chat.review.roles import DeskAccess
from feedback.curation.gap_selectors import replies_to_check
from feedback.models import GapRequest, KnowledgeGap
from feedback.requests.replying import gap_close_if_done
from ragsite.core.errors import ConflictError
from ragsite.core.messages import worded

NOT_WAITING = worded("This reply does not wait to be checked any more.")


@transaction.atomic
def reply_dismiss(*, access: DeskAccess, gap: KnowledgeGap, request_id: UUID) -> None:
    """Closes the gap where nothing else of it waits. Raises ConflictError."""
    access.require("curate")
    waiting = replies_to_check().filter(gap=gap, pk=request_id).values("pk")
    rows = GapRequest.objects.select_for_update(of=("self",)).filter(pk__in=waiting)
    request = rows.select_related("gap").order_by().first()
    if request is None:
        raise ConflictError(NOT_WAITING)
    request.dismissed_at = timezone.now()
    request.save(update_fields=["dismissed_at"])
    gap_close_if_done(request, by=access.user, at=request.dismissed_at)


@transaction.atomic
def reply_restore(*, access: DeskAccess, gap: KnowledgeGap, request_id: UUID) -> None:
    """It waits again; a gap that was closed with it is open again. Raises ConflictError."""
    access.require("curate")
    rows = GapRequest.objects.select_for_update(of=("self",)).filter(gap=gap, pk=request_id)
    request = rows.order_by().first()
    if request is None or request.dismissed_at is None:
        raise ConflictError(NOT_WAITING)
    closed_with_it = KnowledgeGap.objects.filter(
        pk=gap.pk, state=KnowledgeGap.State.CLOSED, state_at=request.dismissed_at
    )
    closed_with_it.update(
        state=KnowledgeGap.State.OPEN, state_by=access.user, state_at=timezone.now()
    )
    request.dismissed_at = None
    request.save(update_fields=["dismissed_at"])
