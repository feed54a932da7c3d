"""`manage.py retention`: delete what is older than the site keeps it, or say what that would be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from chat.review.retention.runs import kinds_over, last_run, next_run, retention_begin, retention_work
from ragsite.core.localized import said, said_count
from ragsite.core.retention import Kind, Over, kinds


class Command(BaseCommand):
    help = "Deletes what is older than RAGSITE_RETENTION says. Without it nothing that people made goes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and delete nothing")
        parser.add_argument("--kind", default="", help="with --dry-run: of this kind alone")
        parser.add_argument("--json", action="store_true", help="with --dry-run: as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        known = [kind.name for kind in kinds()]
        if options["kind"] and options["kind"] not in known:
            raise CommandError(
                said("There is no kind “{kind}”; one of {known}.", kind=options["kind"], known=", ".join(known))
            )
        if options["dry_run"]:
            self._dry(kinds_over(now=timezone.now(), only=options["kind"]), as_json=options["json"])
        elif options["kind"] or options["json"]:
            raise CommandError(said("--kind and --json go with --dry-run."))
        else:
            self._delete()

    def _dry(self, found: Sequence[tuple[Kind, Over]], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps([_data(kind, gone) for kind, gone in found], indent=2))
            return
        for kind, gone in found:
            name = f" ({kind.variable()})" if kind.setting else ""
            title = f"{said(kind.title)}{name}"
            self.stdout.write(said("{kind}: {kept}; {going}", kind=title, kept=_kept(kind), going=_going(gone)))
        following = next_run(now=timezone.now())
        self.stdout.write(
            said("Next run: {time}", time=f"{following:%Y-%m-%d %H:%M %Z}")
            if following
            else said("No run is scheduled.")
        )

    def _delete(self) -> None:
        retention_begin()
        outcome = retention_work(
            report=lambda kind, count: self.stdout.write(f"{kind.name}: {count}") if count else None
        )
        run = last_run()
        if outcome != "done" or run is None:
            raise CommandError(said("Another process deletes already; wait for it to end."))
        for name, count in run.deleted.items():
            self.stdout.write(said("{kind}: {count} deleted", kind=name, count=count))
        if run.failed:
            raise CommandError(said("Not deleted: {kinds}; the log says why.", kinds=", ".join(run.failed)))
        self.stdout.write(said("Nothing is left that is over."))


def _kept(kind: Kind) -> str:
    age = kind.age()
    if age is None:
        return said("kept")
    return said_count("kept {count} day", "kept {count} days", age.days) if age else said("kept until it ends")


def _going(gone: Over) -> str:
    if not gone.count:
        return said("nothing would go")
    return said(
        "{count} would go, of {oldest} to {newest}",
        count=gone.count, oldest=_day(gone.oldest), newest=_day(gone.newest),
    )  # fmt: skip


def _data(kind: Kind, gone: Over) -> dict[str, Any]:
    age = kind.age()
    return {
        "kind": kind.name, "variable": kind.variable() or None, "kept_days": None if age is None else age.days,
        "count": gone.count, "oldest": gone.oldest.isoformat() if gone.oldest else None,
        "newest": gone.newest.isoformat() if gone.newest else None,
    }  # fmt: skip


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else "–"
