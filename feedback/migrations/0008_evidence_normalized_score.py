from django.db import migrations, models


class Migration(migrations.Migration):
    """The field has another name in Python; the column stays as it is."""

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
            ],
        ),
    ]
