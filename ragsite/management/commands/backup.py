"""`manage.py backup FOLDER`: the whole site as it is now, while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ragsite.core.errors import AppError
from ragsite.operations.backup import BackupError, backup_make, backups_prune
from ragsite.runtime import start_checks


class Command(BaseCommand):
    help = "Write database and uploaded files into a new folder below FOLDER. The site may run meanwhile."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument(
            "--keep", type=int, default=0, help="delete all but the newest so many; 0: none"
        )
        parser.add_argument(
            "--no-uploads",
            action="store_true",
            help="without the files: their bucket has versions of its own",
        )

    def handle(self, *args: Any, folder: Path, keep: int, no_uploads: bool, **options: Any) -> None:
        try:
            if lacking := start_checks.what_the_database_lacks():
                raise BackupError(lacking)
            backup = backup_make(folder, uploads=not no_uploads)
            for document in backup.gone:
                self.stderr.write(f"The file of {document} is gone; the backup goes without it.")
            old = backups_prune(folder, keep=keep) if keep else []
        except (BackupError, AppError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"Wrote {backup.folder}: the database, and the files of {backup.documents} documents."
        )
        for path in old:
            self.stdout.write(f"Deleted {path}.")
