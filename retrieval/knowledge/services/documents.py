"""What can happen to a document, apart from its ingest.

A newer version takes a document's place when it is ready: the earlier one is searched no more, and what cites it still
opens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Literal
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.base import File
from django.db import IntegrityError, transaction
from django.utils import timezone

from ragsite.core.errors import ConflictError, StorageFullError, TooLargeError
from ragsite.core.messages import worded
from ragsite.core.queueing import enqueue
from ragsite.core.storage import MIB, check_room, is_lack_of_room
from ragsite.core.text import clean_file_name
from ragsite.core.uploads import UploadsAwayError
from retrieval.engine.errors import CollectionNotFoundError
from retrieval.engine.values import EmbeddingSpace
from retrieval.knowledge.ingest.sniff import MEDIA_TYPES, SNIFF_BYTES, kind_by_name, refuse_foreign
from retrieval.knowledge.review_dates import review_date_of_next, review_date_set
from retrieval.knowledge.scopes import collection_space
from retrieval.knowledge.services.changes import reading_again_note, replacement_note
from retrieval.knowledge.services.collections import collection_emptied, collection_touch
from retrieval.knowledge.services.ingest_jobs import OPEN_STATES, job_user
from retrieval.knowledge.services.metadata import FILTERED, INDEXED, metadata_clean
from retrieval.knowledge.services.quotas import quota_check
from retrieval.models import Chunk, Collection, Document, IngestJob, upload_path

REQUEUE_AFTER_S = 120.0  # a job of `manage.py ingest` that it has not begun goes to the workers
INGEST_NEXT = (
    "retrieval.tasks.ingest_next"  # a worker that is free takes the next job, whosever turn it is
)
DEFAULT_COLLECTION = "documents"  # of an upload that names none
SAME_FILE = worded("The document was read from this same file. Choose its new version.")
BEING_READ = worded("This document is being read. Wait until that is done.")
SUPERSEDED = worded("A newer version has replaced this document. Change that one.")

Outcome = Literal["added", "unchanged", "retried"]
FINISHED = (Document.Status.READY, Document.Status.FAILED)


@dataclass(frozen=True, slots=True)
class DocumentCreated:
    """unchanged: the collection holds this very content already. retried: it does, but reading it had failed."""

    document: Document
    outcome: Outcome


def document_create(
    *,
    collection: Collection,
    upload: File[bytes],
    file_name: str,
    uploaded_by: User | None = None,
    metadata: Mapping[str, Any] | None = None,
    replaces: Document | None = None,
    queue: bool = True,
    within_quota: bool = True,
) -> DocumentCreated:
    """Store a file and queue its ingest once that is committed; `queue=False`: the caller runs it.

    metadata: as `metadata_clean` gives it. `replaces`: the document of this collection whose place it takes when it is
    ready; metadata that are not given are those of that one. `within_quota=False`: whoever runs the machine may add
    more than the collection's owner may.

    Raises TooLargeError, UnsupportedFileError, CollectionNotFoundError, StorageFullError, UploadsAwayError,
    QuotaExceededError, ConflictError for a document that has a newer version already, or for its own content.
    """
    name = clean_file_name(file_name)
    values = dict(metadata or {})
    if replaces is not None:
        values = _next_version(replaces, values)
    kind = kind_by_name(name)
    _check_size(upload, name)
    digest = content_digest(upload)
    if existing := Document.objects.filter(collection=collection, content_hash=digest).first():
        if replaces is not None:
            raise ConflictError(SAME_FILE if existing == replaces else _held(collection))
        return _existing(existing, upload, queue)
    document = Document(
        collection=collection,
        title=PurePosixPath(name).stem,
        file_name=name,
        media_type=MEDIA_TYPES[kind],
        size_bytes=upload.size or 0,
        content_hash=digest,
        uploaded_by=uploaded_by,
        replaces=replaces,
        **values,
    )
    review_date_set(document, collection)
    check_room(document.size_bytes)
    return _store(document, upload, queue=queue, within_quota=within_quota)


def _next_version(replaces: Document, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the version that follows it: those that are given, else its own. Raises ConflictError."""
    followed = replaces.newer_versions.exclude(status=Document.Status.FAILED).exists()
    if replaces.superseded_at is not None or followed:
        raise ConflictError(SUPERSEDED)
    values = {field: getattr(replaces, field) for field in FILTERED}
    values["version"] = replaces.version + 1
    values["review_by"] = review_date_of_next(replaces)
    return values | {field: value for field, value in metadata.items() if value}


