from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("feedback", "0006_passage_sketch"),
    ]

    operations = [
        migrations.AddField(
            model_name="evidence",
            name="standing",
            field=models.FloatField(blank=True, null=True),
        ),
    ]
