"""`manage.py settings_doc`: writes docs/settings.md anew."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from ragsite.core.settings_doc import render


class Command(BaseCommand):
    help = "Write docs/settings.md from the settings' definitions."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        path = settings.BASE_DIR / "docs" / "settings.md"
        path.write_text(render(), encoding="utf-8")
        self.stdout.write(f"Wrote {path.relative_to(settings.BASE_DIR)}.")
