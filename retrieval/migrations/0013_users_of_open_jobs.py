"""Open jobs get the user whose turn they take: who uploaded the document, else its collection's owner."""

from django.db import migrations
from django.db.models import OuterRef, Subquery
from django.db.models.functions import Coalesce


def name_users(apps, schema_editor):
    documents = apps.get_model("retrieval", "Document").objects.filter(pk=OuterRef("document"))
    users = documents.values(job_user=Coalesce("uploaded_by", "collection__owner"))
    jobs = apps.get_model("retrieval", "IngestJob").objects
    jobs.filter(state__in=["waiting", "running"], user=None).update(user=Subquery(users))


class Migration(migrations.Migration):
    dependencies = [("retrieval", "0012_ingest_job_user")]
    operations = [migrations.RunPython(name_users, migrations.RunPython.noop)]
