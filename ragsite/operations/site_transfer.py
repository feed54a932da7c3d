"""A whole site as one file, and a new site made of it: `manage.py export_site` and `manage.py import_site`.

The file is a ZIP: `site.json` says what it is, `rows.jsonl` has one row of a table in each line as Django's serializer
writes it, and `files/` has the documents, each under its id. What a site makes by itself is left out: chunks and index
rows come from ingest jobs, boosts from the next feedback round. Rows keep their keys, so links and citations hold.
"""

from __future__ import annotations

import io
import json
import logging
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core import serializers
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import Q

from chat.models import Session
from ragsite.core import storage
from retrieval.knowledge.services.documents import document_retry
from retrieval.models import Collection, Document

logger = logging.getLogger(__name__)
CARRIED = (
    "auth.Group",
    "auth.User",
    "ragsite.Account",
    "ragsite.ApiToken",
    "account.EmailAddress",
    "mfa.Authenticator",
    "socialaccount.SocialAccount",
    "ragsite.Webhook",
    "ragsite.Notification",
    "ragsite.NotificationPreference",
    "ragsite.OwnPrompt",
    "retrieval.Collection",
    "retrieval.CollectionPerson",
    "retrieval.ShareReply",
    "retrieval.Document",
    "retrieval.KeptVector",
    "retrieval.SyncSource",
    "retrieval.DocumentKey",
    "retrieval.Memory",
    "retrieval.MemoryOrigin",
    "retrieval.MemoryPreference",
    "retrieval.SamplePreference",
    "chat.Assistant",
    "chat.Session",
    "chat.Message",
    "chat.Source",
    "chat.DecisionStep",
    "chat.Share",
    "chat.AnswerReview",
    "chat.ReviewedCollection",
    "chat.AnswerLabel",
    "chat.DeskEvent",
    "chat.Budget",
    "chat.UsageDay",
    "feedback.Rating",
    "feedback.RatedQuestion",
    "feedback.RatedPassage",
    "feedback.Evidence",
    "feedback.QuestionPair",
    "feedback.GoldenQuestion",
    "feedback.CuratedAnswer",
    "feedback.CuratedSource",
    "feedback.ManualBoost",
    "feedback.KnowledgeGap",
    "feedback.GapDocument",
    "feedback.GapRequest",
    "feedback.GapRequestSource",
    "admin.LogEntry",
    "auditlog.LogEntry",
)
# Permissions and kinds of tables have other keys on another site.
NATURAL = ("auth.", "admin.", "auditlog.")
# Temporary conversations stay where they are, with their files.
_TEMPORARY = Session.objects.filter(expires_at__isnull=False).values("pk")


def _not_of_temporary(way: str) -> Q:
    """way: from a row to the id of a conversation that a collection is of."""
    return Q((way, None)) | ~Q((f"{way}__in", _TEMPORARY))


ONLY: dict[str, Q] = {
    "chat.Session": Q(expires_at=None),
    "chat.Message": Q(session__expires_at=None),
    "chat.Source": Q(message__session__expires_at=None),
    "chat.DecisionStep": Q(message__session__expires_at=None),
    "retrieval.Collection": _not_of_temporary("conversation_id"),
    "retrieval.Document": _not_of_temporary("collection__conversation_id"),
    "retrieval.KeptVector": _not_of_temporary("document__collection__conversation_id"),
}
# What a new site finds out itself: it may have another embedding model.
RECOMPUTED: dict[str, dict[str, Any]] = {
    "retrieval.collection": {"embedding_model": "", "embedding_dim": None},
    "retrieval.document": {
        "file": "",
        "chunk_count": 0,
        "page_count": None,
        "word_count": 0,
        "unread": [],
    },
    "retrieval.memory": {"embedding_model": ""},
}
KIND = {"kind": "ragsite site", "format": 1}
ABOUT = "site.json"
ROWS = "rows.jsonl"
FILES = "files/"
ROWS_AT_ONCE = 500
MOST_LINE_BYTES = 256 * 1024 * 1024  # of one row
COPIED_BYTES = 1024 * 1024


class _Encoder(DjangoJSONEncoder):
    """With microseconds: messages are in the order of their times."""

    def default(self, o: Any) -> Any:
        return o.isoformat() if isinstance(o, datetime) else super().default(o)


class SiteFileError(Exception):
    """The file cannot be written or read, or the site is not empty; the message says in one sentence what to do."""


