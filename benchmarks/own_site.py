"""An empty site of a benchmark's own, in a folder and, where wanted, a database on a PostgreSQL server; and users."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

# Code for `manage.py shell`, which prints a token of each.
MAKE_USERS = """
import uuid
from django.contrib.auth.models import User
from ragsite.accounts.tokens import token_create
for number in range({count}):
    print(token_create(user=User.objects.create_user(f"reader-{{uuid.uuid4().hex}}")))
"""


@contextmanager
def a_database(server: str) -> Iterator[str]:
    """The URL of a database of our own on that PostgreSQL server; empty for SQLite in the site's folder."""
    if not server:
        yield ""
        return
    import psycopg

    name = f"ragsite_benchmark_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
    try:
        yield server.rsplit("/", 1)[0] + f"/{name}"
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")  # type: ignore[arg-type]


def set_up(folder: str, database: str) -> None:
    """Django, on an empty site in this folder; child processes see the same."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "ragsite.settings",
        "RAGSITE_DATA_DIR": folder,
        "DATABASE_URL": database,
        "REDIS_URL": "",
        "MILVUS_URI": "",
        "RAG_OFFLINE": "1",
        "RAG_WEB_SEARCH": "",
    }
    import django
    from django.core.management import call_command

    django.setup()
    from retrieval.engine.search.milvus import connection

    connection.TIMEOUT_S = 120.0  # a busy machine
    call_command("migrate", verbosity=0)
