"""`manage.py ingest PATH... --collection NAME`: files, folders and globs into a collection, in this process."""

from __future__ import annotations

import argparse
import asyncio
import glob
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files import File
from django.core.management.base import CommandError
from django.utils.translation import gettext as _
from tqdm import tqdm

from ragsite.core.errors import AppError
from ragsite.core.localized import localized, translate
from retrieval.knowledge.collection_addresses import read_address
from retrieval.knowledge.ingest.sniff import EXTENSIONS
from retrieval.knowledge.selectors import collection_named
from retrieval.knowledge.services.collections import collection_ensure
from retrieval.knowledge.services.documents import DocumentCreated, document_create
from retrieval.knowledge.services.ingest import document_ingest
from retrieval.knowledge.services.metadata import metadata_clean
from retrieval.management.engine_command import EngineCommand
from retrieval.models import Collection, Document

POLL_S = 1.0


class Command(EngineCommand):
    help = _(
        "Bring files, folders and globs into a collection; exit 1 if any failed, the rest is kept."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "paths",
            nargs="+",
            metavar="PATH",
            help=_("a file, a folder, or a glob such as 'docs/**/*.md'"),
        )
        parser.add_argument(
            "--collection",
            required=True,
            help=_("a name, created if missing; or owner/name, or an id"),
        )
        parser.add_argument("--department", default="")
        parser.add_argument("--doc-type", default="")
        parser.add_argument("--policy-year", default="")
        parser.add_argument("--tags", default="", help=_("separated by commas"))
        parser.add_argument(
            "--review-by",
            default="",
            metavar="YYYY-MM-DD",
            help=_("by when they are to be reviewed; without it as the collection says"),
        )
        parser.add_argument(
            "--owner",
            default="",
            help=_("a user's name; without it a name means the site's public collection"),
        )

    def handle(self, *_: Any, **options: Any) -> None:
        files, failures = _expand(options["paths"])
        counts: Counter[str] = Counter()
        name = options["collection"]
        if files:  # else no collection is made either
            try:
                values = {
                    name: options[name]
                    for name in ("department", "doc_type", "policy_year", "tags", "review_by")
                }
                metadata = metadata_clean(values)
                collection = _collection(options["collection"], options["owner"])
            except AppError as error:
                raise CommandError(_sentence(error)) from error
            name = collection.name
            self.with_engine(lambda: _ingest_all(files, collection, metadata, counts, failures))
        self.stdout.write(
            translate(
                "{collection}: {added} added, {unchanged} unchanged, {failed} failed",
                collection=name,
                added=counts["added"] + counts["retried"],
                unchanged=counts["unchanged"],
                failed=len(failures),
            )
        )
        for path, reason in failures:
            self.stdout.write(
                "  " + translate("failed: {name}: {reason}", name=path, reason=reason)
            )
        if failures:
            sys.exit(1)


async def _ingest_all(
    files: Sequence[Path],
    collection: Collection,
    metadata: Mapping[str, Any],
    counts: Counter[str],
    failures: list[tuple[str, str]],
) -> None:
    """counts: of outcomes. failures: (path, reason)."""
    for path in tqdm(files, unit="file", disable=not sys.stderr.isatty() and len(files) < 2):
        try:
            created = await sync_to_async(_create)(path, collection, metadata)
        except AppError as error:
            failures.append((str(path), str(localized(error.message))))
        except OSError as error:
            failures.append(
                (str(path), translate("cannot be read: {problem}", problem=error.strerror))
            )
        else:
            if reason := await _finish(created.document):
                failures.append((str(path), reason))
            else:
                counts[created.outcome] += 1


async def _finish(document: Document) -> str:
    """Why the document is not ready; "" when it is. Servers that are away are waited for as long as a worker would."""
    waited_until = time.monotonic() + settings.RAG.ollama.embed_timeout_s
    outcome = ""
    while document.status != Document.Status.READY:
        if outcome == "failed" or document.status == Document.Status.FAILED:
            return document.error
        if outcome == "waiting" and time.monotonic() > waited_until:
            return document.error or translate("It has to wait; a worker tries it again.")
        if outcome:
            await asyncio.sleep(POLL_S)
        outcome = await document_ingest(document.pk)
        try:
            await document.arefresh_from_db()
        except Document.DoesNotExist:
            return translate("deleted meanwhile")
    return ""


def _create(path: Path, collection: Collection, metadata: Mapping[str, Any]) -> DocumentCreated:
    with path.open("rb") as file:
        return document_create(
            collection=collection,
            upload=File(file, name=path.name),
            file_name=path.name,
            uploaded_by=collection.owner,
            metadata=metadata,
            queue=False,
            within_quota=False,
        )


def _collection(named: str, owner_name: str) -> Collection:
    address = read_address(named)
    if address.id is not None:
        return collection_named(named)
    if owner_name and address.owner not in (None, owner_name):
        raise CommandError(
            translate("{name} is not a collection of {owner}.", name=named, owner=owner_name)
        )
    name = address.name
    owner_name = owner_name or address.owner or ""
    owner = User.objects.filter(username=owner_name).first() if owner_name else None
    if owner_name and owner is None:
        raise CommandError(translate("There is no user named {name}.", name=owner_name))
    visibility = Collection.Visibility.PRIVATE if owner else Collection.Visibility.PUBLIC
    return collection_ensure(owner=owner, name=name, visibility=visibility)


def _expand(patterns: Sequence[str]) -> tuple[list[Path], list[tuple[str, str]]]:
    """The files meant, each once, and what named nothing. Folders give their files of known types, hidden ones not."""
    files: dict[Path, None] = {}
    missing: list[tuple[str, str]] = []
    for pattern in patterns:
        path = Path(pattern)
        # The glob module, since pathlib's patterns can't be absolute.
        names = [] if path.exists() else sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
        matches = [path] if path.exists() else [Path(name) for name in names]
        if not matches:
            missing.append((pattern, translate("no such file or folder")))
        for match in matches:
            inside = _files_in(match) if match.is_dir() else [match]
            files.update(dict.fromkeys(inside))
    return list(files), missing


def _files_in(folder: Path) -> list[Path]:
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in EXTENSIONS
        and path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]


def _sentence(error: AppError) -> str:
    named = "; ".join(
        f"{field}: {' '.join(str(localized(text)) for text in texts)}"
        for field, texts in error.fields.items()
    )
    return named or str(localized(error.message))
