from django.db import migrations


def forget_tasks(apps, schema_editor):
    tasks = ["feedback.tasks.evaluations_work_task", "feedback.tasks.evaluations_nightly_task"]
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(task__in=tasks).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('feedback', '0030_drop_passage_sketches'),
        ('django_celery_beat', '0019_alter_periodictasks_options'),
    ]

    operations = [
        migrations.RunPython(forget_tasks, migrations.RunPython.noop),
        migrations.DeleteModel(
            name='EvaluationOutcome',
        ),
        migrations.DeleteModel(
            name='EvaluationQuestion',
        ),
        migrations.DeleteModel(
            name='EvaluationRun',
        ),
        migrations.DeleteModel(
            name='EvaluationSet',
        ),
    ]
