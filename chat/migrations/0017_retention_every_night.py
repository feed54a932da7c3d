"""What is older than the site keeps it is deleted once a night; a run that was broken off is gone on with."""

from django.conf import settings
from django.db import migrations

NIGHTLY, GO_ON = "Delete what is over", "Go on deleting what is over"


def make(apps, schema_editor):
    task = apps.get_model("django_celery_beat", "PeriodicTask")
    crontab, _ = apps.get_model("django_celery_beat", "CrontabSchedule").objects.get_or_create(
        minute="20", hour="4", day_of_week="*", day_of_month="*", month_of_year="*", timezone=settings.TIME_ZONE
    )
    task.objects.get_or_create(
        name=NIGHTLY,
        defaults={
            "task": "chat.tasks.retention_nightly",
            "crontab": crontab,
            "expire_seconds": 3600,
            "description": "What is older than RAGSITE_RETENTION says. Change the schedule here.",
        },
    )
    interval, _ = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=10, period="minutes"
    )
    task.objects.get_or_create(
        name=GO_ON,
        defaults={
            "task": "chat.tasks.retention_go_on",
            "interval": interval,
            "expire_seconds": 600,
            "description": "A nightly run whose process was stopped, or whose message was lost.",
        },
    )


def remove(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name__in=[NIGHTLY, GO_ON]).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0016_retention"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(make, remove)]
