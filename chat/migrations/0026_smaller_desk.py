import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0025_single_replays_alone"), ("feedback", "0036_gaps_without_batches")]

    operations = [
        migrations.DeleteModel(name="AnswerTerms"),
        migrations.DeleteModel(name="SavedView"),
        migrations.RemoveIndex(model_name="replay", name="replay_of_batch"),
        migrations.RemoveField(model_name="replay", name="batch"),
        migrations.DeleteModel(name="ReplayBatch"),
        migrations.RemoveField(model_name="replay", name="golden"),
        migrations.RemoveField(model_name="replay", name="original"),
        migrations.RemoveField(model_name="replay", name="differences"),
        migrations.RemoveIndex(model_name="answerreview", name="review_model"),
        migrations.RemoveIndex(model_name="answerreview", name="review_language"),
        migrations.RemoveIndex(model_name="answerreview", name="review_slowest"),
        migrations.RemoveField(model_name="answerreview", name="language"),
        migrations.AlterField(
            model_name="replay",
            name="message",
            field=models.ForeignKey(
                help_text="The answer that was given.",
                on_delete=django.db.models.deletion.CASCADE,
                related_name="replays",
                to="chat.message",
                verbose_name="message",
            ),
        ),
        migrations.AlterField(
            model_name="replay",
            name="status",
            field=models.CharField(
                choices=[("queued", "Queued"), ("running", "Running"), ("complete", "Complete"), ("failed", "Failed")],
                default="queued",
                max_length=10,
                verbose_name="status",
            ),
        ),
    ]
