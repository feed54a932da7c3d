import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("feedback", "0005_words_for_people"),
    ]

    operations = [
        migrations.CreateModel(
            name="PassageSketch",
            fields=[
                (
                    "passage",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="sketch",
                        serialize=False,
                        to="feedback.ratedpassage",
                    ),
                ),
                ("hashes", models.BinaryField(help_text="By feedback.text_overlap.")),
            ],
        ),
    ]
