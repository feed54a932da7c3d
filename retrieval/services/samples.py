"""The sample handbook: loaded once per data folder, through the same services as every upload."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from retrieval.models import Collection, Document
from retrieval.selectors import visible_collections
from retrieval.services.collections import collection_ensure
from retrieval.services.documents import document_create, document_update
from retrieval.services.metadata import DocumentMetadata

logger = logging.getLogger(__name__)
SAMPLES_DIR = Path(__file__).resolve().parent.parent / "samples"
MARKER_NAME = "samples_loaded"
FIRST_RUN = timedelta(days=1)  # in which a loading that broke off is gone on with


@dataclass(frozen=True, slots=True)
class SamplesLoaded:
    """`skipped`: they were loaded before, and whoever deleted some of them meant it."""

    added: int = 0
    unchanged: int = 0
    skipped: bool = False
    document_ids: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class SuggestedQuestion:
    """`expects`: ANSWER, CLARIFY or NO_ANSWER: what the question shows off."""

    question: str
    language: str
    expects: str


@cache
def read_manifest() -> dict[str, Any]:
    """Collections, and documents with their metadata."""
    manifest: dict[str, Any] = json.loads((SAMPLES_DIR / "manifest.json").read_text(encoding="utf-8"))
    return manifest


@cache
def read_questions() -> list[dict[str, Any]]:
    """Labelled questions: question, language, expects, documents, note; `suggested` where the page offers it."""
    questions: list[dict[str, Any]] = json.loads((SAMPLES_DIR / "questions.json").read_text(encoding="utf-8"))[
        "questions"
    ]
    return questions


def samples_load(*, force: bool = False, queue: bool = True) -> SamplesLoaded:
    """Create the sample collections and queue their documents; without `force` only once per data folder, and not into
    a database that is older than its folder: that is a restored backup.

    Broken off and started again, it goes on: what is there already counts as unchanged. `queue=False`: the caller
    ingests the documents (`document_ids`) itself.
    """
    marker = Path(settings.DATA_DIR) / MARKER_NAME
    if not force and (marker.exists() or User.objects.filter(date_joined__lt=timezone.now() - FIRST_RUN).exists()):
        return SamplesLoaded(skipped=True)
    manifest = read_manifest()
    collections = {entry["name"]: _collection(entry) for entry in manifest["collections"]}
    outcomes = [_document(entry, collections[entry["collection"]], queue) for entry in manifest["documents"]]
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
    added = [document.pk for document, is_new in outcomes if is_new]
    logger.info("Sample handbook: %d documents added, %d there already", len(added), len(outcomes) - len(added))
    return SamplesLoaded(added=len(added), unchanged=len(outcomes) - len(added), document_ids=tuple(added))


def sample_collections() -> QuerySet[Collection]:
    """Those that hold the samples, whoever asks."""
    names = [entry["name"] for entry in read_manifest()["collections"]]
    return Collection.objects.filter(owner=None, name__in=names)


def sample_questions(
    user: User | AnonymousUser | None, *, language: str = "", limit: int = 9
) -> list[SuggestedQuestion]:
    """Questions to try the site with: one of each kind in `language` (e.g. "zh-hant") and one in each other language
    come first, so that few show as much as many.

    None where the user sees no sample collection with a document that is ready.
    """
    ready = Document.objects.filter(status=Document.Status.READY).values("collection")
    seen = visible_collections(user).filter(pk__in=sample_collections().values("pk")).filter(pk__in=ready)
    if not (available := set(seen.values_list("name", flat=True))):
        return []
    suggested = [
        SuggestedQuestion(entry["question"], entry["language"], entry["expects"])
        for entry in read_questions()
        if entry.get("suggested") and {file.split("/")[0] for file in entry["documents"]} <= available
    ]
    language = language.lower() or "en"
    return sorted(_most_telling_first(suggested, language)[:limit], key=partial(_distance, language=language))


def _distance(question: SuggestedQuestion, language: str) -> int:
    """0: the reader's language; 1: the same one in another script; 2: another one."""
    asked = question.language.lower()
    return 0 if asked == language else 1 if asked.split("-")[0] == language.split("-")[0] else 2


def _most_telling_first(questions: Sequence[SuggestedQuestion], language: str) -> list[SuggestedQuestion]:
    """One of each kind in the reader's language and one of each other language, then the others, the nearest first."""
    first: dict[tuple[str, str], SuggestedQuestion] = {}
    for question in questions:
        own = question.language.lower() == language
        first.setdefault((question.language, question.expects if own else ""), question)
    nearest = partial(_distance, language=language)
    telling = sorted(first.values(), key=nearest)
    return [*telling, *sorted((question for question in questions if question not in telling), key=nearest)]


def _collection(entry: dict[str, Any]) -> Collection:
    public = Collection.Visibility.PUBLIC
    return collection_ensure(owner=None, name=entry["name"], visibility=public, description=entry["description"])


@transaction.atomic
def _document(entry: dict[str, Any], collection: Collection, queue: bool) -> tuple[Document, bool]:
    """The document, and whether it is new."""
    path = SAMPLES_DIR / entry["file"]
    created = document_create(
        collection=collection,
        upload=ContentFile(path.read_bytes(), name=path.name),
        file_name=path.name,
        metadata=DocumentMetadata(
            department=entry["department"],
            doc_type=entry["doc_type"],
            policy_year=entry["policy_year"],
            tags=tuple(entry["tags"]),
        ),
        queue=queue,
    )
    if created.outcome == "added":
        document_update(document=created.document, changes={"title": entry["title"]})
    return created.document, created.outcome == "added"
