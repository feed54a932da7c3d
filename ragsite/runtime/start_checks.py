"""What `manage.py up` checks and makes before anything starts: folders, lock, port, secret key, tables, first login.

Whatever is wrong becomes one sentence for the operator (`StartError`), not a traceback.
"""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
from pathlib import Path

import redis
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from filelock import AcquireReturnProxy, FileLock, Timeout

ADMIN_NAME = "admin"
CONNECT_S = 5.0
START_ONCE = "start the site once with make run"
FOLDERS = ("run", "logs", "uploads", "milvus", "broker/queue", "broker/control")


class StartError(Exception):
    """The site can't start; the message says in one sentence why and what to do."""


def make_folders(data_dir: Path) -> None:
    """Everything that the site keeps on disk lies in these; private to the user who runs it."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data_dir):
            pass
        for name in FOLDERS:
            (data_dir / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StartError(
            f"The data folder {data_dir} cannot be written ({error.strerror}): make it writable, "
            "or set RAGSITE_DATA_DIR to a folder that is."
        ) from error


def claimed_folder(data_dir: Path) -> AcquireReturnProxy:
    """Lock the folder for this instance, for a `with` block; the kernel releases the lock when the process dies."""
    try:
        return FileLock(data_dir / "run" / "up.lock").acquire(timeout=0)
    except Timeout:
        raise StartError(
            f"Ragsite already runs on {data_dir}: use that one, stop it first, "
            "or set RAGSITE_DATA_DIR to another folder."
        ) from None


def check_port(host: str, port: int) -> None:
    """Raises StartError when the web server could not listen there."""
    try:
        family = socket.getaddrinfo(host, port)[0][0]
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise StartError(
            f"Port {port} on {host} cannot be used ({error.strerror}): stop the program that has it, "
            "or set RAGSITE_PORT or RAGSITE_HOST to another one."
        ) from error


def make_secret_key(data_dir: Path) -> None:
    """A key of the folder's own, made once, readable by its owner only."""
    path = data_dir / "secret_key"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(50))


def migrate() -> None:
    """Bring the database up to this version. Raises StartError."""
    try:
        call_command("migrate", interactive=False, verbosity=0)
    except DatabaseError as error:
        raise StartError(
            f"The database cannot be used ({_first_line(error)}): check DATABASE_URL."
        ) from error


def what_the_database_lacks() -> str:
    """Why a command could not use it, in one sentence with what to do; empty where its tables are those of the code."""
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        return f"The database cannot be used ({_first_line(error)}): {START_ONCE}, or check DATABASE_URL."
    return (
        f"The database lacks tables that this version needs: {START_ONCE}, or run manage.py migrate."
        if missing
        else ""
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def check_broker(url: str) -> None:
    """Redis, where one is configured: without it neither web nor worker could do anything."""
    if not url:
        return
    try:
        with redis.from_url(
            url, socket_connect_timeout=CONNECT_S, socket_timeout=CONNECT_S
        ) as client:
            client.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        raise StartError(f"Redis cannot be used ({error}): check REDIS_URL.") from error


def make_admin(password: str) -> str | None:
    """The account `admin`, at the very first run only. Returns the password if it was made up here, to be shown once.

    "" means: made, with the password that was given; None: there were accounts already.
    """
    users = get_user_model().objects
    if users.exists():
        return None
    made_up = "" if password else secrets.token_urlsafe(12)
    users.create_superuser(username=ADMIN_NAME, email="", password=password or made_up)
    return made_up
