"""The site's periodic tasks: one row each, whatever an older version or another time zone left behind."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

from ragsite.operations.schedule import INTERVALS, MADE_HERE, NIGHTLY

pytestmark = pytest.mark.django_db
ROUND = "feedback.tasks.reindex_feedback"


def migrate() -> None:
    call_command("migrate", verbosity=0)


def own(task: str = ROUND) -> PeriodicTask:
    return PeriodicTask.objects.get(description=MADE_HERE, task=task)


def test_each_task_has_one_row_however_often_the_site_starts() -> None:
    migrate()
    migrate()
    rows = PeriodicTask.objects.filter(description=MADE_HERE).values_list("name", "task")
    assert sorted(rows) == sorted((name, task) for name, task, *_ in (*INTERVALS, *NIGHTLY))


def test_a_task_that_has_another_name_now_keeps_what_was_changed_of_it() -> None:
    interval = IntervalSchedule.objects.create(every=7, period="hours")
    former = own()
    former.name = "Feedback round"
    former.crontab = None
    former.interval = interval
    former.enabled = False
    former.save()
    migrate()
    row = own()
    assert (row.pk, row.name, row.interval, row.enabled) == (
        former.pk,
        "Apply new ratings",
        interval,
        False,
    )


def test_a_task_that_the_site_has_no_more_goes() -> None:
    interval = IntervalSchedule.objects.create(every=7, period="hours")
    PeriodicTask.objects.create(
        name="Former", task="feedback.tasks.gone", interval=interval, description=MADE_HERE
    )
    migrate()
    assert not PeriodicTask.objects.filter(name="Former").exists()


def test_tasks_that_an_administrator_made_stay() -> None:
    interval = IntervalSchedule.objects.create(every=7, period="hours")
    PeriodicTask.objects.create(name="At noon, too", task=ROUND, interval=interval)
    PeriodicTask.objects.create(
        name="Mine", task="ours.tasks.report", interval=interval, description="Monthly."
    )
    migrate()
    assert PeriodicTask.objects.filter(name__in=("At noon, too", "Mine")).count() == 2
    assert own().name == "Apply new ratings"


def test_a_name_that_an_administrator_has_taken_does_not_keep_the_task_from_running() -> None:
    own().delete()
    interval = IntervalSchedule.objects.create(every=7, period="hours")
    PeriodicTask.objects.create(
        name="Apply new ratings", task="ours.tasks.report", interval=interval
    )
    migrate()
    assert own().enabled
    migrate()
    assert PeriodicTask.objects.filter(task=ROUND).count() == 1


def test_nightly_times_follow_the_time_zone_of_the_site(settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    migrate()
    nightly = PeriodicTask.objects.filter(task__in=[task for _, task, *_ in NIGHTLY])
    assert {str(row.crontab.timezone) for row in nightly} == {"Europe/Berlin"}
    assert CrontabSchedule.objects.filter(hour="3", minute="15").count() == 1


def test_a_time_that_an_administrator_chose_stays(settings: Any) -> None:
    row = own()
    row.crontab = CrontabSchedule.objects.create(hour="2", minute="0", timezone="Asia/Taipei")
    row.save()
    settings.TIME_ZONE = "Europe/Berlin"
    migrate()
    assert own().crontab == row.crontab
