"""The periodic task that compares the index with the database, also where nothing starts for weeks."""

from django.db import migrations

NAME = "Check the index"


def add(apps, schema_editor):
    schedule, _ = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=1, period="hours"
    )
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name=NAME,
        defaults={
            "task": "retrieval.tasks.index_check",
            "interval": schedule,
            "expire_seconds": 3600,
            "description": "Compares the index with the database, and writes what is missing.",
        },
    )


def remove(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("retrieval", "0021_index_work_is_remembered"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(add, remove)]
