"""`manage.py reindex_feedback`: one round of the feedback loop."""

from __future__ import annotations

import json
import logging
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from feedback.rounds.round import RoundOutcome, feedback_round, rare_collections
from ragsite.core.errors import AppError

STATUS_TEXTS = {
    "live": "is live",
    "held": "is held",
    "proposed": "waits for a decision",
}


class Command(BaseCommand):
    requires_system_checks: list[str] = []  # they load the whole site, which takes longer than a round of a few ratings
    help = "Turn new ratings into boosts: one round of the feedback loop, the same that runs periodically."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="show what would change, and keep nothing of it")
        parser.add_argument("--by", metavar="USERNAME", default="", help="who runs it, for the log; else the schedule")
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        if options["json"]:
            logging.disable(logging.WARNING)
        by = User.objects.filter(username=options["by"]).first() if options["by"] else None
        if options["by"] and by is None:
            raise CommandError(f"There is no user {options['by']}.")
        try:
            with rare_collections():
                outcome = feedback_round(by=by, dry_run=options["dry_run"])
        except AppError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(outcome.as_dict(), ensure_ascii=False, indent=2))
        else:
            self._print(outcome)

    def _print(self, outcome: RoundOutcome) -> None:
        self.stdout.write(f"{outcome.ratings} new or changed ratings, {outcome.evidence} rows of evidence")
        if outcome.bursts:
            self.stdout.write(f"Bursts of votes that wait for a decision in the admin: {outcome.bursts}")
        counts = outcome.counts
        if counts:
            self.stdout.write(
                f"{counts['query_boosts']} boosts for questions, {counts['document_boosts']} of documents: "
                f"{counts['added']} added, {counts['changed']} changed, {counts['removed']} removed"
            )
        for note in outcome.notes:
            self.stdout.write(f"Note: {note}")
        if outcome.status not in STATUS_TEXTS:
            self.stdout.write(outcome.reason)
        else:
            name = "A revision" if outcome.number is None else f"Revision {outcome.number}"
            self.stdout.write(f"{name} {STATUS_TEXTS[outcome.status]}: {outcome.reason}")
        if outcome.dry_run:
            self.stdout.write("Dry run: nothing was kept.")
