"""That what a document says has changed: noted with the change, until those whose answers cite it are notified."""

from __future__ import annotations

import hashlib
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from retrieval.models import Chunk, Document, DocumentChange


def replacement_note(*, document: Document, by_id: int | None) -> None:
    """A newer version has taken its place. by_id: of the person who brought that."""
    changed = {"at": timezone.now(), "by_id": by_id, "former_text": ""}
    if document.collection.conversation_id is None:
        DocumentChange.objects.update_or_create(document=document, defaults=changed)


def reading_again_note(*, document: Document, by_id: int | None) -> None:
    """Its text is about to be dropped and read again. A change of which nobody was notified yet stays as it is."""
    if document.collection.conversation_id is None and document.chunk_count:
        noted = {"by_id": by_id, "former_text": text_digest(document.pk)}
        DocumentChange.objects.get_or_create(document=document, defaults=noted)


def text_digest(document_id: UUID) -> str:
    """Of what was read of it, however that was cut into chunks; blanks count for nothing."""
    digest = hashlib.sha256()
    read_to = 0
    chunks = Chunk.objects.filter(document=document_id).order_by("char_start", "seq")
    columns = chunks.values_list("char_start", "char_end", "text")
    for start, end, text in columns.iterator(chunk_size=500):
        new = text[max(0, read_to - start) :]
        digest.update("".join(new.split()).encode("utf-8", "surrogatepass"))
        read_to = max(read_to, end)
    return digest.hexdigest()


def changes_to_notify_of() -> QuerySet[DocumentChange]:
    """The oldest first; a document that is read again waits until that is done."""
    done = Q(former_text="") | Q(document__status=Document.Status.READY)
    return DocumentChange.objects.filter(done).select_related("document__collection").order_by("at")


def has_changed(change: DocumentChange) -> bool:
    """Whether the newer version is still in force, or another text was read."""
    if not change.former_text:
        return change.document.superseded_at is not None
    return text_digest(change.document_id) != change.former_text
