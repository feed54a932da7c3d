"""The queue's worst answers to do, without sorting all of them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0019_rollups_of_all_together")]

    operations = [
        migrations.AddIndex(
            model_name="answerreview",
            index=models.Index(fields=["state", "-severity", "-created_at", "-id"], name="review_state_worst"),
        )
    ]
