"""`manage.py search "QUERY"`: retrieval only, with each candidate's scores."""

from __future__ import annotations

import json
import logging
from argparse import ArgumentParser
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from ragsite.core.localized import translate
from retrieval.compose import search_as_answered
from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.values import Query, ScoredChunk
from retrieval.knowledge.api.search import SearchResultSerializer
from retrieval.knowledge.scopes import scope_for_all
from retrieval.management.engine_command import EngineCommand

SNIPPET_CHARS = 160


class Command(EngineCommand):
    help = _("Search all collections and print the candidates with their scores.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("query")
        parser.add_argument(
            "--collection",
            action="append",
            default=[],
            help=_("a name, owner/name or an id; may be given several times"),
        )
        parser.add_argument("--top-k", type=int, default=settings.RAG.search.top_k)
        parser.add_argument(
            "--json", action="store_true", help=_("print what POST /api/search answers")
        )

    def handle(self, *_: Any, **options: Any) -> None:
        if not 1 <= options["top_k"] <= settings.RAG.search.max_top_k:
            raise CommandError(
                translate("--top-k must be from 1 to {most}.", most=settings.RAG.search.max_top_k)
            )
        if options["json"]:
            logging.disable(logging.WARNING)
        result = self.with_engine(
            lambda: _search(options["query"], options["collection"], options["top_k"])
        )
        if options["json"]:
            self.stdout.write(
                json.dumps(SearchResultSerializer(result).data, ensure_ascii=False, indent=2)
            )
        else:
            self._print(result)

    def _print(self, result: SearchResult) -> None:
        if not result.candidates:
            self.stdout.write(translate("Nothing was found."))
        for number, candidate in enumerate(result.candidates, start=1):
            self._print_candidate(number, candidate)
        for reason in result.degraded:
            self.stdout.write(translate("Done another way: {reason}", reason=reason))
        self.stdout.write(
            ", ".join(f"{stage} {ms:.0f} ms" for stage, ms in result.timings_ms.items())
        )

    def _print_candidate(self, number: int, candidate: ScoredChunk) -> None:
        chunk = candidate.chunk
        page = translate(", page {page}", page=chunk.page) if chunk.page else ""
        heading = f" › {chunk.heading}" if chunk.heading not in ("", chunk.title) else ""
        scores = "  ".join(
            f"{name} {value:.3f}" for name, value in candidate.scores.as_dict().items()
        )
        ranks = "  ".join(f"{leg} #{rank}" for leg, rank in candidate.ranks.items())
        snippet = " ".join(chunk.text.split())[:SNIPPET_CHARS]
        self.stdout.write(f"{number:>2}. {chunk.title}{page}{heading}")
        self.stdout.write(f"    {scores}   ({ranks})\n    {snippet}")


async def _search(text: str, collections: list[str], top_k: int) -> SearchResult:
    scope = await sync_to_async(scope_for_all)(names=collections)
    return await search_as_answered(SearchRequest(queries=(Query(text),), scope=scope, top_k=top_k))
