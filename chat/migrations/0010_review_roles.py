"""The roles of the review desk as groups, and the task that takes in answers from before.

A group of that name that has members already is left as it is: that its members may read conversations is for an
administrator to decide, by giving the group the permissions.
"""

from django.db import migrations

PERMISSIONS = {
    "read_answers": "Can read and mark answers at the review desk",
    "see_names": "Can see at the review desk who asked",
    "export_answers": "Can export answers from the review desk",
    "curate_answers": "Can make golden questions, boosts and curated answers at the review desk",
    "administer_desk": "Can see the log of the review desk, and change settings and experiments there",
}
ROLES = {
    "Reviewers": ["read_answers", "export_answers"],
    "Curators": ["read_answers", "export_answers", "curate_answers"],
    "Administrators": list(PERMISSIONS),
}
TASK = "Take answers in at the review desk"


def make(apps, schema_editor):
    # Django makes permissions after all migrations; those that are there already it leaves as they are.
    content_type, _ = apps.get_model("contenttypes", "ContentType").objects.get_or_create(
        app_label="chat", model="answerreview"
    )
    permissions = {
        codename: apps.get_model("auth", "Permission").objects.get_or_create(
            content_type=content_type, codename=codename, defaults={"name": name}
        )[0]
        for codename, name in PERMISSIONS.items()
    }
    for name, codenames in ROLES.items():
        group, _ = apps.get_model("auth", "Group").objects.get_or_create(name=name)
        if not group.user_set.exists():
            group.permissions.add(*(permissions[codename] for codename in codenames))
    schedule, _ = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=2, period="minutes"
    )
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name=TASK,
        defaults={
            "task": "chat.tasks.answer_reviews_catch_up",
            "interval": schedule,
            "expire_seconds": 120,
            "description": "Answers that ended without a sign, and those from before the desk, get their rows.",
        },
    )


def remove(apps, schema_editor):
    """The groups stay: they may have members."""
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=TASK).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0009_review_search"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(make, remove)]
