"""The sample handbook: loaded once per data folder, through the same services as every upload."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from retrieval.knowledge.services.collections import collection_ensure
from retrieval.knowledge.services.documents import DocumentCreated, document_create, document_update
from retrieval.knowledge.services.metadata import FILTERED
from retrieval.models import Collection, Document, SamplePreference

logger = logging.getLogger(__name__)
SAMPLES_DIR = Path(__file__).resolve().parents[2] / "samples"
MARKER_NAME = "samples_loaded"
FIRST_RUN = timedelta(days=1)  # in which a loading that broke off is resumed


@cache
def read_manifest() -> dict[str, Any]:
    """Collections, and documents with their metadata."""
    manifest: dict[str, Any] = json.loads(
        (SAMPLES_DIR / "manifest.json").read_text(encoding="utf-8")
    )
    return manifest


@cache
def read_questions() -> list[dict[str, Any]]:
    """Labelled questions: question, language, expects, documents, note; `suggested` where the page offers it."""
    questions: list[dict[str, Any]] = json.loads(
        (SAMPLES_DIR / "questions.json").read_text(encoding="utf-8")
    )["questions"]
    return questions


def samples_load(*, force: bool = False, queue: bool = True) -> list[Document]:
    """Create the sample collections and queue their documents; the new ones.

    Without `force` only once per data folder, whoever deleted some of them meant it; and not into a database that is
    older than its folder: that is a restored backup. Broken off and started again, it goes on. `queue=False`: the
    caller ingests the documents itself.
    """
    marker = Path(settings.DATA_DIR) / MARKER_NAME
    if not force and (
        marker.exists() or User.objects.filter(date_joined__lt=timezone.now() - FIRST_RUN).exists()
    ):
        return []
    manifest = read_manifest()
    collections = {entry["name"]: _collection(entry) for entry in manifest["collections"]}
    created = [
        _document(entry, collections[entry["collection"]], queue) for entry in manifest["documents"]
    ]
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
    added = [one.document for one in created if one.outcome == "added"]
    logger.info(
        "Sample handbook: %d documents added, %d there already",
        len(added),
        len(created) - len(added),
    )
    return added


def sample_questions(searched: QuerySet[Document]) -> list[dict[str, str]]:
    """`{"text", "language"}` of questions that the samples among these documents answer."""
    samples = searched.filter(collection__is_sample=True)
    there = {
        f"{collection}/{file}"
        for collection, file in samples.values_list("collection__name", "file_name")
    }
    return [
        {"text": entry["question"], "language": entry["language"]}
        for entry in read_questions()
        if entry.get("suggested")
        and entry["expects"] == "ANSWER"
        and there.issuperset(entry["documents"])
    ]


def _collection(entry: dict[str, Any]) -> Collection:
    public = Collection.Visibility.PUBLIC
    made = collection_ensure(
        owner=None, name=entry["name"], visibility=public, description=entry["description"]
    )
    Collection.objects.filter(pk=made.pk).update(is_sample=True)
    return made


def samples_leave_out(*, user: User, left_out: bool | None) -> None:
    """Of the user's questions; None: as it was before the user chose."""
    if left_out is None:
        SamplePreference.objects.filter(user=user).delete()
    else:
        SamplePreference.objects.update_or_create(user=user, defaults={"left_out": left_out})


@transaction.atomic
def _document(entry: dict[str, Any], collection: Collection, queue: bool) -> DocumentCreated:
    path = SAMPLES_DIR / entry["file"]
    created = document_create(
        collection=collection,
        upload=ContentFile(path.read_bytes(), name=path.name),
        file_name=path.name,
        metadata={field: entry[field] for field in FILTERED},
        queue=queue,
    )
    if created.outcome == "added":
        document_update(document=created.document, changes={"title": entry["title"]})
    return created
