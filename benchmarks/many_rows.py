"""Rows by the hundred thousand, made by the database from one row that Django has saved: no column is forgotten."""

from __future__ import annotations

from typing import Any

from django.db import connection, models

UUIDS = {"postgresql": "gen_random_uuid()", "sqlite": "lower(hex(randomblob(16)))"}
TEXTS = {"postgresql": "gen_random_uuid()::text", "sqlite": "lower(hex(randomblob(16)))"}
EARLIER = {
    "postgresql": "now() - make_interval(secs => {seconds})",
    "sqlite": "strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || ({seconds}) || ' seconds')",
}


def new_id() -> str:
    """SQL of an id that is new in each row; as text: `new_text`."""
    return UUIDS[connection.vendor]


def new_text() -> str:
    return TEXTS[connection.vendor]


def earlier(seconds: str) -> str:
    """SQL of the moment so long ago. seconds: SQL of a whole number."""
    return EARLIER[connection.vendor].format(seconds=seconds)


def copies(
    template: models.Model,
    of: models.QuerySet[Any, Any],
    each: int,
    *,
    start: int = 1,
    **columns: str,
) -> None:
    """Copies of a saved row, `each` for every row of a query. columns: SQL in place of the template's values, in which
    `p` is the query's row, and `n.i` counts from `start` in each of them. The template stays."""
    meta = template._meta
    assert meta.pk is not None
    names = [field.column for field in meta.concrete_fields]
    if isinstance(meta.pk, models.AutoField):
        names.remove(meta.pk.column)
    elif meta.pk.column not in columns and meta.pk.remote_field is None:
        columns[meta.pk.column] = new_id()
    values = ", ".join(columns.get(name, f't."{name}"') for name in names).replace("%", "%%")
    quoted = ", ".join(f'"{name}"' for name in names)
    rows, arguments = of.query.sql_with_params()
    statement = (
        f'INSERT INTO "{meta.db_table}" ({quoted})'
        f" WITH RECURSIVE n(i) AS (SELECT {start} UNION ALL SELECT i + 1 FROM n WHERE i < {start + each - 1})"
        f' SELECT {values} FROM ({rows}) p CROSS JOIN n JOIN "{meta.db_table}" t ON t."{meta.pk.column}" = %s'
    )
    key = meta.pk.get_db_prep_value(template.pk, connection)
    with connection.cursor() as cursor:
        cursor.execute(statement, [*arguments, key])


def analyse() -> None:
    """The statistics that a planner goes by, and PostgreSQL's maps of what is visible: as on a site at rest."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")
