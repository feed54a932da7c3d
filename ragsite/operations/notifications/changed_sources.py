"""The asker is notified, once for each answer, that a document which it cites has changed since.

The changes are rows, and go when everybody was notified: a worker that was killed is followed by the next one.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone

from chat.models import Message, Source
from chat.selectors import REMEMBERED
from ragsite.models import Notification
from ragsite.operations.notifications.services import notify
from retrieval.knowledge.selectors import visible_documents
from retrieval.knowledge.services.changes import changes_to_notify_of, has_changed
from retrieval.models import DocumentChange

logger = logging.getLogger(__name__)
WITHIN = timedelta(days=90)  # of older answers the sources alone say it
MOST_PEOPLE = 500  # of one change, those who asked last
MOST_ANSWERS = 20_000  # of one change, the newest
CHANGES_AT_ONCE = 50


def changed_sources_notify() -> int:
    """Returns how many notifications were made."""
    made = 0
    for change in changes_to_notify_of()[:CHANGES_AT_ONCE]:
        if has_changed(change):
            made += _notify(change)
        DocumentChange.objects.filter(pk=change.pk, at=change.at).delete()
    return made


def _notify(change: DocumentChange) -> int:
    answers: dict[int, list[UUID]] = {}  # by person, the newest first
    for user_id, message_id in _citing(change)[:MOST_ANSWERS]:
        of_person = answers.setdefault(user_id, [])
        if message_id not in of_person[-1:]:
            of_person.append(message_id)
    if len(answers) > MOST_PEOPLE:
        logger.warning(
            "document %s: %s people cite it, of whom %s are notified that it changed",
            change.document_id,
            len(answers),
            MOST_PEOPLE,
        )
    document = change.document.newer_version or change.document
    made = 0
    for user in User.objects.filter(pk__in=list(answers)[:MOST_PEOPLE]):
        if visible_documents(user).filter(pk=document.pk).exists():
            made += _notify_person(user, answers[user.pk])
    return made


def _citing(change: DocumentChange) -> QuerySet[Source, tuple[int, UUID]]:
    """Person and answer, the newest first: kept, shown, of which nobody was notified yet, and not of the person who
    made the change."""
    sources = Source.objects.filter(
        document_id=change.document_id,
        cited=True,
        message__created_at__gte=timezone.now() - WITHIN,
        message__created_at__lt=change.at,
        message__source_changed_at=None,
        message__superseded=False,
        message__reply_to__superseded=False,
        message__status__in=REMEMBERED,
        message__session__kept=True,
        message__session__user__is_active=True,
    )
    if change.by_id is not None:
        sources = sources.exclude(message__session__user=change.by_id)
    columns = ("message__session__user", "message")
    return sources.order_by("-message__created_at", "message").values_list(*columns)


def _notify_person(user: User, answers: list[UUID]) -> int:
    marked = Message.objects.filter(pk__in=answers, source_changed_at=None).update(
        source_changed_at=timezone.now()
    )
    if marked:
        notify(Notification.Kind.SOURCE_CHANGED, answers[0], [user.pk], {user.pk: marked})
    return 1 if marked else 0
