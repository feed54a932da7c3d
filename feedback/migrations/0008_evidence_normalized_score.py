from django.db import migrations, models


class Migration(migrations.Migration):
    """Another name in Python and another help text; the tables stay as they are."""

    dependencies = [
        ("feedback", "0007_evidence_standing"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField(model_name="evidence", old_name="standing", new_name="normalized_score"),
                migrations.AlterField(
                    model_name="evidence",
                    name="normalized_score",
                    field=models.FloatField(blank=True, db_column="standing", null=True),
                ),
                migrations.AlterField(
                    model_name="passagesketch",
                    name="hashes",
                    field=models.BinaryField(help_text="The smallest hashes of its shingles, little-endian uint32."),
                ),
            ],
        ),
    ]
