"""The periodic task that sends letters which were asked for while the broker was away."""

from django.db import migrations

NAME = "Send letters that waited"


def add(apps, schema_editor):
    schedule, _ = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=60, period="seconds"
    )
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name=NAME,
        defaults={
            "task": "ragsite.tasks.letters_waiting",
            "interval": schedule,
            "expire_seconds": 60,
            "description": "Sends e-mails that were asked for while the broker was away.",
        },
    )


def remove(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("ragsite", "0010_waiting_letters"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(add, remove)]
