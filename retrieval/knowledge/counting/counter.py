"""Counting beside the event loop."""

from __future__ import annotations

import logging

from ragsite.core.database import DATABASE_AWAY, DatabaseAwayError, database_call
from retrieval.engine.values import SearchScope
from retrieval.engine.values.counting import CountFilter, CountResult, TableColumn
from retrieval.knowledge.counting.columns import columns_of
from retrieval.knowledge.counting.count import count

logger = logging.getLogger(__name__)


class DatabaseCounter:
    """`retrieval.engine.ports.Counter` on the database."""

    async def count(self, scope: SearchScope, counted: CountFilter, *, limit: int) -> CountResult:
        try:
            return await database_call(lambda: count(scope, counted, limit=limit))
        except DATABASE_AWAY as error:
            raise DatabaseAwayError from error

    async def columns(self, scope: SearchScope) -> tuple[TableColumn, ...]:
        try:
            return (await database_call(lambda: columns_of(scope))).columns
        except DATABASE_AWAY:
            logger.warning("The columns of tables could not be read.", exc_info=True)
            return ()
