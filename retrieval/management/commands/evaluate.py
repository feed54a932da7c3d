"""`manage.py evaluate DIR`: retrieval measured on labelled questions, stage by stage."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _
from tqdm import tqdm

from ragsite.core.errors import AppError
from ragsite.core.localized import localized, said
from ragsite.runtime import milvus_lite
from retrieval.errors import ModelError
from retrieval.evaluation import report
from retrieval.evaluation.collection import index_of_its_own
from retrieval.evaluation.dataset import Dataset, DatasetError, DatasetMissingError, load_dataset
from retrieval.evaluation.embeddings import EMBEDDINGS, EmbeddingCache
from retrieval.evaluation.runner import Evaluation, Plan, evaluate
from retrieval.evaluation.stages import STAGES, UnknownStageError, parse_stages

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
            "--stages", default=",".join(STAGES), help=said("parted by commas: {stages}", stages=",".join(STAGES))
        )
        parser.add_argument("--k", type=int, default=10, help=_("cut-off of nDCG and recall (default 10)"))
        parser.add_argument("--limit", type=int, help=_("at most so many questions, always the same ones"))
        parser.add_argument("--no-decisions", action="store_true", help=_("rank only; don't run the workflow"))
        parser.add_argument("--json", action="store_true", help=_("print the result as JSON"))
        parser.add_argument("--save", type=Path, metavar="FILE", help=_("store the result"))
        parser.add_argument("--compare", type=Path, metavar="FILE", help=_("print the change against a stored result"))
        parser.add_argument(
            "--cache", type=Path, metavar="DIR", help=_("where embeddings are kept (in the data folder)")
        )

    def handle(self, *_: Any, **options: Any) -> None:
        plan = _plan(options)
        before = None
        try:
            dataset = load_dataset(options["dir"]).limited(options["limit"])
            before = report.load_saved(options["compare"]) if options["compare"] else None
        except DatasetError as error:
            missing = isinstance(error, DatasetMissingError)
            raise CommandError(localized(error.message), returncode=USAGE_ERROR if missing else 1) from error
        logging.disable(logging.WARNING)  # fallbacks are counted and told below
        result = _evaluated(dataset, plan, options["cache"] or Path(settings.DATA_DIR) / "cache")
        self._tell(result, options["json"])
        if before is not None:
            lines = "\n".join(report.comparison(result, before))
            (self.stderr if options["json"] else self.stdout).write(lines)
        if options["save"]:
            try:
                report.save(result, options["save"])
            except OSError as error:
                raise CommandError(
                    said("{file} can't be written: {problem}.", file=str(options["save"]), problem=error.strerror)
                ) from error

    def _tell(self, result: Evaluation, as_json: bool) -> None:
        if not as_json:
            self.stdout.write("\n".join(report.summary(result)))
            return
        self.stdout.write(json.dumps(result.as_dict(), ensure_ascii=False, indent=2))
        for stage, reasons in result.fallbacks.items():
            for reason, count in reasons.items():
                self.stderr.write(
                    said(
                        "{stage}: a fallback served for {count} of {total} ({reason})",
                        stage=stage,
                        count=count,
                        total=result.queries,
                        reason=reason,
                    )
                )


def _plan(options: dict[str, Any]) -> Plan:
    try:
        stages = parse_stages(options["stages"])
    except UnknownStageError as error:
        raise CommandError(str(error), returncode=USAGE_ERROR) from error
    most = settings.RAG.search.max_top_k
    if not 1 <= options["k"] <= most:
        raise CommandError(said("--k must be from 1 to {most}.", most=most), returncode=USAGE_ERROR)
    if options["limit"] is not None and options["limit"] < 1:
        raise CommandError(said("--limit must be at least 1."), returncode=USAGE_ERROR)
    return Plan(stages=stages, k=options["k"], decisions=not options["no_decisions"])


def _evaluated(dataset: Dataset, plan: Plan, cache_dir: Path) -> Evaluation:
    try:
        with index_of_its_own(settings.RAG) as uri, EmbeddingCache(cache_dir / EMBEDDINGS) as cache:
            return asyncio.run(_run(dataset, plan, uri, cache))
    except (AppError, milvus_lite.MilvusLiteError) as error:
        raise CommandError(str(error)) from error
    except ModelError as error:
        raise CommandError(error.reason) from error
    except (KeyboardInterrupt, asyncio.CancelledError) as stop:
        raise CommandError(said("Stopped; the throw-away collection is removed."), returncode=INTERRUPTED) from stop


async def _run(dataset: Dataset, plan: Plan, uri: str, cache: EmbeddingCache) -> Evaluation:
    """Ctrl-C and SIGTERM cancel it, so that the collection is removed on the way out."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await evaluate(dataset, plan, settings=settings.RAG, uri=uri, cache=cache, progress=_bar)


def _bar(label: str, total: int) -> tqdm[Any]:
    return tqdm(desc=label, total=total, file=sys.stderr, mininterval=0.5, leave=False)
