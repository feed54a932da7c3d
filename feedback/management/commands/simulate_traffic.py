"""`manage.py simulate_traffic`: conversations of simulated people, to show the review desk with; `--remove` ends it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from feedback.curation.simulated_traffic import traffic_remove, traffic_simulate
from ragsite.core.localized import said, said_count
from retrieval.management.engine_command import EngineCommand

MOST = 20_000
TOLD_EVERY = 25


class Command(EngineCommand):
    """`manage.py simulate_traffic`."""

    help = _("Make conversations of clearly marked, simulated users over the sample documents; --remove deletes them.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--conversations", type=int, default=500)
        parser.add_argument("--seed", type=int, default=1, help=_("another one makes other conversations"))
        parser.add_argument("--minutes", type=float, default=10.0, help=_("stop after this time at the latest"))
        parser.add_argument("--force", action="store_true", help=_("also where other people have conversations"))
        parser.add_argument("--remove", action="store_true", help=_("delete the simulated users and all of theirs"))

    def handle(self, *args: Any, **options: Any) -> None:
        if options["remove"]:
            count = traffic_remove()
            self.stdout.write(said_count("{count} account removed.", "{count} accounts removed.", count))
            return
        if not 1 <= options["conversations"] <= MOST:
            raise CommandError(said("Give a number of conversations from 1 to {most}.", most=MOST))
        if options["minutes"] <= 0:
            raise CommandError(said("Give a time of more than 0 minutes."))
        self.with_engine(lambda: self._make(options))

    async def _make(self, options: dict[str, Any]) -> None:
        done, wanted = 0, options["conversations"]
        made = traffic_simulate(
            conversations=wanted,
            seed=options["seed"],
            within_s=60 * options["minutes"],
            force=options["force"],
        )
        async for done in made:
            if done % TOLD_EVERY == 0:
                self.stdout.write(f"\r{done} / {wanted}", ending="")
                self.stdout.flush()
        self.stdout.write("\r" + said_count("{count} conversation made.", "{count} conversations made.", done))
        if done < wanted:
            self.stdout.write(said("The time was over; --minutes allows more."))
