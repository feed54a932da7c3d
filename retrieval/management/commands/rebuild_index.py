"""`manage.py rebuild_index`: rebuild the index from the database; searches go on meanwhile."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from asgiref.sync import sync_to_async
from django.utils.translation import gettext as _
from tqdm import tqdm

from ragsite.core.localized import translate, translate_count
from retrieval.knowledge.index_sync.repair import Report, collection_reembed, index_rebuild
from retrieval.knowledge.scopes import collection_space
from retrieval.knowledge.selectors import collection_named
from retrieval.management.engine_command import EngineCommand
from retrieval.models import Collection


class Command(EngineCommand):
    help = _("Rebuild the search index from the database, without taking search away meanwhile.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--collection",
            default="",
            help=_("only the index that holds this one; without it, all"),
        )
        parser.add_argument(
            "--reembed",
            action="store_true",
            help=_(
                "embed with the model for new collections, e.g. what was ingested while Ollama was not running"
            ),
        )

    def handle(self, *_: Any, collection: str, reembed: bool, **__: Any) -> None:
        self.with_engine(lambda: self._work(collection, reembed))

    async def _work(self, name: str, reembed: bool) -> None:
        with tqdm(unit="chunk", disable=not sys.stderr.isatty()) as bar:
            named = await sync_to_async(collection_named)(name) if name else None
            if reembed:
                embedded = Collection.objects.exclude(embedding_model="").order_by(
                    "name", "created_at"
                )
                for collection in [named] if named else [each async for each in embedded]:
                    self.stdout.write(await _reembedded(collection, bar.update))
                return
            space = collection_space(named) if named else None
            written = (
                0 if named and space is None else await index_rebuild(only=space, report=bar.update)
            )
            title = named.name if named else "Milvus"
            text = translate_count(
                "{name}: {count} chunk written again",
                "{name}: {count} chunks written again",
                written,
                name=title,
            )
            self.stdout.write(text)


async def _reembedded(collection: Collection, report: Report) -> str:
    name = collection.name
    before = collection_space(collection)
    if before is None:
        return translate("{name}: nothing is embedded yet", name=name)
    space = await collection_reembed(collection=collection, report=report)
    if space == before:
        return translate("{name}: already embedded by {model}", name=name, model=space.model)
    return translate(
        "{name}: moved from {before} to {after}", name=name, before=before.model, after=space.model
    )
