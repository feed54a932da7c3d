"""The periodic task that takes up exports and deletions of a person's data whose worker died or whose message was lost."""

from django.db import migrations

NAME = "Resume personal data jobs"


def add(apps, schema_editor):
    schedule, _ = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=60, period="seconds"
    )
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name=NAME,
        defaults={
            "task": "ragsite.tasks.personal_data_next",
            "interval": schedule,
            "expire_seconds": 60,
            "description": "Takes up exports and deletions of a person's data whose worker died or whose message was lost.",
        },
    )


def remove(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("ragsite", "0006_account_and_personal_data"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(add, remove)]
