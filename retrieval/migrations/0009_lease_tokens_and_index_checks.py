from django.db import migrations, models

TOKEN = {
    "field": models.UUIDField(
        blank=True, editable=False, help_text="Of the holder; new at each take.", null=True
    ),
    "name": "lease_token",
}


class Migration(migrations.Migration):
    """What is held while the site is upgraded stays held until its time is over; then it is taken with a token."""

    dependencies = [
        ("retrieval", "0008_chunk_size"),
    ]

    operations = [
        migrations.CreateModel(
            name="IndexCheck",
            fields=[
                (
                    "space",
                    models.CharField(
                        help_text="Its name in Milvus.", max_length=255, primary_key=True, serialize=False
                    ),
                ),
                (
                    "history",
                    models.CharField(
                        help_text="Of Milvus' data: another one after what may have cost rows.", max_length=255
                    ),
                ),
                ("checked_at", models.DateTimeField()),
            ],
        ),
        migrations.AddField(model_name="ingestjob", **TOKEN),
        migrations.AddField(model_name="writelease", **TOKEN),
        migrations.RenameField(model_name="writelease", old_name="expires_at", new_name="lease_expires_at"),
        migrations.AlterField(
            model_name="writelease",
            name="lease_expires_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="ingestjob",
            name="holder",
            field=models.CharField(blank=True, help_text="Host and process, for people.", max_length=100),
        ),
        migrations.AlterField(
            model_name="writelease",
            name="holder",
            field=models.CharField(help_text="Host and process, for people.", max_length=100),
        ),
    ]
