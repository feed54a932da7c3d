"""`manage.py retention`: delete what is older than the site keeps it, or say what that would be."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from ragsite.core.localized import said
from ragsite.retention import KINDS, RetentionError, age_of, retention_work, rows_over
from ragsite.runtime import live_settings


class Command(BaseCommand):
    help = "Deletes what is older than the settings RAGSITE_RETENTION_… say. Without them nothing goes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and delete nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        live_settings.refresh(at_once=True)
        if options["dry_run"]:
            self._dry()
        else:
            self._delete()

    def _dry(self) -> None:
        now = timezone.now()
        for kind in KINDS:
            if days := age_of(kind):
                count = rows_over(kind, now=now).count()
                told = said("{kind}: {count} are older than {days} days", kind=kind, count=count, days=days)
            else:
                told = said("{kind}: kept for good", kind=kind)
            self.stdout.write(told)

    def _delete(self) -> None:
        deleted: Counter[str] = Counter()
        try:
            for kind, count in retention_work():
                deleted[kind] += count
        except RetentionError as error:
            raise CommandError(said("Not deleted: {kinds}; the log says why.", kinds=str(error))) from error
        finally:
            for kind, count in deleted.items():
                self.stdout.write(said("{kind}: {count} deleted", kind=kind, count=count))
        self.stdout.write(said("Nothing is left that is over."))
