"""`manage.py golden`: golden questions as JSONL (`feedback.curation.golden_files`), out and in."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from feedback.curation.golden_files import golden_export, golden_import
from ragsite.core.errors import AppError
from ragsite.core.localized import localized, said


class Command(BaseCommand):
    help = (
        "Prints the golden questions that a person may know as JSONL, or reads them from a file in that person's name."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", required=True)
        parser.add_argument("--set")
        parser.add_argument("--import", dest="file", metavar="FILE", help="- reads standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(said("There is no such user; choose another one."))
        if not options["file"]:
            for line in golden_export(user=user, set_name=options["set"]):
                self.stdout.write(line)
            return
        try:
            content = sys.stdin.read() if options["file"] == "-" else Path(options["file"]).read_text("utf-8-sig")
            added, updated = golden_import(content=content, by=user)
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(str(error)) from error
        except AppError as error:
            problems = [f"{name}: {' '.join(map(str, texts))}" for name, texts in localized(error.fields).items()]
            raise CommandError("\n".join([str(localized(error.message)), *problems])) from error
        self.stdout.write(said("Questions added: {added}; written anew: {updated}.", added=added, updated=updated))
