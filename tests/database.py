"""The migrated database that all tests begin with, made once: migrating takes 14 s of processor time.

It is kept beside pytest's cache (on PostgreSQL: on the server) until a migration or a model changes, so that a run of a
few tests does not wait for it either. Each worker of a run gets a copy, as does the site of the browser tests.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import django
import pytest
from django.apps import apps
from django.conf import settings
from django.core.management.commands import migrate
from django.db import connections
from filelock import FileLock

SQLITE = "template.sqlite3"
MIGRATE = [sys.executable, "manage.py", "migrate", "--run-syncdb", "--verbosity", "0"]
PROJECT_IMPORT = re.compile(r"^\s*(?:from|import) ((?:ragsite|chat|retrieval|feedback)[\w.]*)", re.MULTILINE)


def _version() -> str:
    """Changes with all that decides what a migrated database looks like and holds."""
    told = hashlib.sha256(f"{sys.version_info} {django.__version__}".encode())
    modules = {model.__module__ for model in apps.get_models()}  # permissions and content types are made of them
    for app in apps.get_app_configs():
        for path in sorted(Path(app.path, "migrations").glob("*.py")):
            told.update(str(path).encode() + path.read_bytes())
            modules.update(PROJECT_IMPORT.findall(path.read_text()))
    for name in sorted(modules):
        spec = importlib.util.find_spec(name)
        if spec and spec.origin:
            told.update(name.encode() + Path(spec.origin).read_bytes())
    return told.hexdigest()


def _migrated(url: str, data_dir: Path) -> None:
    """In a process of its own, as on a real site."""
    ours = re.compile(r"RAG|OLLAMA_|MILVUS_|DATABASE_URL|REDIS_URL|GOOGLE_|DJANGO_")
    kept = {name: value for name, value in os.environ.items() if not ours.match(name)}
    environment = kept | {"RAGSITE_DATA_DIR": str(data_dir), "DATABASE_URL": url}
    subprocess.run(MIGRATE, cwd=settings.BASE_DIR, env=environment, check=True)


class MigratedDatabase:
    """Copies of it; `folder` holds the one of SQLite, and the lock under which it is made and copied."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.version = folder, _version()

    @contextmanager
    def sqlite(self) -> Iterator[Path]:
        """Its file, which nobody replaces meanwhile."""
        kept, version = self.folder / SQLITE, self.folder / f"{SQLITE}.version"
        with FileLock(self.folder / "lock"):
            if not kept.exists() or not version.exists() or version.read_text() != self.version:
                version.unlink(missing_ok=True)
                making = self.folder / "making"
                shutil.rmtree(making, ignore_errors=True)
                making.mkdir()
                _migrated(f"sqlite:///{making / SQLITE}", making)
                (making / SQLITE).replace(kept)  # closed by its last connection, so that no part of it is in a WAL
                shutil.rmtree(making)
                version.write_text(self.version)
            yield kept

    @contextmanager
    def postgresql(self, creation: Any) -> Iterator[str]:
        """Its name on the server of this connection; a comment there tells the version."""
        name = f"test_{creation.connection.settings_dict['NAME']}_template"
        quoted = creation.connection.ops.quote_name(name)
        with FileLock(self.folder / "lock"), creation._nodb_cursor() as cursor:
            cursor.execute("SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s", [name])
            if cursor.fetchone() != (self.version,):
                cursor.execute(f"DROP DATABASE IF EXISTS {quoted}")
                cursor.execute(f"CREATE DATABASE {quoted}")
                url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}")
                _migrated(urlunsplit(url), self.folder)
                cursor.execute(f"COMMENT ON DATABASE {quoted} IS '{self.version}'")
            yield name


@pytest.fixture(scope="session")
def migrated_database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> MigratedDatabase:
    cache = getattr(request.config, "cache", None)  # `-p no:cacheprovider`
    return MigratedDatabase(cache.mkdir("database") if cache else tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    django_db_modify_db_settings_parallel_suffix: None,
    django_db_use_migrations: bool,
) -> None:
    """SQLite in a file, as on a real site: threads wait for its lock, where those of a shared memory database fail.

    Where Django makes the test database and then migrates it, it now makes a copy.
    """
    connection = connections["default"]
    test, creation = connection.settings_dict["TEST"], connection.creation
    if sqlite := connection.vendor == "sqlite":
        test["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")
    if not django_db_use_migrations:  # `--no-migrations`
        return
    migrated: MigratedDatabase = request.getfixturevalue("migrated_database")
    create, patch = creation._create_test_db, pytest.MonkeyPatch()

    def copied(verbosity: int, autoclobber: bool, keepdb: bool = False) -> Any:
        if keepdb and not sqlite:  # `--reuse-db`: it may be an older one
            patch.undo()
            return create(verbosity, autoclobber, keepdb)
        patch.setattr(migrate.Command, "handle", lambda *_, **__: patch.undo())  # this once
        if sqlite:
            name = create(verbosity, autoclobber, keepdb)
            with migrated.sqlite() as file:
                shutil.copyfile(file, name)
            return name
        with migrated.postgresql(creation) as template:
            test["TEMPLATE"] = template
            return create(verbosity, autoclobber, keepdb)

    patch.setattr(creation, "_create_test_db", copied)
