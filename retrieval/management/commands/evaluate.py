"""`manage.py evaluate DIR`: retrieval measured on labelled questions, stage by stage."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from ragsite.core.errors import AppError
from ragsite.core.localized import translate
from ragsite.runtime import milvus_lite
from retrieval.errors import ModelError
from retrieval.evaluation import report
from retrieval.evaluation.collection import index_of_its_own
from retrieval.evaluation.dataset import DatasetError, DatasetMissingError, load_dataset
from retrieval.evaluation.runner import STAGES, Evaluation, UnknownStageError, evaluate, parse_stages

USAGE_ERROR = 2
INTERRUPTED = 130


class Command(BaseCommand):
    help = _(
        "Load a labelled set (corpus.jsonl, queries.jsonl, qrels.tsv) into a throw-away collection and measure "
        "retrieval stage by stage; where questions are marked unanswerable or clarify, also the decisions."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dir", type=Path, metavar="DIR")
        parser.add_argument(
            "--stages",
            default=",".join(STAGES),
            help=translate("separated by commas: {stages}", stages=",".join(STAGES)),
        )
        parser.add_argument("--k", type=int, default=10, help=_("cut-off of nDCG and recall (default 10)"))
        parser.add_argument("--limit", type=int, help=_("at most so many questions, always the same ones"))
        parser.add_argument("--no-decisions", action="store_true", help=_("rank only; don't run the workflow"))
        parser.add_argument("--json", action="store_true", help=_("print the result as JSON"))
        parser.add_argument("--save", type=Path, metavar="FILE", help=_("store the result"))
        parser.add_argument("--compare", type=Path, metavar="FILE", help=_("print the change against a stored result"))

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            stages = parse_stages(options["stages"])
            dataset = load_dataset(options["dir"]).limited(options["limit"])
            before = report.load_saved(options["compare"]) if options["compare"] else None
        except (DatasetError, UnknownStageError) as error:
            wrong_usage = isinstance(error, DatasetMissingError | UnknownStageError)
            raise CommandError(str(error), returncode=USAGE_ERROR if wrong_usage else 1) from error
        _check(options)
        logging.disable(logging.WARNING)  # fallbacks are counted and told below
        try:
            with index_of_its_own(settings.RAG) as uri:
                decisions = not options["no_decisions"]
                work = evaluate(dataset, stages, k=options["k"], decisions=decisions, settings=settings.RAG, uri=uri)
                result = asyncio.run(_stoppable(work))
        except (AppError, ModelError, milvus_lite.MilvusLiteError) as error:
            raise CommandError(str(error)) from error
        except (KeyboardInterrupt, asyncio.CancelledError) as stop:
            raise CommandError(
                translate("Stopped; the throw-away collection is removed."), returncode=INTERRUPTED
            ) from stop
        as_json = json.dumps(result.as_dict(), ensure_ascii=False, indent=2)
        self.stdout.write(as_json if options["json"] else report.summary(result))
        if before is not None:
            (self.stderr if options["json"] else self.stdout).write(report.comparison(result, before))
        if options["save"]:
            report.save(result, options["save"])


def _check(options: dict[str, Any]) -> None:
    most = settings.RAG.search.max_top_k
    if not 1 <= options["k"] <= most:
        raise CommandError(translate("--k must be from 1 to {most}.", most=most), returncode=USAGE_ERROR)
    if options["limit"] is not None and options["limit"] < 1:
        raise CommandError(translate("--limit must be at least 1."), returncode=USAGE_ERROR)


async def _stoppable(work: Any) -> Evaluation:
    """Ctrl-C and SIGTERM cancel it, so that the collection is removed on the way out."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    evaluation: Evaluation = await work
    return evaluation
