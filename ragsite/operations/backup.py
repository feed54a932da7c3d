"""A backup of the whole site as a folder, made while it runs, and a site made of it: `manage.py backup` and `restore`.

The folder holds `backup.json`, the database as its own tool writes it (SQLite's backup, `pg_dump`), the uploaded files
under their names, and the secret key where the data folder has it. The index is filled from the database. What is to
come to another database or version goes by `site_transfer`. Temporary conversations are in the database's copy, as its
tool takes the whole; their files are not, and a restored site has none of them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import connection
from django.db.backends.postgresql.client import DatabaseClient
from django.db.models import Q
from django.utils import timezone

from chat.models import Session
from ragsite.runtime import presence, start_checks
from retrieval.models import Collection, Document

KIND = {"kind": "ragsite backup", "format": 1}
ABOUT = "backup.json"
DATABASES = {"sqlite": "database.sqlite3", "postgresql": "database.dump"}
KEY = "secret_key"
UPLOADS = "uploads"
UNFINISHED = ".unfinished"
NAMED_BY = "%Y-%m-%dT%H-%M-%SZ"
COPIED_BYTES = 1024 * 1024
ROWS_AT_ONCE = 500
_TEMPORARY = Q(expires_at__isnull=False)
TOOL_S = 6 * 3600  # that pg_dump or pg_restore may take
logger = logging.getLogger(__name__)


class BackupError(Exception):
    """Nothing was written, or the site is as it was; the message says in one sentence what to do."""


@dataclass(slots=True)
class Backup:
    """folder: where it lies. documents: whose files are in it. gone: titles of those whose files were not there."""

    folder: Path
    documents: int = 0
    gone: list[str] = field(default_factory=list)


# ------------------------------------------------------------------------------------------------ out
def backup_make(parent: Path, *, uploads: bool = True) -> Backup:
    """One more below `parent`, named by its time in UTC; whole, or not there. uploads: with the files.

    Files that the backup before it has are linked, not copied. Raises BackupError, UploadsAwayError.
    """
    earlier = backups_in(parent)
    now = timezone.now()
    backup = Backup(parent / now.strftime(NAMED_BY))
    work = backup.folder.with_name(backup.folder.name + UNFINISHED)
    try:
        work.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise BackupError(f"{work} cannot be made ({error.strerror}).") from error
    try:
        before = earlier[-1] / UPLOADS if earlier else None
        if uploads:
            _files_copy(
                work / UPLOADS, before, backup
            )  # most of them, so that the last look is short
        _database_dump(work)
        if uploads:
            _files_copy(work / UPLOADS, before, backup)
        _key_copy(work)
        about = KIND | {
            "version": settings.SPECTACULAR_SETTINGS["VERSION"],
            "made_at": now.isoformat(),
            "database": connection.vendor,
            "uploads": uploads,
            "key": presence.facts()["key"],
        }
        (work / ABOUT).write_text(json.dumps(about, indent=2))
        work.rename(backup.folder)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return backup


def backups_in(parent: Path) -> list[Path]:
    """The finished ones, the oldest first."""
    if not parent.is_dir():
        return []
    return sorted(
        path.parent
        for path in parent.glob(f"*/{ABOUT}")
        if not path.parent.name.endswith(UNFINISHED)
    )


def backups_prune(parent: Path, *, keep: int) -> list[Path]:
    """Delete all but the newest, and what broke off. Returns what is gone."""
    finished = backups_in(parent)
    old = [*finished[: max(0, len(finished) - keep)], *parent.glob(f"*{UNFINISHED}")]
    for folder in old:
        shutil.rmtree(folder)
    return old


def _files_copy(folder: Path, before: Path | None, backup: Backup) -> None:
    """Those of the documents that there are now, as far as the folder lacks them."""
    backup.documents = 0
    backup.gone.clear()
    of_temporary = Session.objects.filter(_TEMPORARY).values("pk")
    documents = Document.objects.exclude(file="").exclude(
        collection__conversation_id__in=of_temporary
    )
    documents = documents.order_by("pk").only("title", "file")
    for document in documents.iterator(chunk_size=ROWS_AT_ONCE):
        name = str(document.file.name)
        to = folder / name
        backup.documents += 1
        if to.exists():
            continue
        to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if before is not None and (before / name).is_file():
            os.link(before / name, to)
            continue
        try:
            with default_storage.open(name) as content, to.open("xb") as copy:
                shutil.copyfileobj(content, copy, COPIED_BYTES)
        except FileNotFoundError:
            backup.documents -= 1
            backup.gone.append(f"{document.title} ({document.pk})")


def _database_dump(folder: Path) -> None:
    """Raises BackupError."""
    to = folder / DATABASES[connection.vendor]
    if connection.vendor == "postgresql":
        arguments, environment = _tool_arguments()
        options = ["--format=custom", "--no-owner", "--no-privileges", f"--file={to}"]
        _run(["pg_dump", *options, *arguments], environment)
        return
    connection.ensure_connection()
    copy = sqlite3.connect(to)
    try:
        connection.connection.backup(copy)
    finally:
        copy.close()


def _key_copy(folder: Path) -> None:
    """The key of the data folder; one that the environment has is the operator's to keep."""
    key = settings.DATA_DIR / KEY
    if not settings.SITE.secret_key and key.is_file():
        shutil.copyfile(key, folder / KEY)
        (folder / KEY).chmod(0o600)


