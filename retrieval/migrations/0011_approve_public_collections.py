"""Public collections of the site, of staff and of holders of the new permission stay in everybody's searches.

Those of other users stay public: they can be named and are listed, but a question that names none leaves them out.
"""

from django.db import migrations
from django.db.models import Q


def approve(apps, schema_editor):
    permission = {"content_type__app_label": "retrieval", "codename": "publish_collection"}
    holders = apps.get_model("auth", "Permission").objects.filter(**permission)
    trusted = apps.get_model("auth", "User").objects.filter(
        Q(is_staff=True)
        | Q(is_superuser=True)
        | Q(user_permissions__in=holders)
        | Q(groups__permissions__in=holders)
    )
    collections = apps.get_model("retrieval", "Collection").objects.filter(visibility="public")
    collections.filter(Q(owner=None) | Q(owner__in=trusted.values("pk"))).update(approved=True)


class Migration(migrations.Migration):
    dependencies = [
        ("retrieval", "0010_collection_approved"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]
    operations = [migrations.RunPython(approve, migrations.RunPython.noop)]
