"""An SQLite file on which all migrations have run, to copy: running them takes five seconds of a processor.

It stays between runs, under a name made of the migrations and of Django's version. What follows each `migrate`
(permissions, groups, schedules) is not in it, so whoever takes a copy still calls that command, which is quick then.
"""

from __future__ import annotations

import hashlib
import inspect
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from filelock import FileLock

FOLDER = Path(__file__).resolve().parent.parent / ".pytest_cache" / "migrated"
KEPT_S = 7 * 24 * 3600  # since a run has used it


@pytest.fixture(scope="session")
def migrated_database(django_db_blocker: Any, django_db_use_migrations: bool) -> Path | None:
    """The file; None where tests run on another database, or on tables without migrations."""
    if connection.vendor != "sqlite" or not django_db_use_migrations:
        return None
    path = FOLDER / f"{_digest()}.sqlite3"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with FileLock(FOLDER / "lock"), django_db_blocker.unblock():  # workers begin at once
        if not path.exists():
            _migrate(path)
        path.touch()
        for unused in _unused():
            unused.unlink()
    return path


def _digest() -> str:
    digest = hashlib.sha256(django.__version__.encode())
    migrations = MigrationLoader(None).disk_migrations
    for key in sorted(migrations):
        digest.update(Path(inspect.getfile(type(migrations[key]))).read_bytes())
    return digest.hexdigest()


def _migrate(path: Path) -> None:
    before = connection.settings_dict["NAME"]
    growing = path.with_suffix(".growing")
    whole = path.with_suffix(".whole")
    for left_behind in (growing, whole):
        left_behind.unlink(missing_ok=True)
    connection.close()
    connection.settings_dict["NAME"] = str(growing)
    try:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(whole)])  # what is in its log, too
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before
    whole.rename(path)
    growing.unlink()


def _unused() -> Iterator[Path]:
    long_ago = time.time() - KEPT_S
    for path in FOLDER.glob("*.sqlite3"):
        if path.stat().st_mtime < long_ago:
            yield path
