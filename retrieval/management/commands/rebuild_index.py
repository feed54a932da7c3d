"""`manage.py rebuild_index`: fill the index anew from the database; searches go on meanwhile."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from asgiref.sync import sync_to_async
from django.utils.translation import gettext as _
from tqdm import tqdm

from ragsite.core.localized import said, said_count
from retrieval.management.engine_command import EngineCommand
from retrieval.models import Chunk, Collection
from retrieval.selectors import collection_named, collection_space
from retrieval.services.index_rebuild import collection_reembed, collection_reindex, index_rebuild


class Command(EngineCommand):
    help = _("Rebuild the search index from the database, without taking search away meanwhile.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--collection", default="", help=_("only this collection's rows; without it, all"))
        parser.add_argument(
            "--reembed",
            action="store_true",
            help=_("embed with the model that new collections get, e.g. what was ingested while Ollama was away"),
        )

    def handle(self, *_: Any, collection: str, reembed: bool, **__: Any) -> None:
        self.with_engine(lambda: self._work(collection, reembed))

    async def _work(self, name: str, reembed: bool) -> None:
        collections = await sync_to_async(lambda: list(_collections(name)))()
        with tqdm(unit="chunk", disable=not sys.stderr.isatty()) as bar:
            if reembed:
                await self._reembed(collections, bar)
            elif name:
                await self._reindex(collections, bar)
            else:
                written = await index_rebuild(report=bar.update)
                self.stdout.write(_written("Milvus", written))

    async def _reembed(self, collections: list[Collection], bar: Any) -> None:
        for collection in collections:
            before = await sync_to_async(collection_space)(collection)
            if before is None:
                self.stdout.write(said("{name}: nothing is embedded yet", name=collection.name))
                continue
            space = await collection_reembed(collection=collection, report=bar.update)
            if space == before:
                self.stdout.write(said("{name}: already embedded by {model}", name=collection.name, model=space.model))
            else:
                self.stdout.write(
                    said(
                        "{name}: moved from {before} to {after}",
                        name=collection.name,
                        before=before.model,
                        after=space.model,
                    )
                )

    async def _reindex(self, collections: list[Collection], bar: Any) -> None:
        for collection in collections:
            space = await sync_to_async(collection_space)(collection)
            written = await collection_reindex(collection=collection, space=space, report=bar.update) if space else 0
            self.stdout.write(_written(collection.name, written))


def _written(name: str, count: int) -> str:
    return said_count("{name}: {count} chunk written anew", "{name}: {count} chunks written anew", count, name=name)


def _collections(name: str) -> Any:
    """The one named, with chunks or without, whosever it is: the caller owns the machine."""
    if name:
        return [collection_named(name)]
    collections = Collection.objects.order_by("name", "created_at")
    return collections.filter(pk__in=Chunk.objects.values("document__collection"))
