"""Accounts by django-allauth: confirmed addresses go on, browsers sign in anew."""

from django.db import migrations
from django.db.models import F


def carry_addresses_over(apps, schema_editor):
    confirmed = apps.get_model("ragsite", "Account").objects.exclude(confirmed_email="")
    addresses = apps.get_model("account", "EmailAddress").objects
    for account in confirmed.filter(user__email__iexact=F("confirmed_email")).order_by("pk"):
        email = account.confirmed_email.lower()
        first = not addresses.filter(email=email).exists()  # two accounts might have one address before
        addresses.create(user_id=account.pk, email=email, verified=first, primary=True)


def forget_waiting_letters(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(task="ragsite.tasks.letters_waiting").delete()


class Migration(migrations.Migration):

    dependencies = [
        ('ragsite', '0011_take_up_letters'),
        ('account', '0009_emailaddress_unique_primary_email'),
        ('sessions', '0001_initial'),
        ('django_celery_beat', '0019_alter_periodictasks_options'),
    ]

    operations = [
        migrations.RunPython(carry_addresses_over, migrations.RunPython.noop),
        migrations.RunPython(forget_waiting_letters, migrations.RunPython.noop),
        migrations.DeleteModel(
            name='AttemptCounter',
        ),
        migrations.DeleteModel(
            name='WaitingLetter',
        ),
        migrations.RemoveIndex(
            model_name='account',
            name='account_by_email',
        ),
        migrations.RemoveField(
            model_name='account',
            name='confirmed_email',
        ),
        migrations.RemoveField(
            model_name='account',
            name='pending_email',
        ),
        migrations.DeleteModel(
            name='AccountSession',
        ),
        migrations.DeleteModel(
            name='KnownOrigin',
        ),
        migrations.RemoveField(
            model_name='personaldatajob',
            name='file',
        ),
    ]
