"""Groups that users kept go, since without their keeper they would count as the administrators' own; the index is
compared once a day, as every comparison is a whole one."""

from django.db import migrations


def change(apps, schema_editor):
    apps.get_model("auth", "Group").objects.filter(kept__isnull=False).delete()
    daily, _ = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(every=1, period="days")
    tasks = apps.get_model("django_celery_beat", "PeriodicTask").objects
    tasks.filter(name="Check the index").update(interval=daily, expire_seconds=86_400)


class Migration(migrations.Migration):
    dependencies = [
        ("retrieval", "0023_turns_by_running_documents"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(change, migrations.RunPython.noop)]
