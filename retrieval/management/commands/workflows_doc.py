"""`manage.py workflows_doc`: writes docs/workflows.md anew."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from retrieval.workflows.doc import render


class Command(BaseCommand):
    help = "Write docs/workflows.md from the workflows' graphs and rounds."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        path = settings.BASE_DIR / "docs" / "workflows.md"
        path.write_text(render(), encoding="utf-8")
        self.stdout.write(f"Wrote {path.relative_to(settings.BASE_DIR)}.")
