"""The periodic round of the feedback loop; when it runs can be changed in the admin."""

from django.conf import settings
from django.db import migrations

NAME = "Feedback round"


def add(apps, schema_editor):
    schedule, _ = apps.get_model("django_celery_beat", "CrontabSchedule").objects.get_or_create(
        minute="15", hour="3", day_of_week="*", day_of_month="*", month_of_year="*", timezone=settings.TIME_ZONE
    )
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name=NAME,
        defaults={
            "task": "feedback.tasks.reindex_feedback",
            "crontab": schedule,
            "description": "Turns new ratings into boosts, once a night. Change the schedule here.",
        },
    )


def remove(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("feedback", "0003_passage_without_place"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(add, remove)]
