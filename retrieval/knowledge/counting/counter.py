"""Counting beside the event loop."""

from __future__ import annotations

from ragsite.core.database import database_call
from retrieval.engine.values import SearchScope
from retrieval.engine.values.counting import CountFilter, CountResult, TableColumn
from retrieval.knowledge.counting.columns import columns_of
from retrieval.knowledge.counting.count import count


class DatabaseCounter:
    """`retrieval.engine.ports.Counter` on the database."""

    async def count(self, scope: SearchScope, counted: CountFilter) -> CountResult:
        return await database_call(lambda: count(scope, counted))

    async def columns(self, scope: SearchScope) -> tuple[TableColumn, ...]:
        return (await database_call(lambda: columns_of(scope))).columns
