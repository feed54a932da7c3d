from django.db import migrations


def name_permission(apps, schema_editor):
    """Django makes permissions that are missing, and leaves the names of the others."""
    permissions = apps.get_model('auth', 'Permission').objects.filter(content_type__app_label='chat')
    permissions.filter(codename='administer_desk').update(name='Can see the log of the review desk')


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0022_count_from_rows'),
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.RunPython(name_permission, migrations.RunPython.noop),
        migrations.AlterModelOptions(
            name='answerreview',
            options={'default_permissions': (), 'ordering': ('-created_at', '-id'), 'permissions': [('read_answers', 'Can read and mark answers at the review desk'), ('see_names', 'Can see at the review desk who asked'), ('export_answers', 'Can export answers from the review desk'), ('curate_answers', 'Can make golden questions, boosts and curated answers at the review desk'), ('administer_desk', 'Can see the log of the review desk')], 'verbose_name': 'reviewed answer', 'verbose_name_plural': 'reviewed answers'},
        ),
    ]
