"""The periodic task that deletes expired sessions, and what the limits on guessing count no longer."""

from django.db import migrations

NAME = "Tidy accounts"


def add(apps, schema_editor):
    schedule, _ = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=1, period="hours"
    )
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name=NAME,
        defaults={
            "task": "ragsite.tasks.accounts_tidy",
            "interval": schedule,
            "expire_seconds": 3600,
            "description": "Deletes expired sessions, and attempts to sign in that count no longer.",
        },
    )


def remove(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("ragsite", "0002_carry_tokens_and_sessions_over"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(add, remove)]
