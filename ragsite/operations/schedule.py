"""The periodic tasks that every site has. They are made after each migration where they are not there: what an
administrator changed, or switched off, stays as it is."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate

# What waits longer than its period is of no more use than the next one.
SECONDS = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400}
INTERVALS = (  # name, task, every, period
    ("Resume document ingest", "retrieval.tasks.ingest_resume", 30, "seconds"),
    ("Resume sources", "retrieval.tasks.sync_sources_resume", 60, "seconds"),
    ("Check the index", "retrieval.tasks.index_check", 1, "days"),
    ("Delete files of conversations that never began", "chat.tasks.attachments_sweep_task", 6, "hours"),
    ("Forget conversations that are not kept", "chat.tasks.conversations_forget", 5, "minutes"),
    ("Update the review queue", "chat.tasks.answer_reviews_catch_up", 2, "minutes"),
    ("Process replays", "chat.tasks.replays_work_task", 2, "minutes"),
    ("Tidy accounts", "ragsite.tasks.accounts_tidy", 1, "hours"),
    ("Delete accounts", "ragsite.tasks.deletions_do_task", 60, "seconds"),
    ("Find unanswered questions", "feedback.tasks.gaps_refresh_task", 10, "minutes"),
)
NIGHTLY = (  # name, task, hour, minute
    ("Apply new ratings", "feedback.tasks.reindex_feedback", 3, 15),
    ("Apply retention", "ragsite.tasks.retention_nightly", 4, 20),
)


def connect(app: AppConfig) -> None:
    """Once, when the site starts."""
    post_migrate.connect(_make, sender=app, dispatch_uid="ragsite.operations.schedule")


def _make(using: str, **_: Any) -> None:
    from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

    tasks = PeriodicTask.objects.using(using)
    for name, task, every, period in INTERVALS:
        interval, _made = IntervalSchedule.objects.using(using).get_or_create(every=every, period=period)
        defaults = {"task": task, "interval": interval, "expire_seconds": every * SECONDS[period]}
        tasks.get_or_create(name=name, defaults=defaults)
    for name, task, hour, minute in NIGHTLY:
        crontab, _made = CrontabSchedule.objects.using(using).get_or_create(
            minute=str(minute), hour=str(hour), day_of_week="*", day_of_month="*", month_of_year="*",
            timezone=settings.TIME_ZONE,
        )  # fmt: skip
        tasks.get_or_create(name=name, defaults={"task": task, "crontab": crontab})
