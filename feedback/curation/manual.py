"""Boosts by hand: a document or one chunk lifted, lowered or hidden, at once and until a day. Audited."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from feedback.models import ManualBoost, RevisionEvent
from feedback.rounds.live import version_bump
from ragsite.core.errors import ConflictError, InvalidInputError
from retrieval.models import Chunk, Document


@transaction.atomic
def manual_boost_set(
    *,
    document: Document,
    by: User,
    why: str,
    chunk_id: UUID | None = None,
    multiplier: float = 1.0,
    hide: bool = False,
    expires_at: datetime | None = None,
) -> ManualBoost:
    """In place of an earlier one on the same document or chunk. multiplier: 0.5–2. Raises InvalidInputError."""
    fields: dict[str, list[str]] = {}
    if not 0.5 <= multiplier <= 2.0:
        fields["multiplier"] = ["From 0.5 to 2."]
    if not why.strip():
        fields["why"] = ["Say why."]
    if expires_at is not None and expires_at <= timezone.now():
        fields["expires_at"] = ["This moment has passed."]
    if chunk_id is not None and not Chunk.objects.filter(pk=chunk_id, document=document).exists():
        fields["chunk_id"] = ["The document has no such chunk."]
    if not hide and multiplier == 1.0:
        fields.setdefault("multiplier", ["1 changes nothing; choose another, or hide it."])
    if fields:
        raise InvalidInputError(fields=fields)
    _in_force(document, chunk_id).update(ended_at=timezone.now(), ended_by=by)
    boost = ManualBoost.objects.create(
        document=document,
        chunk_id=chunk_id,
        multiplier=multiplier,
        hide=hide,
        why=why.strip()[:500],
        created_by=by,
        expires_at=expires_at,
    )
    _told(RevisionEvent.Action.MANUAL_SET, boost, by, boost.why)
    return boost


@transaction.atomic
def manual_boost_end(*, boost: ManualBoost, by: User, why: str = "") -> ManualBoost:
    """Raises ConflictError when it has ended already."""
    if not ManualBoost.objects.filter(pk=boost.pk, ended_at=None).update(ended_at=timezone.now(), ended_by=by):
        raise ConflictError("This boost has ended already.")
    boost.refresh_from_db()
    _told(RevisionEvent.Action.MANUAL_ENDED, boost, by, why)
    return boost


def _in_force(document: Document, chunk_id: UUID | None) -> QuerySet[ManualBoost]:
    return ManualBoost.objects.filter(document=document, chunk_id=chunk_id, ended_at=None)


def _told(action: str, boost: ManualBoost, by: User, why: str) -> None:
    RevisionEvent.objects.create(
        action=action,
        document_id=boost.document_id,
        by=by,
        why=why[:500],
        detail={
            "manual_boost": str(boost.pk),
            "chunk_id": str(boost.chunk_id or ""),
            "multiplier": boost.multiplier,
            "hide": boost.hide,
        },
    )
    version_bump()
