from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("feedback", "0014_source_uses")]

    operations = [
        migrations.AddField(
            model_name="goldenquestion",
            name="set_name",
            field=models.CharField(
                blank=True,
                help_text="Questions that are switched, exported and looked at together.",
                max_length=100,
                verbose_name="set",
            ),
        ),
        migrations.AddIndex(
            model_name="goldenquestion",
            index=models.Index(fields=["set_name"], name="feedback_go_set_nam_1fe94d_idx"),
        ),
    ]
