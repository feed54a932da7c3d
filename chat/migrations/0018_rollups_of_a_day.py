"""Some days of the dashboard are read by all collections at once: by their day first."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0017_retention_every_night")]
    operations = [
        migrations.AddIndex(
            model_name="answerrollup",
            index=models.Index(fields=["day", "collection"], name="rollup_day_collection"),
        ),
    ]
