import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("feedback", "0012_raters"),
    ]

    operations = [
        migrations.CreateModel(
            name="PassageVector",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("embedding_model", models.CharField(max_length=200)),
                ("embedding_dim", models.PositiveIntegerField()),
                ("vector", models.BinaryField()),
                (
                    "passage",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="vectors",
                        to="feedback.ratedpassage",
                    ),
                ),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(
                fields=("passage", "embedding_model", "embedding_dim"), name="passage_vector_per_space"
            ),
                ],
            },
        ),
    ]
