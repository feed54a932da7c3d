"""Lets a dry run do all that a round does, while the database is only read.

For as long as `private_copy()` lasts, temporary tables of the same names stand before the feedback's own on this
thread's connection, on SQLite as on PostgreSQL: what is written goes there, and goes away with them. No lock of the
real tables is held meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.core.management.color import no_style
from django.db import Error, OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Model

# A temporary table can't refer to one that is not; the rows are copies, so that all they refer to is there.
REFERENCE = re.compile(r'\bREFERENCES "\w+" ?\("\w+"\)( DEFERRABLE INITIALLY DEFERRED)?', re.IGNORECASE)


@contextmanager
def private_copy() -> Iterator[None]:
    """For one thread's work on the feedback's tables. Raises OperationalError should the connection be lost."""
    connection.ensure_connection()
    models = list(apps.get_app_config("feedback").get_models(include_auto_created=True))
    models = [model for model in models if not model._meta.proxy and model._meta.managed]
    with _no_write_lock(), connection.execute_wrapper(_only_on(connection.connection)):
        try:
            with transaction.atomic():
                _copy(models)
            yield
        finally:
            _drop([model._meta.db_table for model in models])


def _copy(models: list[type[Model]]) -> None:
    copy_all = _copy_postgresql if connection.vendor == "postgresql" else _copy_sqlite
    with connection.cursor() as cursor:
        copy_all(cursor, [model._meta.db_table for model in models])
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


def _copy_postgresql(cursor: CursorWrapper, tables: list[str]) -> None:
    if not connection.savepoint_ids:  # in no other transaction: all tables as they were at one moment
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    for table in map(connection.ops.quote_name, tables):
        # Under a name of its own first: once both have the same name, the real table can't be read.
        cursor.execute(f"CREATE TEMPORARY TABLE private_copy (LIKE {table} INCLUDING ALL)")
        cursor.execute(f"INSERT INTO private_copy SELECT * FROM {table}")  # noqa: S608
        cursor.execute(f"ALTER TABLE private_copy RENAME TO {table}")
        cursor.execute(f"ANALYZE {table}")


def _copy_sqlite(cursor: CursorWrapper, tables: list[str]) -> None:
    for table in tables:
        cursor.execute("SELECT type, sql FROM main.sqlite_master WHERE tbl_name = %s AND sql IS NOT NULL", [table])
        parts = cursor.fetchall()
        name = connection.ops.quote_name(table)
        [statement] = [sql for kind, sql in parts if kind == "table"]
        cursor.execute(_temporary(REFERENCE.sub("", statement)))
        cursor.execute(f"INSERT INTO temp.{name} SELECT * FROM main.{name}")  # noqa: S608
        for statement in [sql for kind, sql in parts if kind == "index"]:
            cursor.execute(_temporary(statement))


def _temporary(statement: str) -> str:
    return re.sub(r"^(CREATE (?:UNIQUE )?(?:TABLE|INDEX)) ", r"\1 temp.", statement, count=1, flags=re.IGNORECASE)


def _drop(tables: list[str]) -> None:
    schema = "pg_temp" if connection.vendor == "postgresql" else "temp"
    try:
        with connection.cursor() as cursor:
            for table in tables:
                cursor.execute(f"DROP TABLE IF EXISTS {schema}.{connection.ops.quote_name(table)}")
    except Error:
        connection.close()  # they go with it


def _only_on(session: Any) -> Callable[..., Any]:
    """A connection that was lost and made anew has no temporary tables: the real ones would be written."""

    def execute(run: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if context["connection"].connection is not session:
            raise OperationalError("The connection to the database was lost; start the dry run again.")
        return run(sql, params, many, context)

    return execute


@contextmanager
def _no_write_lock() -> Iterator[None]:
    """SQLite's transactions take the lock of the one writer at their begin (BEGIN IMMEDIATE); these write nothing."""
    if connection.vendor != "sqlite":
        yield
        return
    sqlite: Any = connection
    mode, sqlite.transaction_mode = sqlite.transaction_mode, None
    try:
        yield
    finally:
        sqlite.transaction_mode = mode
