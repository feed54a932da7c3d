"""`manage.py retention`: delete what is older than the site keeps it, or say what that would be."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from ragsite.operations.retention import KINDS, age_of, retention_work, rows_over
from ragsite.runtime import live_settings


class Command(BaseCommand):
    help = "Deletes what is older than the settings RAGSITE_RETENTION_… say. Without them nothing goes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would go, and delete nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        live_settings.refresh(at_once=True)
        if options["dry_run"]:
            now = timezone.now()
            for kind in KINDS:
                days = age_of(kind)
                over = (
                    f"{rows_over(kind, now=now).count()} are older than {days} days"
                    if days
                    else "kept for good"
                )
                self.stdout.write(f"{kind}: {over}")
            return
        deleted: Counter[str] = Counter()
        for kind, count in retention_work():
            deleted[kind] += count
        for kind, count in deleted.items():
            self.stdout.write(f"{kind}: {count} deleted")
        self.stdout.write("Nothing is left that is over.")
