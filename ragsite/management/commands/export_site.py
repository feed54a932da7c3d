"""`manage.py export_site FILE`: everything that people have brought to the site, as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from ragsite.operations.site_transfer import SiteFileError, site_export
from ragsite.runtime import start_checks


class Command(BaseCommand):
    help = "Write accounts, documents, conversations, ratings and what staff made of them into one file (a ZIP)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            start_checks.make_folders(settings.DATA_DIR)
            with start_checks.claimed_folder(settings.DATA_DIR):
                self._do(file)
        except (start_checks.StartError, SiteFileError) as error:
            raise CommandError(str(error)) from error

    def _do(self, file: Path) -> None:
        if lacking := start_checks.what_the_database_lacks():
            raise SiteFileError(lacking)
        for document in site_export(file):
            self.stderr.write(f"The file of {document} is gone; the document goes without it.")
        self.stdout.write(
            f"Wrote {file}. It holds passwords' hashes and second factors: keep it to yourself."
        )