def _check_size(upload: File[bytes], name: str) -> None:
    """Raises TooLargeError."""
    limit = settings.RAG.ingest.max_file_mib
    if (upload.size or 0) > limit * MIB:
        raise TooLargeError(
            worded("“{name}” is larger than {limit} MiB; split it.", name=name, limit=limit)
        )


def _store(
    document: Document, upload: File[bytes], *, queue: bool, within_quota: bool
) -> DocumentCreated:
    """The file, then its row and its job; where there is no row in the end, the file goes."""
    collection = document.collection
    _file_store(document, upload)
    try:
        with transaction.atomic():
            if within_quota:
                quota_check(collection=collection, size_bytes=document.size_bytes)
            document.save(force_insert=True)
            _job_open(document, queue)
    except IntegrityError:
        # The same content came in by another request in this moment, or the collection went away.
        document.file.delete(save=False)
        same = Document.objects.filter(
            collection=collection, content_hash=document.content_hash
        ).first()
        if same is None:
            raise CollectionNotFoundError from None
        return _existing(same, upload, queue)
    except BaseException:
        document.file.delete(save=False)
        raise
    return DocumentCreated(document, "added")


def _held(collection: Collection) -> str:
    return worded("“{name}” already holds this file.", name=collection.name)


def _file_store(document: Document, upload: File[bytes]) -> None:
    """All of it or nothing. Raises StorageFullError, UploadsAwayError."""
    try:
        document.file.save(document.file_name, upload, save=False)
    except UploadsAwayError:
        raise
    except OSError as error:
        document.file.storage.delete(upload_path(document, document.file_name))
        if is_lack_of_room(error):
            raise StorageFullError from error
        raise


@transaction.atomic
def document_update(*, document: Document, changes: Mapping[str, Any]) -> Document:
    """Change any of title, department, doc_type, policy_year, tags, review_by. Where the index knows of it, its rows
    are written again; vectors are kept, but for a new title: it is embedded with every chunk.

    Raises InvalidInputError.
    """
    clean = metadata_clean(changes)
    changed = [field for field, value in clean.items() if getattr(document, field) != value]
    if not changed:
        return document
    for field in changed:
        setattr(document, field, clean[field])
    if "review_by" in changed:
        review_date_set(document, document.collection)
        changed += ["review_due", "review_notified"]
    document.save(update_fields=[*changed, "updated_at"])
    if (
        not set(changed).isdisjoint(INDEXED)
        and document.chunk_count
        and document.status != Document.Status.FAILED
        and document.superseded_at is None
    ):
        _rows_write_anew(document, embedded="title" not in changed)
    collection_touch(collection_id=document.collection_id)
    return document


@transaction.atomic
def document_move(*, document: Document, collection: Collection) -> Document:
    """Put a document into another collection; whether its user may is the caller's to check.

    Its vectors go with it where both collections have one embedding space; else it is read again. Raises ConflictError
    where the same content is there already or the document is being read, QuotaExceededError.
    """
    document = (
        Document.objects.select_for_update(of=("self",))
        .select_related("collection")
        .get(pk=document.pk)
    )
    former = document.collection
    if former.pk == collection.pk:
        return document
    if document.status not in FINISHED:
        raise ConflictError(BEING_READ)
    if Document.objects.filter(collection=collection, content_hash=document.content_hash).exists():
        raise ConflictError(_held(collection))
    if collection.owner_id != former.owner_id:
        quota_check(collection=collection, size_bytes=document.size_bytes)
    document.collection = collection
    if document.review_by is None:
        review_date_set(document, collection)
    document.save(update_fields=["collection", "review_due", "review_notified", "updated_at"])
    document.keys.all().delete()  # whoever pushes to the former collection changes nothing in this one
    old_space = collection_space(former)
    space = collection_space(collection)
    if document.status == Document.Status.READY and document.superseded_at is None:
        if space == old_space:
            _rows_write_anew(document, embedded=True)
        else:
            document = document_reingest(document=document)
    if old_space is not None and space != old_space:
        document_unindex(document_id=document.pk, space=old_space)
    for changed in (former, collection):
        collection_touch(collection_id=changed.pk)
    collection_emptied(collection_id=former.pk)
    return document


