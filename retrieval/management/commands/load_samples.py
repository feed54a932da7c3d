"""`manage.py load_samples`: the sample handbook, by hand."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from ragsite.core.localized import translate
from retrieval.knowledge.services.samples import read_manifest, samples_load


class Command(BaseCommand):
    help = _(
        "Load the sample handbook of Northlake University; documents that are there already stay as they are."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        added = len(samples_load(force=True))
        self.stdout.write(
            translate(
                "{added} documents added, {unchanged} there already. "
                "The worker reads them; see their progress on the documents page.",
                added=added,
                unchanged=len(read_manifest()["documents"]) - added,
            )
        )
