from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0004_assistants_with_own_collections'),
    ]

    operations = [
        migrations.AddField(
            model_name='starterlook',
            name='asked_as',
            field=models.UUIDField(null=True),
        ),
    ]
