"""Rounds that were cut off, or whose message was lost, are run within minutes, not the next night."""

from django.db import migrations

NAME = "Go on with feedback rounds"


def add(apps, schema_editor):
    schedule, _ = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=1, period="minutes"
    )
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name=NAME,
        defaults={
            "task": "feedback.tasks.reindex_feedback_resume", "interval": schedule, "expire_seconds": 60,
            "description": "Feedback rounds whose process was stopped, or whose message was lost.",
        },
    )


def remove(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("feedback", "0025_judge_probes"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(add, remove)]
