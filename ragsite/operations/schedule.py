"""The periodic tasks that every site has, brought up to date after each migration.

What an administrator changed of one, or switched off, stays as it is, and so do the tasks that administrators made. One
of the site's own is known by its description, and which one it is by what it runs: a new name replaces the former one,
and what this version runs no more is removed. Nightly tasks keep to the time zone of the site.
"""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db import transaction
from django.db.models.signals import post_migrate

MADE_HERE = "Made by Ragsite, and kept up to date by it."
# What waits longer than its period is of no more use than the next one.
SECONDS = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400}
INTERVALS = (  # name, task, every, period
    ("Resume document ingest", "retrieval.tasks.ingest_resume", 30, "seconds"),
    ("Resume sources", "retrieval.tasks.sync_sources_resume", 60, "seconds"),
    ("Check the index", "retrieval.tasks.index_check", 1, "days"),
    (
        "Delete files of conversations that never began",
        "chat.tasks.attachments_sweep_task",
        6,
        "hours",
    ),
    ("Forget conversations that are not kept", "chat.tasks.conversations_forget", 5, "minutes"),
    ("Update the review queue", "chat.tasks.answer_reviews_catch_up", 2, "minutes"),
    ("Find questions to start with", "chat.tasks.starters_make_task", 10, "minutes"),
    ("Process replays", "chat.tasks.replays_work_task", 2, "minutes"),
    ("Tidy accounts", "ragsite.tasks.accounts_tidy", 1, "hours"),
    ("Delete accounts", "ragsite.tasks.deletions_do_task", 60, "seconds"),
    ("Find unanswered questions", "feedback.tasks.gaps_refresh_task", 10, "minutes"),
    ("See which questions are answered now", "feedback.tasks.gap_results_take_task", 30, "seconds"),
    ("Tell of changed documents", "ragsite.tasks.changed_sources_notify_task", 60, "seconds"),
    ("Tell of overdue reviews", "ragsite.tasks.overdue_notify_task", 1, "hours"),
    ("Go on with imports", "feedback.tasks.curation_imports_work", 60, "seconds"),
    ("Send notifications by e-mail", "ragsite.tasks.notifications_email_task", 60, "seconds"),
)
NIGHTLY = (  # name, task, hour, minute
    ("Apply new ratings", "feedback.tasks.reindex_feedback", 3, 15),
    ("Apply retention", "ragsite.tasks.retention_nightly", 4, 20),
)


def connect(app: AppConfig) -> None:
    """Once, when the site starts."""
    post_migrate.connect(_update, sender=app, dispatch_uid="ragsite.operations.schedule")


@transaction.atomic
def _update(using: str, **_: Any) -> None:
    from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

    tasks = PeriodicTask.objects.using(using)
    run_today = [task for _name, task, *_times in (*INTERVALS, *NIGHTLY)]
    for row in tasks.filter(description=MADE_HERE).exclude(task__in=run_today):
        row.delete()
    for name, task, every, period in INTERVALS:
        interval, _made = IntervalSchedule.objects.using(using).get_or_create(
            every=every, period=period
        )
        _own_row(tasks, name, task, interval=interval, expire_seconds=every * SECONDS[period])
    crontabs = CrontabSchedule.objects.using(using)
    for name, task, hour, minute in NIGHTLY:
        at_this_time = crontabs.filter(
            minute=str(minute), hour=str(hour), day_of_week="*", day_of_month="*", month_of_year="*"
        )
        crontab = at_this_time.filter(timezone=settings.TIME_ZONE).first()
        if crontab is None:
            crontab = crontabs.create(
                minute=str(minute), hour=str(hour), timezone=settings.TIME_ZONE
            )
        row = _own_row(tasks, name, task, crontab=crontab)
        former = row.crontab
        if former != crontab and former in at_this_time:  # of another zone, which the site had
            row.crontab = crontab
            row.save()
            if not former.periodictask_set.exists():
                former.delete()


def _own_row(tasks: Any, name: str, task: str, **when: Any) -> Any:
    """The site's row of this task, under its name of today. when: of a new one."""
    row = (
        tasks.filter(description=MADE_HERE, task=task).first()
        or tasks.filter(name=name, task=task).first()
    )
    if row is None:
        row = tasks.model(task=task, description=MADE_HERE, **when)
    is_taken = tasks.filter(name=name).exclude(pk=row.pk).exists()
    title = f"{name} ({task})" if is_taken else name
    if row.name != title or not row.description:
        row.name = title
        row.description = row.description or MADE_HERE
        row.save(using=tasks.db)
    return row
