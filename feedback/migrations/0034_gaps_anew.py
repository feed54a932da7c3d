from django.db import migrations


class Migration(migrations.Migration):
    """Knowledge gaps are rows of another form: they are found anew, of the same unanswered questions."""

    dependencies = [("feedback", "0033_smaller_rounds")]

    operations = [
        migrations.DeleteModel("GapEvent"),
        migrations.DeleteModel("GapRun"),
        migrations.DeleteModel("GapDocument"),
        migrations.DeleteModel("GapQuestion"),
        migrations.DeleteModel("KnowledgeGap"),
    ]
