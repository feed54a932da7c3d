"""`manage.py import_site FILE`: an empty site becomes the one that `export_site` wrote."""

from __future__ import annotations

from pathlib import Path

from ragsite.management.commands import export_site
from ragsite.operations.site_transfer import site_import
from ragsite.runtime import start_checks


class Command(export_site.Command):
    help = "Make an empty site the one of a file that export_site wrote. All of it is imported, or nothing."

    def _do(self, file: Path) -> None:
        if start_checks.what_the_database_lacks():
            start_checks.migrate()
        waiting = site_import(file)
        self.stdout.write(
            f"Imported {file}. Documents that a worker will read again: {waiting}. Start the site."
        )
