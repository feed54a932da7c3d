"""How far the reading of new documents is: for the chat, which says so, and for `make run`."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Min, QuerySet

from retrieval.knowledge.selectors import default_collections
from retrieval.models import Document, IngestJob

MOST_LINKS = 50  # of a chain of jobs that is followed back


@dataclass(frozen=True, slots=True)
class ReadingProgress:
    """Documents that came in since nothing was left to be read: how many, and how many of them are ready."""

    total: int
    done: int


def reading_progress(*, user: User | AnonymousUser | None) -> ReadingProgress:
    """Of the collections that a question of the user searches which names none; 0 of 0 where all has been read."""
    documents = Document.objects.filter(collection__in=default_collections(user).values("pk"))
    return _progress(documents)


def reading_progress_of_all() -> ReadingProgress:
    """For commands, whose caller owns the machine."""
    return _progress(Document.objects.all())


def _progress(documents: QuerySet[Document]) -> ReadingProgress:
    unread = documents.filter(status__in=Document.BEING_READ)
    left = unread.count()
    if not left:
        return ReadingProgress(0, 0)
    since = unread.aggregate(first=Min("created_at"))["first"]
    jobs = IngestJob.objects.filter(document__in=documents)
    for _ in range(
        MOST_LINKS
    ):  # a job that ended after `since` and began before it belongs to the same run of work
        earlier = jobs.filter(finished_at__gte=since, created_at__lt=since).aggregate(
            first=Min("created_at")
        )["first"]
        if earlier is None:
            break
        since = earlier
    done = (
        documents.filter(status=Document.Status.READY, jobs__finished_at__gte=since)
        .distinct()
        .count()
    )
    return ReadingProgress(total=left + done, done=done)
