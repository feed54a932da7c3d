from django.db import migrations


def one_task(apps, schema_editor):
    tasks = apps.get_model('django_celery_beat', 'PeriodicTask').objects
    tasks.filter(task='chat.tasks.retention_go_on').delete()
    tasks.filter(task='chat.tasks.retention_nightly').update(
        task='ragsite.tasks.retention_nightly',
        description='What is older than the settings RAGSITE_RETENTION_… say. Change the schedule here.',
    )


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0023_settings_in_the_administration'),
        ('django_celery_beat', '0019_alter_periodictasks_options'),
    ]

    operations = [
        migrations.DeleteModel(
            name='RetentionRun',
        ),
        migrations.RunPython(one_task, migrations.RunPython.noop),
    ]
