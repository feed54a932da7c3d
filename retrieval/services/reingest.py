"""Reading a document again from its stored file, for instance after its reader has been improved."""

from __future__ import annotations

from django.db import transaction

from ragsite.core.errors import ConflictError
from retrieval.models import Document
from retrieval.services.collections import collection_touch
from retrieval.services.documents import document_retry

FINISHED = (Document.Status.READY, Document.Status.FAILED)


@transaction.atomic
def document_reingest(*, document: Document) -> Document:
    """Drop its chunks and queue its ingest from the start. Until that is done the document is not found by searches.

    Raises ConflictError while an ingest of it is under way.
    """
    document = Document.objects.select_for_update().get(pk=document.pk)
    if document.status not in FINISHED:
        raise ConflictError("This document is being read at the moment; wait until that is done.")
    document.chunks.all().delete()
    document.chunk_count, document.page_count = 0, None
    document.save(update_fields=["chunk_count", "page_count"])
    collection_touch(collection_id=document.collection_id)
    return document_retry(document=document)
