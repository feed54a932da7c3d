"""Tables of judges whose words were learned from: nothing reads them any more."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("feedback", "0026_cut_off_rounds_go_on")]

    operations = [migrations.DeleteModel(name="JudgeAgreement"), migrations.DeleteModel(name="JudgeProbe")]
