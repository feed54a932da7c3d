"""`manage.py rollups_rebuild`: the dashboard's counts, made anew from the answers."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from chat.review.figures.rollups import rollups_rebuild
from chat.review.records import answers_catch_up
from ragsite.core.localized import said_count

EVERYTHING = 10**9


class Command(BaseCommand):
    help = "Makes the counts of the review desk's dashboard anew, for every day that has answers."

    def handle(self, *args: Any, **options: Any) -> None:
        taken = answers_catch_up(most=EVERYTHING, within_s=float(EVERYTHING))
        if taken:
            self.stdout.write(
                said_count(
                    "{count} answer was taken in at the desk first.",
                    "{count} answers were taken in at the desk first.",
                    taken,
                )
            )
        days = 0
        for day in rollups_rebuild():
            days += 1
            self.stdout.write(f"\r{day}", ending="")
        self.stdout.write("\n" + said_count("{count} day was counted.", "{count} days were counted.", days))
