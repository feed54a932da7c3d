"""`manage.py reindex_feedback`: one round of the feedback loop."""

from __future__ import annotations

import json
import logging
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from feedback.models import Revision, round_report
from feedback.rounds.round import RoundOutcome, feedback_round
from ragsite.core.errors import AppError
from ragsite.core.localized import localized, translate, translate_count


class Command(BaseCommand):
    requires_system_checks: list[
        str
    ] = []  # they load the whole site, which takes longer than a round of a few ratings
    help = "Turn new ratings into boosts: one round of the feedback loop, the same that runs periodically."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would change, and keep nothing of it"
        )
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        if options["json"]:
            logging.disable(logging.WARNING)
        try:
            outcome = feedback_round(dry_run=options["dry_run"])
        except AppError as error:
            raise CommandError(str(localized(error.message))) from error
        if options["json"]:
            self.stdout.write(
                json.dumps(round_report(outcome.as_dict()), ensure_ascii=False, indent=2)
            )
        else:
            self._print(outcome)

    def _print(self, outcome: RoundOutcome) -> None:
        report = round_report(outcome.as_dict())
        self.stdout.write(
            translate_count(
                "{count} new or changed rating; rows of evidence: {evidence}",
                "{count} new or changed ratings; rows of evidence: {evidence}",
                outcome.ratings,
                evidence=outcome.evidence,
            )
        )
        if outcome.counts:
            self.stdout.write(
                translate(
                    "Effects on single questions: {query_boosts}, on documents: {document_boosts}",
                    **outcome.counts,
                )
            )
        for note in report["notes"]:
            self.stdout.write(translate("Note: {note}", note=note))
        if outcome.status in Revision.Status.values:  # a dry run's has no number
            status = str(Revision.Status(outcome.status).label).lower()
            self.stdout.write(
                translate(
                    "Ranking change {number} ({status})",
                    number=outcome.number or "–",
                    status=status,
                )
            )
        self.stdout.write(report["reason"])
        if outcome.dry_run:
            self.stdout.write(translate("Dry run: nothing was saved."))
