"""Percentiles as an aggregate of the database: PostgreSQL's own, and one of ours for SQLite, which has none."""

from __future__ import annotations

import math
from typing import Any

from django.db.backends.signals import connection_created
from django.db.models import Aggregate, IntegerField


class Percentile(Aggregate):
    """The smallest value that a share (0..1) of the rows does not exceed; None of no rows. None counts for no value."""

    function = "percentile_disc"
    template = "%(function)s(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = IntegerField()

    def __init__(self, column: str, *, share: float) -> None:
        super().__init__(column, share=share)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return super().as_sql(
            compiler, connection, template="%(function)s(%(expressions)s, %(share)s)", **context
        )


class _OnSqlite:
    def __init__(self) -> None:
        self.values: list[int] = []
        self.share = 0.0

    def step(self, value: int | None, share: float) -> None:
        self.share = share
        if value is not None:
            self.values.append(value)

    def finalize(self) -> int | None:
        if not self.values:
            return None
        return sorted(self.values)[max(0, math.ceil(self.share * len(self.values)) - 1)]


def connect() -> None:
    """Once, when the site starts."""
    connection_created.connect(_teach, dispatch_uid="chat.percentiles")


def _teach(sender: Any, connection: Any, **_: Any) -> None:
    if connection.vendor == "sqlite":
        connection.connection.create_aggregate(Percentile.function, 2, _OnSqlite)
