"""Boosts by hand: staff raise, lower or hide a document or one chunk, at once, until a day."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from feedback.models import ManualBoost
from feedback.rounds.live import version_bump
from ragsite.core.errors import ConflictError
from ragsite.core.messages import worded
from retrieval.models import Document


@transaction.atomic
def manual_boost_set(
    *, document: Document, by: User, chunk_id: UUID | None = None, question: str = "", **effect: Any
) -> ManualBoost:
    """Replaces an earlier one on the same document or chunk, for the same question. question: that alone; empty: every
    one. effect: `multiplier` or `hide`, `why` and `expires_at`."""
    target = {"document": document, "chunk_id": chunk_id, "question": question}
    ManualBoost.objects.filter(**target, ended_at=None).update(ended_at=timezone.now(), ended_by=by)
    boost = ManualBoost.objects.create(**target, created_by=by, **effect)
    version_bump()
    return boost


@transaction.atomic
def manual_boost_end(*, boost: ManualBoost, by: User) -> None:
    """Raises ConflictError when it has ended already."""
    if not ManualBoost.objects.filter(pk=boost.pk, ended_at=None).update(
        ended_at=timezone.now(), ended_by=by
    ):
        raise ConflictError(worded("This rank change has ended already."))
    version_bump()