# ------------------------------------------------------------------------------------------------ in
def backup_restore(folder: Path) -> list[str]:
    """Make an empty site the one of a backup; the database comes last, so that what breaks off can be done again.

    Returns what is amiss, in sentences. Raises BackupError, UploadsAwayError, StartError.
    """
    about = _about(folder)
    if _is_filled():
        raise BackupError(
            "This site is not empty: set RAGSITE_DATA_DIR, DATABASE_URL and RAGSITE_UPLOADS to a new one."
        )
    digests = dict(_files_restore(folder / UPLOADS))
    _database_restore(folder)
    connection.close()
    start_checks.migrate()
    Session.objects.filter(_TEMPORARY).delete()
    return [*_amiss_in_files(digests, about), *_key_restore(folder, about)]


def _about(folder: Path) -> dict[str, Any]:
    """Raises BackupError."""
    try:
        about: dict[str, Any] = json.loads((folder / ABOUT).read_text())
    except (OSError, ValueError) as error:
        raise BackupError(f"{folder} is no backup: {ABOUT} cannot be read.") from error
    if about.get("kind") != KIND["kind"] or about.get("format") != KIND["format"]:
        raise BackupError(f"{folder} is of another kind or version.")
    if about["database"] != connection.vendor:
        raise BackupError(
            f"The backup is of {about['database']}, and DATABASE_URL names {connection.vendor}: restore it on the "
            "former, then use export_site and import_site."
        )
    return about


def _is_filled() -> bool:
    tables = connection.introspection.table_names()
    return User._meta.db_table in tables and (User.objects.exists() or Collection.objects.exists())


def _files_restore(folder: Path) -> Iterator[tuple[str, str]]:
    """Puts each where it was. Gives its name and the SHA-256 of what was read."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
            content.seek(0)
            default_storage.delete(name)  # of a restore that broke off
            default_storage.save(name, File(content))
        yield name, digest


def _database_restore(folder: Path) -> None:
    """All of it or nothing. Raises BackupError."""
    dump = folder / DATABASES[connection.vendor]
    if not dump.is_file():
        raise BackupError(f"{dump.name} is missing in {folder}.")
    if connection.vendor == "postgresql":
        connection.close()
        arguments, environment = _tool_arguments()
        database = arguments.pop()
        options = [
            "--clean",
            "--if-exists",
            "--no-owner",
            "--no-privileges",
            "--single-transaction",
            "--exit-on-error",
        ]
        _run(["pg_restore", *options, *arguments, f"--dbname={database}", str(dump)], environment)
        return
    copy = sqlite3.connect(f"{dump.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        if copy.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise BackupError(f"{dump} is damaged; nothing was restored.")
        connection.ensure_connection()
        copy.backup(connection.connection)
    except sqlite3.DatabaseError as error:
        raise BackupError(f"{dump} is damaged; nothing was restored. ({error})") from error
    finally:
        copy.close()


def _amiss_in_files(digests: dict[str, str], about: dict[str, Any]) -> Iterator[str]:
    if not about["uploads"]:
        return
    documents = (
        Document.objects.exclude(file="").order_by("pk").only("title", "file", "content_hash")
    )
    for document in documents.iterator(chunk_size=ROWS_AT_ONCE):
        digest = digests.get(str(document.file.name))
        if digest is None:
            yield f"The file of {document.title} ({document.pk}) was not in the backup."
        elif digest != document.content_hash:
            yield f"The file of {document.title} ({document.pk}) is not the one that was uploaded."


def _key_restore(folder: Path, about: dict[str, Any]) -> Iterator[str]:
    if (folder / KEY).is_file() and not settings.SITE.secret_key:
        key = settings.DATA_DIR / KEY
        shutil.copyfile(folder / KEY, key)
        key.chmod(0o600)
    elif presence.facts()["key"] != about["key"]:
        yield "The site had another RAGSITE_SECRET_KEY: shared links and stored credentials need that one."


# ------------------------------------------------------------------------------------------------ PostgreSQL's tools
def _tool_arguments() -> tuple[list[str], dict[str, str]]:
    """What says where the database is, its name last; and the environment, which holds the password."""
    arguments, environment = DatabaseClient.settings_to_cmd_args_env(connection.settings_dict, [])
    return list(arguments[1:]), {**os.environ, **(environment or {})}


def _run(command: Sequence[str], environment: dict[str, str]) -> None:
    """Raises BackupError with the last line that it wrote."""
    try:
        done = subprocess.run(  # noqa: S603 -- our own words, and the operator's address of the database
            command, env=environment, capture_output=True, text=True, timeout=TOOL_S, check=False
        )
    except FileNotFoundError as error:
        raise BackupError(f"{command[0]} is not installed (Debian: postgresql-client).") from error
    except subprocess.TimeoutExpired as error:
        raise BackupError(f"{command[0]} did not end within {TOOL_S // 3600} hours.") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        logger.error("%s: %s", command[0], done.stderr)
        raise BackupError(f"{command[0]} failed: {lines[-1]}")
