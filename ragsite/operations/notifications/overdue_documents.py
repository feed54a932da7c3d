"""People are notified that documents of theirs are overdue for review, once for each document and date."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from ragsite.models import Notification
from ragsite.operations.notifications.services import notify
from retrieval.knowledge.selectors import is_overdue, visible_documents
from retrieval.models import Document

MOST = 20_000  # documents of one run, those that wait longest; the next run goes on
AT_ONCE = 500


def overdue_notify() -> int:
    """Returns how many documents, those included that nobody is notified of."""
    waiting = Document.objects.filter(
        is_overdue(),
        review_notified=False,
        status=Document.Status.READY,
        collection__conversation_id=None,
    )
    columns = ("pk", "uploaded_by", "collection__owner")
    rows = list(waiting.order_by("review_due", "pk").values_list(*columns)[:MOST])
    left = _notify([pk for pk, _, _ in rows], {pk: uploader for pk, uploader, _ in rows})
    _notify([pk for pk, _, _ in rows if pk in left], {pk: owner for pk, _, owner in rows})
    for keys in _pieces([pk for pk, _, _ in rows]):
        # One that has got a later date meanwhile waits for that.
        Document.objects.filter(pk__in=keys, review_due__lt=timezone.localdate()).update(
            review_notified=True
        )
    return len(rows)


def _notify(documents: Sequence[UUID], keepers: Mapping[UUID, int | None]) -> set[UUID]:
    """Each person once, of all of theirs. Returns the documents whose keeper is none, or may not see them any more."""
    of_person: dict[int, list[UUID]] = defaultdict(list)  # the longest overdue first
    left = set(documents)
    for document in documents:
        if keeper := keepers[document]:
            of_person[keeper].append(document)
    for user in User.objects.filter(pk__in=of_person, is_active=True):
        seen = set[UUID]()
        for keys in _pieces(of_person[user.pk]):
            seen.update(visible_documents(user).filter(pk__in=keys).values_list("pk", flat=True))
        if seen:
            first = next(pk for pk in of_person[user.pk] if pk in seen)
            notify(Notification.Kind.DOCUMENT_OVERDUE, first, [user.pk], {user.pk: len(seen)})
            left -= seen
    return left


def _pieces(keys: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    for start in range(0, len(keys), AT_ONCE):
        yield keys[start : start + AT_ONCE]
