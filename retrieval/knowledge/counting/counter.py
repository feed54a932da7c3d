"""Counting beside the event loop."""

from __future__ import annotations

from ragsite.core.database import DATABASE_AWAY, DatabaseAwayError, database_call
from retrieval.engine.values import SearchScope
from retrieval.engine.values.counting import Columns, CountFilter, CountResult
from retrieval.knowledge.counting.columns import columns_of
from retrieval.knowledge.counting.count import count


class DatabaseCounter:
    """`retrieval.engine.ports.Counter` on the database."""

    async def count(self, scope: SearchScope, counted: CountFilter, *, limit: int) -> CountResult:
        try:
            return await database_call(lambda: count(scope, counted, limit=limit))
        except DATABASE_AWAY as error:
            raise DatabaseAwayError from error

    async def columns(self, scope: SearchScope) -> Columns:
        try:
            return await database_call(lambda: columns_of(scope))
        except DATABASE_AWAY as error:
            raise DatabaseAwayError from error
