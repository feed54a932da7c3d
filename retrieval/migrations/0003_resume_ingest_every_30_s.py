"""The periodic task that takes up documents whose worker died or whose message was lost."""

from django.db import migrations

NAME = "Resume document ingest"


def add(apps, schema_editor):
    schedule, _ = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=30, period="seconds"
    )
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name=NAME,
        defaults={
            "task": "retrieval.tasks.ingest_resume",
            "interval": schedule,
            # One that waited longer than its period is of no more use than the next.
            "expire_seconds": 30,
            "description": "Takes up documents whose worker died or whose message was lost.",
        },
    )


def remove(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("retrieval", "0002_job_waits"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(add, remove)]
