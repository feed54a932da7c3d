from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('retrieval', '0003_resume_ingest_every_30_s'),
    ]

    operations = [
        migrations.AddField(
            model_name='chunk',
            name='embedded',
            field=models.BooleanField(default=False, help_text='The vector in Milvus, if one is there, is that of its present text and title.'),
        ),
    ]
