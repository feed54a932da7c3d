"""The periodic task that deletes files of conversations which were never begun."""

from django.db import migrations

NAME = "Delete files of conversations that never began"


def add(apps, schema_editor):
    schedule, _ = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(every=6, period="hours")
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name=NAME,
        defaults={
            "task": "chat.tasks.attachments_sweep_task",
            "interval": schedule,
            "expire_seconds": 3600,
            "description": "Files are attached before the first question; where none followed for two days, they go.",
        },
    )


def remove(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0006_questions_follow_each_other"),
        ("retrieval", "0015_collection_of_conversation"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(add, remove)]
