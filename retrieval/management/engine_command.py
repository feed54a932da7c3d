"""What commands share that search or answer in their own process, whether or not the site runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import TypeVar

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ragsite.core.errors import AppError
from ragsite.runtime import live_settings, milvus_lite
from retrieval.compose import close_engine
from retrieval.engine.errors import ModelError

Result = TypeVar("Result")


class EngineCommand(BaseCommand):
    """A command whose work uses `get_engine()`."""

    def with_engine(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Run `work` in an event loop of its own, with Milvus: the one of the settings, else the data folder's Lite.

        Lite is started where nobody runs it, and stopped afterwards. Raises CommandError in place of AppError,
        ModelError, MilvusLiteError.
        """

        async def main() -> Result:
            try:
                return await work()
            finally:
                await close_engine()

        try:
            with ExitStack() as stack:
                if not settings.RAG.milvus.uri:
                    lite = milvus_lite.ensure_server(
                        settings.DATA_DIR, port=settings.RAG.milvus.lite_port
                    )
                    stack.enter_context(lite)
                live_settings.refresh(at_once=True)
                return asyncio.run(main())
        except (AppError, ModelError, milvus_lite.MilvusLiteError) as error:
            raise CommandError(str(error)) from error
