"""All golden questions are measured every night, where there are any; runs that were broken off are gone on with."""

from django.conf import settings
from django.db import migrations

GO_ON, NIGHTLY = "Go on with evaluations", "Evaluate every night"
STAGES = ["dense", "bm25", "hybrid", "+boosts"]  # none of which asks a model


def make(apps, schema_editor):
    PeriodicTask = apps.get_model("django_celery_beat", "PeriodicTask")
    interval, _ = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=2, period="minutes"
    )
    PeriodicTask.objects.get_or_create(
        name=GO_ON,
        defaults={
            "task": "feedback.tasks.evaluations_work_task", "interval": interval, "expire_seconds": 120,
            "description": "Measurements of search whose process was stopped, or whose message was lost.",
        },
    )
    night, _ = apps.get_model("django_celery_beat", "CrontabSchedule").objects.get_or_create(
        minute="30", hour="4", day_of_week="*", day_of_month="*", month_of_year="*", timezone=settings.TIME_ZONE
    )
    PeriodicTask.objects.get_or_create(
        name=NIGHTLY,
        defaults={
            "task": "feedback.tasks.evaluations_nightly_task", "crontab": night,
            "description": "Measures search on the sets that are to be measured each night. Change the schedule here.",
        },
    )
    apps.get_model("feedback", "EvaluationSet").objects.get_or_create(
        golden="*", defaults={"nightly": True, "stages": STAGES}
    )


def remove(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name__in=[GO_ON, NIGHTLY]).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("feedback", "0020_evaluation"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(make, remove)]
