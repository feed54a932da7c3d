"""`manage.py golden`: golden questions from a file of JSONL (`feedback.curation.golden.GoldenLine`)."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from feedback.curation.golden import golden_import
from ragsite.core.errors import AppError
from ragsite.core.localized import localized, said


class Command(BaseCommand):
    help = "Reads golden questions from a file, in a person's name."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--user", required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(said("There is no such user; choose another one."))
        try:
            count = golden_import(content=options["file"].read_text("utf-8-sig"), by=user)
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(str(error)) from error
        except AppError as error:
            problems = [f"{name}: {' '.join(map(str, texts))}" for name, texts in localized(error.fields).items()]
            raise CommandError("\n".join([str(localized(error.message)), *problems])) from error
        self.stdout.write(said("Golden questions: {count}.", count=count))
