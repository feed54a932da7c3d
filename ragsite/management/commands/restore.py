"""`manage.py restore FOLDER`: an empty site becomes the one of a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from ragsite.core.errors import AppError
from ragsite.operations.backup import BackupError, backup_restore
from ragsite.runtime import start_checks


class Command(BaseCommand):
    help = "Make an empty site, which is stopped, the one of a folder that backup wrote."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="one backup: FOLDER/2026-01-31T02-30-00Z")

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        try:
            start_checks.make_folders(settings.DATA_DIR)
            with start_checks.claimed_folder(settings.DATA_DIR):
                amiss = backup_restore(folder)
        except (start_checks.StartError, BackupError, AppError, OSError) as error:
            raise CommandError(str(error)) from error
        for sentence in amiss:
            self.stderr.write(sentence)
        self.stdout.write(
            f"Restored {folder}. Start the site: a worker fills the search index from the database."
        )
