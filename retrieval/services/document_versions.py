"""A newer version takes a document's place: the earlier one is searched no more, and what cites it still opens."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from ragsite.core.errors import ConflictError
from ragsite.core.wording import worded
from retrieval.models import Chunk, Document
from retrieval.selectors import collection_space
from retrieval.services.collections import collection_touch
from retrieval.services.queueing import document_unindex_queue

SUPERSEDED = worded("A newer version has taken this document's place; change that one, or search this one again first.")


@transaction.atomic
def document_take_place(*, document: Document) -> None:
    """It is ready: what it replaces leaves the searches.

    Where several were uploaded as the next version of one document, they follow each other in the order in which they
    came, and only the last one is searched.
    """
    if document.replaces_id is None:
        return
    replaced = Document.objects.select_for_update(of=("self",)).filter(pk=document.replaces_id)
    if not replaced.exists():  # the lock is for another of its versions that becomes ready in this moment
        return
    document_supersede(document_id=document.replaces_id)
    ready = Document.objects.filter(
        replaces=document.replaces_id, collection=document.collection_id, status=Document.Status.READY
    )
    for earlier, later in pairwise(ready.order_by("created_at", "pk")):
        Document.objects.filter(pk=later.pk).update(replaces=earlier)
        document_supersede(document_id=earlier.pk)


@transaction.atomic
def document_supersede(*, document_id: UUID) -> None:
    """Its newer version is ready: it leaves the searches. Nothing where it has left them before, or is deleted."""
    documents = Document.objects.select_for_update(of=("self",)).select_related("collection")
    document = documents.filter(pk=document_id, superseded_at=None).first()
    if document is None:
        return
    document.superseded_at = timezone.now()
    document.save(update_fields=["superseded_at"])  # who cites it is told by the signal
    Chunk.objects.filter(document=document).update(indexed=False, embedded=False)
    if space := collection_space(document.collection):
        transaction.on_commit(partial(document_unindex_queue, document_id=document.pk, space=space))
    collection_touch(collection_id=document.collection_id)


def refuse_superseded(document: Document) -> None:
    """Raises ConflictError."""
    if document.superseded_at is not None:
        raise ConflictError(SUPERSEDED)
