"""Writes many rows in one statement: a round makes hundreds of thousands, and instances cost more than the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from django.db import connection
from django.db.models import Field, ForeignKey, Model

PLAIN = {"AutoField", "BigAutoField", "CharField", "FloatField", "PositiveIntegerField", "TextField"}


def rows_add(model: type[Model], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows of these fields, in their order; one that breaks a unique constraint is left out.

    A field that is not named takes the database's default, so every field without one has to be.
    """
    fields = [cast("Field[Any, Any]", model._meta.get_field(name)) for name in names]
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    table = quote(model._meta.db_table)
    prepare = [_prepare(field) for field in fields]
    values = [
        tuple(value if to_db is None else to_db(value, connection) for to_db, value in zip(prepare, row, strict=True))
        for row in rows
    ]
    with connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places}) ON CONFLICT DO NOTHING", values)  # noqa: S608


def _prepare(field: Field[Any, Any]) -> Callable[[Any, Any], Any] | None:
    """What brings a value into the database's form; None where it is so already."""
    target = field.target_field if isinstance(field, ForeignKey) else field
    return None if target.get_internal_type() in PLAIN else field.get_db_prep_save