@transaction.atomic
def document_supersede(*, document_id: UUID, by_id: int | None = None) -> None:
    """Its newer version, which by_id brought, is ready: it leaves the searches. Nothing where it has left them before,
    or is deleted."""
    documents = Document.objects.select_for_update(of=("self",)).select_related("collection")
    document = documents.filter(pk=document_id, superseded_at=None).first()
    if document is None:
        return
    document.superseded_at = timezone.now()
    document.save(update_fields=["superseded_at"])  # its keeper is notified by the signal
    replacement_note(document=document, by_id=by_id)
    Chunk.objects.filter(document=document).update(indexed=False, embedded=False)
    if space := collection_space(document.collection):
        document_unindex(document_id=document.pk, space=space)
    collection_touch(collection_id=document.collection_id)


@transaction.atomic
def document_restore(*, document_id: UUID) -> None:
    """The version that had taken its place is gone: it is searched again. Nothing where it was not superseded."""
    documents = Document.objects.select_for_update(of=("self",)).exclude(superseded_at=None)
    document = documents.filter(pk=document_id).first()
    if document is None:
        return
    document.superseded_at = None
    document.save(update_fields=["superseded_at", "updated_at"])
    if document.status == Document.Status.READY:
        _rows_write_anew(document, embedded=False)
    collection_touch(collection_id=document.collection_id)


@transaction.atomic
def document_delete(*, document: Document) -> None:
    """Gone from every search at once; its file and index rows follow after the commit (`services.deletion`).

    The version whose place it had taken is searched again.
    """
    document.delete()


def document_unindex(*, document_id: UUID, space: EmbeddingSpace) -> None:
    """A worker clears its rows in this space away, once what is under way is committed."""
    task = "retrieval.tasks.document_unindex"
    transaction.on_commit(partial(enqueue, task, str(document_id), space.model, space.dim))


@transaction.atomic
def document_retry(*, document: Document, queue: bool = True) -> Document:
    """Take up a failed document again where it failed."""
    document.status = Document.Status.QUEUED
    document.error = ""
    document.progress = 0.0
    document.save(update_fields=["status", "error", "progress", "updated_at"])
    _job_open(document, queue)
    return document


def _rows_write_anew(document: Document, *, embedded: bool) -> None:
    """Its index rows are stale; `embedded`: their vectors are not."""
    stale = {"indexed": False} if embedded else {"indexed": False, "embedded": False}
    Chunk.objects.filter(document=document).update(**stale)
    document.status = Document.Status.EMBEDDING
    document.progress = 0.0
    document.save(update_fields=["status", "progress"])
    _job_open(document, queue=True)


def _job_open(document: Document, queue: bool) -> None:
    """One open job per document: an open one is already what is wanted. `queue=False`: the caller will run it."""
    not_before = None if queue else timezone.now() + timedelta(seconds=REQUEUE_AFTER_S)
    _, created = IngestJob.objects.get_or_create(
        document=document,
        state__in=OPEN_STATES,
        defaults={"not_before": not_before, "user": job_user(document)},
    )
    if created and queue:
        transaction.on_commit(partial(enqueue, INGEST_NEXT))


def _existing(document: Document, upload: File[bytes], queue: bool) -> DocumentCreated:
    if document.status != Document.Status.FAILED:
        return DocumentCreated(document, "unchanged")
    if not document.file.name or not document.file.storage.exists(document.file.name):
        _file_store(document, upload)
        document.save(update_fields=["file"])
    return DocumentCreated(document_retry(document=document, queue=queue), "retried")


def content_digest(upload: File[bytes]) -> str:
    """SHA-256 of the whole; leaves the file at its beginning. Raises UnsupportedFileError for what is no document."""
    upload.seek(0)
    refuse_foreign(upload.read(SNIFF_BYTES), upload.name or "")
    upload.seek(0)
    digest = hashlib.sha256()
    for piece in upload.chunks():
        digest.update(piece)
    upload.seek(0)
    return digest.hexdigest()


@transaction.atomic
def document_reingest(*, document: Document, by: User | None = None) -> Document:
    """Drop its chunks and queue its ingest from the start. Until that is done the document is not found by searches.

    Raises ConflictError while an ingest of it is under way.
    """
    documents = Document.objects.select_for_update(of=("self",)).select_related("collection")
    document = documents.get(pk=document.pk)
    if document.superseded_at is not None:
        raise ConflictError(SUPERSEDED)
    if document.status not in FINISHED:
        raise ConflictError(BEING_READ)
    reading_again_note(document=document, by_id=by.pk if by else None)
    document.chunks.all().delete()
    document.chunk_count = document.word_count = 0
    document.page_count = None
    document.unread = []
    document.save(update_fields=["chunk_count", "page_count", "word_count", "unread"])
    collection_touch(collection_id=document.collection_id)
    return document_retry(document=document)
