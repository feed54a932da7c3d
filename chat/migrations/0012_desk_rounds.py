"""Tasks of the review desk: open replays are gone on with, and the dashboard's counts follow the answers."""

from django.db import migrations

TASKS = {
    "Go on with replays": ("chat.tasks.replays_work_task", 2, "Replays whose process was stopped, or whose message was lost."),
    "Count answers for the dashboard": ("chat.tasks.rollups_refresh_task", 5, "Days that have new, rated or changed answers."),
}


def make(apps, schema_editor):
    for name, (task, minutes, description) in TASKS.items():
        schedule, _ = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
            every=minutes, period="minutes"
        )
        apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
            name=name,
            defaults={
                "task": task, "interval": schedule, "expire_seconds": 60 * minutes, "description": description,
            },
        )


def remove(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name__in=TASKS).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0011_replays_rollups_experiments"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(make, remove)]
