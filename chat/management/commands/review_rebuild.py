"""`manage.py review_rebuild`: makes the review desk's rows of all answers again. What people added to them stays."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from chat.review.records import answers_record_all
from ragsite.core.localized import said, said_count


class Command(BaseCommand):
    help = "Makes the review desk's rows of all answers again; what people added to them stays."

    def handle(self, *args: Any, **options: Any) -> None:
        done = 0
        for done in answers_record_all():
            if options["verbosity"] > 1:
                self.stdout.write(said("{done} answers so far", done=done))
        self.stdout.write(said_count("{count} answer.", "{count} answers.", done))
