"""Replays of golden questions and cancelled ones go; so does the index of words that a search was looked up in."""

from django.db import migrations
from django.db.models import Q


def drop(apps, schema_editor):
    apps.get_model("chat", "Replay").objects.filter(Q(message=None) | Q(status="cancelled")).delete()
    if schema_editor.connection.vendor == "sqlite":
        for trigger in ("inserted", "deleted", "updated"):
            schema_editor.execute(f"DROP TRIGGER IF EXISTS chat_answerterms_{trigger}")
        schema_editor.execute("DROP TABLE IF EXISTS chat_answerterms_fts")


class Migration(migrations.Migration):
    dependencies = [("chat", "0024_retention_by_settings")]
    operations = [migrations.RunPython(drop)]
