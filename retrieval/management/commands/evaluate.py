"""`manage.py evaluate DIR`: retrieval measured on labelled questions, stage by stage."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from ragsite.core.errors import AppError
from ragsite.core.localized import translate
from ragsite.runtime import milvus_lite
from retrieval.engine.errors import ModelError
from retrieval.evaluation import report
from retrieval.evaluation.collection import index_of_its_own
from retrieval.evaluation.dataset import DatasetError, load_dataset
from retrieval.evaluation.runner import STAGES, Evaluation, evaluate, parse_stages

INTERRUPTED = 130


class Command(BaseCommand):
    help = _(
        "Load a labelled set (corpus.jsonl, queries.jsonl, qrels.tsv) into a throw-away collection and measure "
        "retrieval stage by stage; where questions are marked unanswerable or clarify, also the decisions."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dir", type=Path, metavar="DIR")
        stages = ",".join(STAGES)
        help_text = translate("separated by commas: {stages}", stages=stages)
        parser.add_argument("--stages", type=parse_stages, default=stages, help=help_text)
        parser.add_argument(
            "--k", type=_count, default=10, help=_("cut-off of nDCG and recall (default 10)")
        )
        parser.add_argument(
            "--limit", type=_count, help=_("at most so many questions, always the same ones")
        )
        parser.add_argument(
            "--no-decisions", action="store_true", help=_("rank only; don't run the workflow")
        )
        parser.add_argument("--json", action="store_true", help=_("print the result as JSON"))
        parser.add_argument("--save", type=Path, metavar="FILE", help=_("store the result"))
        parser.add_argument(
            "--compare",
            type=Path,
            metavar="FILE",
            help=_("print the change against a stored result"),
        )

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            dataset = load_dataset(options["dir"]).limited(options["limit"])
            before = report.load_saved(options["compare"]) if options["compare"] else None
        except DatasetError as error:
            raise CommandError(str(error)) from error
        stages = options["stages"]
        k = options["k"]
        logging.disable(logging.WARNING)  # fallbacks are counted and told below
        try:
            with index_of_its_own(settings.RAG) as uri:
                decisions = not options["no_decisions"]
                work = evaluate(
                    dataset, stages, k=k, decisions=decisions, settings=settings.RAG, uri=uri
                )
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
            (self.stderr if options["json"] else self.stdout).write(
                report.comparison(result, before)
            )
        if options["save"]:
            report.save(result, options["save"])


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(_("give a whole number from 1"))
    return int(text)


async def _stoppable(work: Any) -> Evaluation:
    """Ctrl-C and SIGTERM cancel it, so that the collection is removed on the way out."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    evaluation: Evaluation = await work
    return evaluation
