"""Tokens of REST framework's table, which held the keys themselves, and signed-in browsers go on as they were."""

import hashlib

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations
from django.utils import timezone

BATCH = 500


def carry_tokens_over(apps, schema_editor):
    old, new = apps.get_model("authtoken", "Token"), apps.get_model("ragsite", "ApiToken")
    new.objects.bulk_create(
        (
            new(
                user_id=token.user_id,
                prefix=token.key[:8],
                key_hash=hashlib.sha256(token.key.encode()).hexdigest(),
                created_at=token.created,
            )
            for token in old.objects.all()
        ),
        batch_size=BATCH,
    )
    old.objects.all().delete()


def carry_sessions_over(apps, schema_editor):
    old, new = apps.get_model("sessions", "Session"), apps.get_model("ragsite", "AccountSession")
    accounts = {str(pk) for pk in apps.get_model("auth", "User").objects.values_list("pk", flat=True)}
    store = SessionStore()
    rows = []
    for session in old.objects.filter(expire_date__gt=timezone.now()).iterator():
        account_id = store.decode(session.session_data).get(SESSION_KEY)
        if account_id in accounts:
            rows.append(
                new(
                    session_key=session.session_key,
                    session_data=session.session_data,
                    expire_date=session.expire_date,
                    account_id=int(account_id),
                )
            )
    new.objects.bulk_create(rows, batch_size=BATCH)
    old.objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [
        ("ragsite", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("authtoken", "0004_alter_tokenproxy_options"),
        ("sessions", "0001_initial"),
    ]
    operations = [
        migrations.RunPython(carry_tokens_over, migrations.RunPython.noop),
        migrations.RunPython(carry_sessions_over, migrations.RunPython.noop),
    ]
