"""Whose documents are overdue for review is told, once for each document and date."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from ragsite.models import Notification
from ragsite.operations.notifications.services import notify
from retrieval.knowledge.selectors import is_overdue, visible_documents
from retrieval.models import Document

AT_ONCE = 500


def overdue_tell() -> int:
    """Returns how many documents were told of, or have nobody to be told."""
    untold = Document.objects.filter(
        is_overdue(),
        review_told=False,
        status=Document.Status.READY,
        collection__conversation_id=None,
    )
    batch = list(untold.select_related("collection").order_by("review_due", "pk")[:AT_ONCE])
    left = _tell(batch, {one.pk: one.uploaded_by_id for one in batch})
    remaining = [one for one in batch if one.pk in left]
    _tell(remaining, {one.pk: one.collection.owner_id for one in remaining})
    Document.objects.filter(
        pk__in=[one.pk for one in batch], review_due__lt=timezone.localdate()
    ).update(review_told=True)
    return len(batch)


def _tell(documents: Iterable[Document], keepers: dict[UUID, int | None]) -> set[UUID]:
    """Each person once, of all of theirs. Returns the documents whose keeper is none, or may not see them any more."""
    of_person: dict[int, list[UUID]] = defaultdict(list)  # the longest overdue first
    left = set[UUID]()
    for document in documents:
        left.add(document.pk)
        if keeper := keepers[document.pk]:
            of_person[keeper].append(document.pk)
    for user in User.objects.filter(pk__in=of_person, is_active=True):
        own = visible_documents(user).filter(pk__in=of_person[user.pk])
        seen = set(own.values_list("pk", flat=True))
        if not seen:
            continue
        first = next(pk for pk in of_person[user.pk] if pk in seen)
        notify(Notification.Kind.DOCUMENT_OVERDUE, first, [user.pk], {user.pk: len(seen)})
        left -= seen
    return left
