"""Conversations of the version before: each question follows the one before it, and answers that reached their length
limit, which were called interrupted, say so."""

from django.db import migrations
from django.db.models import OuterRef, Q, Subquery

CUT = "the answer was cut at its limit of "  # as the model's error said it


def link_questions(apps, schema_editor):
    messages = apps.get_model("chat", "Message").objects
    earlier = Q(created_at__lt=OuterRef("created_at")) | Q(created_at=OuterRef("created_at"), pk__lt=OuterRef("pk"))
    before = messages.filter(earlier, session=OuterRef("session"), role="user").order_by("-created_at", "-pk")
    messages.filter(role="user").update(follows=Subquery(before.values("pk")[:1]))


def name_cut_answers(apps, schema_editor):
    messages = apps.get_model("chat", "Message").objects
    interrupted = messages.filter(status="interrupted").values_list("pk", "degraded")
    cut = [
        pk
        for pk, degraded in interrupted.iterator()
        if any(fell["step"] == "generate" and fell["reason"].startswith(CUT) for fell in degraded)
    ]
    for start in range(0, len(cut), 500):
        messages.filter(pk__in=cut[start : start + 500]).update(status="cut")


def uncut(apps, schema_editor):
    apps.get_model("chat", "Message").objects.filter(status="cut").update(status="interrupted")


class Migration(migrations.Migration):
    dependencies = [("chat", "0005_versions_folders_and_shares")]

    operations = [
        migrations.RunPython(link_questions, migrations.RunPython.noop),
        migrations.RunPython(name_cut_answers, uncut),
    ]
