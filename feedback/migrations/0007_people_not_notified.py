from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('feedback', '0006_import_state_label'),
    ]

    operations = [
        migrations.AddField(
            model_name='gaprequest',
            name='not_notified',
            field=models.PositiveIntegerField(null=True),
        ),
    ]
