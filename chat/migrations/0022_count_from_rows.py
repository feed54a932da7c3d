from django.db import migrations, models

FIGURES = ('first_token_ms', 'llm_calls', 'llm_rounds', 'prompt_tokens', 'completion_tokens')
BATCH = 2000


def fill(apps, schema_editor):
    reviews = apps.get_model('chat', 'AnswerReview').objects
    after = 0
    while rows := list(reviews.filter(pk__gt=after).select_related('message').only('message__usage').order_by('pk')[:BATCH]):
        after = rows[-1].pk
        for row in rows:
            for name in FIGURES:
                value = (row.message.usage or {}).get(name)
                setattr(row, name, value if isinstance(value, int) and 0 <= value < 2**31 else None)
        reviews.bulk_update(rows, FIGURES, batch_size=200)


def forget_task(apps, schema_editor):
    tasks = apps.get_model('django_celery_beat', 'PeriodicTask').objects
    tasks.filter(task='chat.tasks.rollups_refresh_task').delete()


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0021_drop_experiments'),
        ('django_celery_beat', '0019_alter_periodictasks_options'),
    ]

    operations = [
        migrations.DeleteModel(
            name='AnswerRollup',
        ),
        migrations.DeleteModel(
            name='AskerDay',
        ),
        migrations.DeleteModel(
            name='DocumentRollup',
        ),
        migrations.DeleteModel(
            name='RollupDay',
        ),
        migrations.AddField(
            model_name='answerreview',
            name='first_token_ms',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='first token ms'),
        ),
        migrations.AddField(
            model_name='answerreview',
            name='llm_calls',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='model calls'),
        ),
        migrations.AddField(
            model_name='answerreview',
            name='llm_rounds',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='rounds'),
        ),
        migrations.AddField(
            model_name='answerreview',
            name='prompt_tokens',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='tokens read'),
        ),
        migrations.AddField(
            model_name='answerreview',
            name='completion_tokens',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='tokens written'),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunPython(forget_task, migrations.RunPython.noop),
    ]
