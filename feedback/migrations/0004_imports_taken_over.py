from django.db import migrations

STEPS = 100


def take_over(apps, schema_editor):
    """What was imported can still be taken back, and what waits is checked again, which makes its parts."""
    CurationImport = apps.get_model('feedback', 'CurationImport')
    CurationImportPart = apps.get_model('feedback', 'CurationImportPart')
    CurationImport.objects.filter(state__in=('ready', 'writing')).update(state='checking', done=0)
    for row in CurationImport.objects.filter(state='done').iterator(10):
        parts = [CurationImportPart(of=row, start=0, lines=row.total, wrong=row.wrong)]
        for place, start in enumerate(range(0, len(row.undo), STEPS), 1):
            steps = [{**step, 'by': None} for step in row.undo[start : start + STEPS]]
            parts.append(
                CurationImportPart(
                    of=row, start=row.total + place, lines=0, undo=steps, written=len(steps)
                )
            )
        CurationImportPart.objects.bulk_create(parts)


class Migration(migrations.Migration):

    dependencies = [
        ('feedback', '0003_imports_in_parts'),
    ]

    operations = [
        migrations.RunPython(take_over, migrations.RunPython.noop),
    ]
