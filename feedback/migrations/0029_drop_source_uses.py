import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('feedback', '0028_drop_query_moves'),
    ]

    operations = [
        migrations.RunSQL('DELETE FROM feedback_evidence WHERE rating_id IS NULL', migrations.RunSQL.noop),
        migrations.RemoveConstraint(
            model_name='evidence',
            name='evidence_once_per_use_and_passage',
        ),
        migrations.RemoveConstraint(
            model_name='evidence',
            name='evidence_of_a_rating_or_a_use',
        ),
        migrations.RemoveField(
            model_name='evidence',
            name='use',
        ),
        migrations.AlterField(
            model_name='evidence',
            name='rating',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evidence', to='feedback.rating', verbose_name='rating'),
        ),
        migrations.DeleteModel(
            name='SourceUse',
        ),
    ]
