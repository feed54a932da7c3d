from typing import Any

from django.db import migrations


def forget(apps: Any, schema_editor: Any) -> None:
    """Revisions hold their boosts otherwise from here on: the next round makes the first one, of the same ratings."""
    apps.get_model("feedback", "FeedbackState").objects.update(live=None)
    for name in ("Boost", "Revision", "QuestionPair"):
        apps.get_model("feedback", name).objects.all().delete()
    apps.get_model("feedback", "RatedQuestion").objects.update(compared=False)
    gone = ("reset_document", "reset_rater", "reset_undone", "burst_flagged", "burst_accepted", "burst_rejected")
    events = apps.get_model("feedback", "RevisionEvent").objects
    events.filter(action__in=(*gone, "burst_reopened")).delete()


class Migration(migrations.Migration):
    dependencies = [("feedback", "0031_drop_evaluation")]

    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]
