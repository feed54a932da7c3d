"""Boosts by hand: staff raise, lower or hide a document or one chunk, at once, until a day. Audited."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from feedback.models import ManualBoost, RevisionEvent
from feedback.ranking.same_question import MAX_CHARS
from feedback.rounds.live import version_bump
from ragsite.core.errors import ConflictError, InvalidInputError
from ragsite.core.text import clean_text
from ragsite.core.wording import worded
from retrieval.models import Chunk, Document

MIN_MULTIPLIER, MAX_MULTIPLIER = 0.5, 2.0


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
    question: str = "",
) -> ManualBoost:
    """Replaces an earlier one on the same document or chunk, for the same question. question: that alone, and the same
    in nearly the same words (`feedback.ranking.same_question`); empty: every question.

    Raises InvalidInputError.
    """
    question = " ".join(clean_text(question).split())
    fields: dict[str, list[str]] = {}
    if not MIN_MULTIPLIER <= multiplier <= MAX_MULTIPLIER:
        fields["multiplier"] = [
            worded("From {least} to {most}.", least=f"{MIN_MULTIPLIER:g}", most=f"{MAX_MULTIPLIER:g}")
        ]
    if not why.strip():
        fields["why"] = [worded("Say why.")]
    if expires_at is not None and expires_at <= timezone.now():
        fields["expires_at"] = [worded("This moment has passed.")]
    if chunk_id is not None and not Chunk.objects.filter(pk=chunk_id, document=document).exists():
        fields["chunk_id"] = [worded("The document has no such chunk.")]
    if len(question) > MAX_CHARS:
        fields["question"] = [worded("Use at most {most} characters.", most=MAX_CHARS)]
    if not hide and multiplier == 1.0:
        fields.setdefault("multiplier", [worded("1 changes nothing; choose another, or hide it.")])
    if fields:
        raise InvalidInputError(fields=fields)
    earlier = ManualBoost.objects.filter(document=document, chunk_id=chunk_id, question=question, ended_at=None)
    earlier.update(ended_at=timezone.now(), ended_by=by)
    boost = ManualBoost.objects.create(
        document=document,
        chunk_id=chunk_id,
        multiplier=multiplier,
        hide=hide,
        why=why.strip()[:500],
        created_by=by,
        expires_at=expires_at,
        question=question,
    )
    _logged(RevisionEvent.Action.MANUAL_SET, boost, by, boost.why)
    return boost


@transaction.atomic
def manual_boost_end(*, boost: ManualBoost, by: User, why: str = "") -> ManualBoost:
    """Raises ConflictError when it has ended already."""
    if not ManualBoost.objects.filter(pk=boost.pk, ended_at=None).update(ended_at=timezone.now(), ended_by=by):
        raise ConflictError(worded("This boost has ended already."))
    boost.refresh_from_db()
    _logged(RevisionEvent.Action.MANUAL_ENDED, boost, by, why)
    return boost


def _logged(action: str, boost: ManualBoost, by: User, why: str) -> None:
    chunk = str(boost.chunk_id or "")
    detail = {"manual_boost": str(boost.pk), "chunk_id": chunk, "multiplier": boost.multiplier, "hide": boost.hide}
    if boost.question:
        detail["question"] = boost.question
    RevisionEvent.log(action, document_id=boost.document_id, by=by, why=why, detail=detail)
    version_bump()