# ------------------------------------------------------------------------------------------------ out
def site_export(path: Path) -> list[str]:
    """Write the file, readable by its owner alone. Returns the documents whose files are gone. Raises SiteFileError."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise SiteFileError(
            f"{path} cannot be made ({error.strerror}): name a file that does not exist."
        ) from error
    try:
        with (
            os.fdopen(descriptor, "wb") as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            archive.writestr(ABOUT, json.dumps(KIND))
            with (
                archive.open(ROWS, "w", force_zip64=True) as entry,
                io.TextIOWrapper(entry, "utf-8") as lines,
            ):
                _write_rows(lines)
            return _write_files(archive)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _write_rows(lines: io.TextIOBase) -> None:
    for label in CARRIED:
        table = apps.get_model(label)._default_manager.filter(ONLY.get(label, Q()))
        rows = table.order_by("pk").iterator(chunk_size=ROWS_AT_ONCE)
        natural = label.startswith(NATURAL)
        serializers.serialize(
            "jsonl", rows, stream=lines, cls=_Encoder, use_natural_foreign_keys=natural
        )


def _write_files(archive: zipfile.ZipFile) -> list[str]:
    gone = []
    documents = Document.objects.filter(ONLY["retrieval.Document"]).exclude(file="")
    for document in documents.order_by("pk").iterator(chunk_size=ROWS_AT_ONCE):
        try:
            content = document.file.open("rb")
        except FileNotFoundError:
            gone.append(f"{document.title} ({document.pk})")
            continue
        with content, archive.open(f"{FILES}{document.pk}", "w", force_zip64=True) as entry:
            shutil.copyfileobj(content, entry, COPIED_BYTES)
    return gone


# ------------------------------------------------------------------------------------------------ in
def site_import(path: Path) -> int:
    """Make an empty site the one of the file, all of it or nothing. Returns how many documents wait to be read.

    Raises SiteFileError.
    """
    if User.objects.exists() or Collection.objects.exists():
        raise SiteFileError(
            "This site is not empty: set RAGSITE_DATA_DIR and DATABASE_URL to a new one."
        )
    stored: list[str] = []
    try:
        with zipfile.ZipFile(path) as archive, transaction.atomic():
            return _read(archive, stored)
    except Exception as error:  # whatever is wrong with a file that may hold anything
        logger.warning("%s was not imported", path, exc_info=error)
        for name in stored:
            default_storage.delete(name)
        why = (
            "cannot be read or stored"
            if isinstance(error, OSError)
            else "is damaged, or was not made by export_site"
        )
        raise SiteFileError(f"{path} {why}; nothing was imported. ({error})") from error


def _read(archive: zipfile.ZipFile, stored: list[str]) -> int:
    """stored: gets the names of the files that were written."""
    unpacked_mib = sum(entry.file_size for entry in archive.infolist()) / storage.MIB
    if unpacked_mib > storage.free_mib():
        raise ValueError(f"it unpacks to {unpacked_mib:,.0f} MiB, for which the disk has no room")
    if damaged := archive.testzip():
        raise zipfile.BadZipFile(damaged)
    if json.loads(archive.read(ABOUT)) != KIND:
        raise ValueError(f"{ABOUT} is of another kind or version")
    Group.objects.all().delete()  # those that the migrations make are among the file's
    with tempfile.TemporaryDirectory() as folder:
        fixture = Path(folder) / ROWS
        with archive.open(ROWS) as entry, fixture.open("w", encoding="utf-8") as lines:
            lines.writelines(_rows(_lines(entry)))
        ContentType.objects.clear_cache()  # it may know some that are gone
        call_command(
            "loaddata", fixture, ignorenonexistent=True, verbosity=0
        )  # tables and fields that are gone since
    documents = Document.objects.select_related("collection__owner", "uploaded_by").order_by(
        "created_at", "pk"
    )
    names = {f"{FILES}{key}" for key in documents.values_list("pk", flat=True)}
    if foreign := set(archive.namelist()) - names - {ABOUT, ROWS}:
        raise ValueError(f"it holds {min(foreign)[:100]!r}, which belongs to no document")
    waiting = 0
    for document in documents.iterator(chunk_size=ROWS_AT_ONCE):
        if f"{FILES}{document.pk}" in archive.NameToInfo:
            with archive.open(f"{FILES}{document.pk}") as content:
                document.file.save(document.file_name, File(content), save=False)
            stored.append(str(document.file.name))
            Document.objects.filter(pk=document.pk).update(file=document.file.name)
        if document.status != Document.Status.FAILED:
            document_retry(document=document)
            waiting += 1
    return waiting


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(MOST_LINE_BYTES + 1):
        if len(line) > MOST_LINE_BYTES:
            raise ValueError("a row is too long")
        yield line


def _may_come(label: str) -> bool:
    """Tables that are carried, and those that this version does not have, which are left out."""
    if label in {carried.lower() for carried in CARRIED}:
        return True
    try:
        apps.get_model(label)
    except (LookupError, ValueError):
        return True
    return False


def _rows(lines: Iterable[bytes]) -> Iterator[str]:
    """As this site takes them: without what it finds out itself, and without permissions that are gone since.

    Raises ValueError for rows of tables that no export carries, as a schedule's.
    """
    keys = {
        permission.natural_key() for permission in Permission.objects.select_related("content_type")
    }
    for line in lines:
        row = json.loads(line)
        if not _may_come(row["model"]):
            raise ValueError(f"it holds rows of {row['model'][:100]!r}")
        fields = row["fields"]
        fields.update(RECOMPUTED.get(row["model"], {}))
        if of := fields.get("content_type"):  # the logs name tables that are gone since, too
            ContentType.objects.get_or_create(app_label=str(of[0]), model=str(of[1]))
        for name in {"permissions", "user_permissions"} & fields.keys():
            fields[name] = [key for key in fields[name] if tuple(key) in keys]
        yield json.dumps(row) + "\n"
