"""`manage.py rebuild_index`: fill the index anew from the database; searches go on meanwhile."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser
from contextlib import ExitStack
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from ragsite.core.errors import AppError
from ragsite.runtime import milvus_lite
from retrieval.engine import close_engine
from retrieval.memory.sync import memory_rebuild
from retrieval.models import Chunk, Collection
from retrieval.selectors import collection_named, collection_space
from retrieval.services.index_rebuild import collection_reembed, collection_reindex, index_rebuild


class Command(BaseCommand):
    help = "Rebuild the search index from the database, without taking search away meanwhile."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--collection", default="", help="only this collection's rows; without it, all")
        parser.add_argument(
            "--reembed",
            action="store_true",
            help="embed with the model that new collections get, e.g. what was ingested while Ollama was away",
        )

    def handle(self, *_: Any, collection: str, reembed: bool, **__: Any) -> None:
        try:
            collections = list(_collections(collection))
            with ExitStack() as stack:
                if not settings.RAG.milvus.uri:
                    lite = milvus_lite.ensure_server(settings.DATA_DIR, port=settings.RAG.milvus.lite_port)
                    stack.enter_context(lite)
                asyncio.run(self._work(collections, one=bool(collection), reembed=reembed))
        except (AppError, milvus_lite.MilvusLiteError) as error:
            raise CommandError(str(error)) from error

    async def _work(self, collections: list[Collection], *, one: bool, reembed: bool) -> None:
        try:
            with tqdm(unit="chunk", disable=not sys.stderr.isatty()) as bar:
                if reembed:
                    await self._reembed(collections, bar)
                elif one:
                    await self._reindex(collections, bar)
                else:
                    written = await index_rebuild(report=bar.update)
                    remembered = await memory_rebuild()
                    self.stdout.write(f"The index was rebuilt: {written} chunks, {remembered} memories.")
        finally:
            await close_engine()

    async def _reembed(self, collections: list[Collection], bar: Any) -> None:
        for collection in collections:
            before = await sync_to_async(collection_space)(collection)
            if before is None:
                self.stdout.write(f"{collection.name}: nothing is embedded yet")
                continue
            space = await collection_reembed(collection=collection, report=bar.update)
            if space == before:
                self.stdout.write(f"{collection.name}: already embedded by {space.model}")
            else:
                self.stdout.write(f"{collection.name}: moved from {before.model} to {space.model}")

    async def _reindex(self, collections: list[Collection], bar: Any) -> None:
        for collection in collections:
            space = await sync_to_async(collection_space)(collection)
            written = await collection_reindex(collection=collection, space=space, report=bar.update) if space else 0
            self.stdout.write(f"{collection.name}: {written} chunks written anew")


def _collections(name: str) -> Any:
    """The one named, with chunks or without, whosever it is: the caller owns the machine."""
    if name:
        return [collection_named(name)]
    collections = Collection.objects.order_by("name", "created_at")
    return collections.filter(pk__in=Chunk.objects.values("document__collection"))
