from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ragsite", "0014_personal_data_without_states")]

    operations = [migrations.RemoveField(model_name="account", name="theme")]
