"""Documents under the keys of other systems: put again with the same content, nothing is read or embedded.

A key's former content stays as the earlier version, so that what cites it still opens; versions before that go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.contrib.auth.models import User
from django.core.files.base import File
from django.db import transaction

from retrieval.knowledge.services.documents import (
    content_digest,
    document_create,
    document_delete,
    document_update,
)
from retrieval.knowledge.services.metadata import metadata_clean
from retrieval.models import Collection, Document, DocumentKey

UNREAD = (Document.Status.QUEUED, Document.Status.PARSING, Document.Status.FAILED)


@dataclass(frozen=True, slots=True)
class DocumentPut:
    document: Document
    outcome: Literal["added", "changed", "unchanged", "retried"]


@transaction.atomic
def document_put(
    *,
    collection: Collection,
    source: str,
    key: str,
    upload: File[bytes],
    file_name: str,
    by: User | None = None,
    values: Mapping[str, Any] | None = None,
    fingerprint: str = "",
) -> DocumentPut:
    """Make the file what stands under the key. values: title and other metadata; those that are not given stay.

    Raises as `document_create`, InvalidInputError.
    """
    DocumentKey.objects.get_or_create(collection=collection, source=source, key=key)
    row = key_get(collection=collection, source=source, key=key, lock=True)
    assert row is not None
    values = dict(values or {})
    former = row.document
    digest = content_digest(upload)
    metadata = metadata_clean({name: value for name, value in values.items() if name != "title"})
    existing = Document.objects.filter(collection=collection, content_hash=digest).first()
    if existing is not None and existing.superseded_at is not None:
        document_delete(
            document=existing
        )  # an earlier version is in force again: it comes in again
        existing = None
    replaces = _place(row) if existing is None else None
    created = document_create(
        collection=collection,
        upload=upload,
        file_name=file_name,
        uploaded_by=by,
        metadata=metadata,
        replaces=replaces,
    )
    document = document_update(document=created.document, changes=values)
    brought = row.brought
    row.brought = created.outcome == "added" or (row.brought and former == document)
    row.document = document
    row.fingerprint = fingerprint
    row.missing_since = None
    row.save()
    if former is not None and former.pk and former not in (document, replaces):
        _let_go(former, brought)
    return DocumentPut(document, created.outcome if former in (None, document) else "changed")


def key_get(
    *, collection: Collection, source: str, key: str, lock: bool = False
) -> DocumentKey | None:
    rows = DocumentKey.objects.select_related("document__replaces")
    rows = rows.select_for_update(of=("self",)) if lock else rows
    return rows.filter(collection=collection, source=source, key=key).first()


@transaction.atomic
def key_delete(*, row: DocumentKey) -> None:
    """With its document, earlier versions and all, unless that came in otherwise or has other keys."""
    document = row.document
    brought = row.brought
    row.delete()
    if document is not None:
        _let_go(document, brought)


def _place(row: DocumentKey) -> Document | None:
    """The document whose place new content takes. What is not read yet goes, and so do versions before the last."""
    former = row.document
    if (
        former is None
        or not row.brought
        or former.superseded_at
        or former.keys.exclude(pk=row.pk).exists()
    ):
        return None
    earlier = former.replaces
    if former.status in UNREAD and (earlier is None or earlier.superseded_at is None):
        DocumentKey.objects.filter(pk=row.pk).update(document=None)
        document_delete(document=former)
        return earlier
    if earlier is not None and earlier.superseded_at is not None:
        document_delete(document=earlier)
    return former


def _let_go(document: Document, brought: bool) -> None:
    other = document.keys.first()
    if brought and other is not None:
        DocumentKey.objects.filter(pk=other.pk).update(brought=True)
    elif brought:
        versions = [document]
        while (earlier := versions[-1].replaces) is not None and not earlier.keys.exists():
            versions.append(earlier)
        for version in reversed(
            versions
        ):  # the last one last: else the one before would be searched again
            document_delete(document=version)
