"""Reads and writes many rows at once: a round has hundreds of thousands, and objects cost more than the rows.

Keys (UUIDs above all) stay as the database has them, text on SQLite: they are looked up and written again, never shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast
from uuid import UUID

import numpy as np
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import BooleanField, ExpressionWrapper, F, Field, ForeignKey, Func, Model, TextField
from django.db.models.sql.compiler import SQLCompiler
from numpy.typing import NDArray

Key = Any  # as the database has it; keys are only compared for equality
Item = TypeVar("Item")
ROOM = {"cache_size": -12_000, "wal_autocheckpoint": 4000}  # KiB, pages
PLAIN = {"AutoField", "BigAutoField", "CharField", "FloatField", "PositiveIntegerField", "TextField"}


def raw(name: str) -> ExpressionWrapper[Any]:
    """For `values_list`: this column without any conversion."""
    return ExpressionWrapper(F(name), output_field=TextField())


@contextmanager
def room_for_many_rows() -> Iterator[None]:
    """On SQLite: a page cache that holds the indexes being filled, in place of 2 MiB, and fewer checkpoints, each of
    which writes the same pages again. Given back afterwards."""
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        before = [(name, cursor.execute(f"PRAGMA {name}").fetchone()[0]) for name in ROOM]
        for name, value in ROOM.items():
            cursor.execute(f"PRAGMA {name} = {value}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for name, value in before:
                cursor.execute(f"PRAGMA {name} = {value}")
            cursor.execute("PRAGMA shrink_memory")


def packed(keys: Iterable[Key]) -> NDArray[np.bytes_]:
    """UUIDs as the database has them, each once, in their order: 32 bytes each, where an object takes 90 to 130."""
    texts = np.fromiter((key if isinstance(key, str) else key.hex for key in keys), dtype="S32")
    _, first = np.unique(texts, return_index=True)
    return texts[np.sort(first)]


def unpacked(keys: NDArray[np.bytes_]) -> list[Key]:
    return [key_of(UUID(hex=text)) for text in keys.astype(str).tolist()]


class one_of(Func):
    """For `filter`: the column is one of these keys. Without keys nothing is found."""

    output_field = BooleanField()

    def __init__(self, name: str, keys: Iterable[Key]) -> None:
        super().__init__(F(name))
        self.keys = list(keys)

    def as_sql(self, compiler: SQLCompiler, connection: Any, **_: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        if not self.keys:
            raise EmptyResultSet
        column, params = compiler.compile(self.source_expressions[0])
        if connection.vendor == "postgresql":
            return f"{column} = ANY(%s)", [*params, self.keys]
        # One place for all: a thousand of them are parsed for longer than their rows are looked up.
        return f"{column} IN (SELECT value FROM json_each(%s))", [*params, json.dumps(self.keys)]  # noqa: S608


def rows_add(model: type[Model], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows of these fields, in their order; one that breaks a unique constraint is left out.

    A field that is not named takes the database's default, so every field without one has to be.
    """
    fields = [cast("Field[Any, Any]", model._meta.get_field(name)) for name in names]
    prepare = [(at, to_db) for at, field in enumerate(fields) if (to_db := _prepare(field))]
    values = [_prepared(row, prepare) for row in rows]
    if not values:
        return
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in fields)
    into = f"INSERT INTO {quote(model._meta.db_table)} ({columns})"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # an array for each column: places for each value take long to fill
            arrays = ", ".join(f"%s::{field.cast_db_type(connection)}[]" for field in fields)
            lists = [list(column) for column in zip(*values, strict=True)]
            cursor.execute(f"{into} SELECT * FROM unnest({arrays}) ON CONFLICT DO NOTHING", lists)  # noqa: S608
        else:
            places = ", ".join(["%s"] * len(fields))
            cursor.executemany(f"{into} VALUES ({places}) ON CONFLICT DO NOTHING", values)


def _prepared(row: Sequence[Any], prepare: Sequence[tuple[int, Callable[[Any, Any], Any]]]) -> list[Any]:
    values = list(row)
    for at, to_db in prepare:
        if values[at] is not None:
            values[at] = to_db(values[at], connection)
    return values


def parts_of(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    part: list[Item] = []
    for item in items:
        part.append(item)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part


def _prepare(field: Field[Any, Any]) -> Callable[[Any, Any], Any] | None:
    """What brings a value into the database's form; None where it is so already."""
    target = field.target_field if isinstance(field, ForeignKey) else field
    kind = target.get_internal_type()
    if kind in PLAIN:
        return None
    return _key if kind == "UUIDField" else field.get_db_prep_save


def key_of(value: UUID) -> Key:
    """A UUID as the database has it."""
    return _key(value, connection)


def _key(value: UUID | Key, connection: Any) -> Key:
    return value.hex if isinstance(value, UUID) and not connection.features.has_native_uuid_field else value
