from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0002_web_sources_and_grounding'),
    ]

    operations = [
        migrations.AddField(
            model_name='message',
            name='run_id',
            field=models.UUIDField(blank=True, editable=False, help_text='Of the run that may write it; empty once it has ended.', null=True),
        ),
    ]
