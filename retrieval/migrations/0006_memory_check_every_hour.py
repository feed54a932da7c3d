"""The periodic task that keeps what is remembered, and its index, in order."""

from django.db import migrations

NAME = "Check the memory"


def add(apps, schema_editor):
    schedule, _ = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=1, period="hours"
    )
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name=NAME,
        defaults={
            "task": "retrieval.tasks.memory_check",
            "interval": schedule,
            "expire_seconds": 3600,
            "description": "Condenses facts whose message was lost, and compares the memory's index with the database.",
        },
    )


def remove(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("retrieval", "0005_memory"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(add, remove)]
