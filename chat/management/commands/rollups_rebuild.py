"""`manage.py rollups_rebuild`: the dashboard's counts, made anew from the answers."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from chat.review.figures.rollups import rollups_rebuild
from chat.review.records import answers_catch_up

EVERYTHING = 10**9


class Command(BaseCommand):
    help = "Makes the counts of the review desk's dashboard anew, for every day that has answers."

    def handle(self, *args: Any, **options: Any) -> None:
        taken = answers_catch_up(most=EVERYTHING, within_s=float(EVERYTHING))
        if taken:
            self.stdout.write(f"{taken} answers were taken in at the desk first.")
        days = 0
        for day in rollups_rebuild():
            days += 1
            self.stdout.write(f"\r{day}", ending="")
        self.stdout.write(f"\n{days} days were counted.")
