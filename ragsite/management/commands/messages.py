"""`manage.py messages`: brings the catalogues of the interface's texts up to date (`make messages`)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = "Collect the interface's texts from the sources into ragsite/locale, and compile what is translated."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            from ragsite import catalogues
        except ModuleNotFoundError as error:  # Babel is a tool for development
            raise CommandError(f"{error.name} is missing: install the tools with `make test`.") from error
        missing = 0
        for language in catalogues.LANGUAGES:
            for domain in catalogues.DOMAINS:
                path = catalogues.po_path(language, domain)
                path.write_bytes(catalogues.po_text(catalogues.merged(language, domain)))
                faults = catalogues.faults(language, domain)
                missing += len(faults)
                for fault in faults:
                    self.stderr.write(f"{language}/{domain}: {fault}")
            for path, content in catalogues.compiled(language).items():
                path.write_bytes(content)
        self.stdout.write(f"{missing} texts are left to be translated." if missing else "Every text is translated.")
