"""Saying of a document that it still holds."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from ragsite.core.errors import ConflictError
from retrieval.knowledge.review_dates import months_after, review_date_set
from retrieval.knowledge.services.collections import collection_touch
from retrieval.knowledge.services.documents import SUPERSEDED
from retrieval.models import Document

USUAL_MONTHS = 12  # to the next review, where the collection has no rule


def months_to_next_review(document: Document) -> int:
    """Where nobody says otherwise."""
    return document.collection.review_months or USUAL_MONTHS


@transaction.atomic
def document_reviewed(*, document: Document, by: User, months: int | None = None) -> Document:
    """It still holds, and is to be reviewed again after so many months (1 to MAX_REVIEW_MONTHS); None: as its
    collection says, else USUAL_MONTHS. Raises ConflictError for one that a newer version has replaced."""
    documents = Document.objects.select_for_update(of=("self",)).select_related("collection")
    document = documents.get(pk=document.pk)
    if document.superseded_at is not None:
        raise ConflictError(SUPERSEDED)
    months = months or months_to_next_review(document)
    document.review_by = months_after(timezone.localdate(), months)
    review_date_set(document, document.collection)
    document.reviewed_at = timezone.now()
    document.reviewed_by = by
    document.save(
        update_fields=["review_by", "review_due", "review_notified", "reviewed_at", "reviewed_by"]
    )
    collection_touch(collection_id=document.collection_id)
    return document
