"""Rounds are run at night and when a person wants one: what was cut off is done by the next."""

from django.db import migrations


def remove(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(
        task="feedback.tasks.reindex_feedback_resume"
    ).delete()


class Migration(migrations.Migration):
    dependencies = [("feedback", "0035_smaller_gaps")]
    operations = [migrations.RunPython(remove, migrations.RunPython.noop)]
