"""What follows a deletion, whoever deleted: a service, the admin, or the end of a user's account.

The database is the truth, so a deleted document is gone from search with its row. Its file and its index rows are
cleared away after the commit; what a lost message leaves in the index, the next comparison with the database finds.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Model, QuerySet
from django.db.models.signals import post_delete, pre_delete

from ragsite.core.queueing import enqueue
from ragsite.core.uploads import UploadsAwayError
from retrieval.knowledge.scopes import collection_space
from retrieval.knowledge.services.collections import collection_emptied, collection_touch
from retrieval.knowledge.services.documents import document_restore, document_unindex
from retrieval.models import Collection, Document

logger = logging.getLogger(__name__)


def connect() -> None:
    """Connect the signals; called once, when the apps are ready."""
    pre_delete.connect(
        _document_deleting, sender=Document, dispatch_uid="retrieval.document_deleting"
    )
    post_delete.connect(
        _document_deleted, sender=Document, dispatch_uid="retrieval.document_deleted"
    )
    post_delete.connect(
        _collection_deleted, sender=Collection, dispatch_uid="retrieval.collection_deleted"
    )


def _document_deleted(
    sender: type[Model], instance: Document, origin: Model | QuerySet[Any] | None = None, **_: Any
) -> None:
    if instance.file.name:
        transaction.on_commit(partial(_file_delete, instance.file.name))
    origin_model = origin.model if isinstance(origin, QuerySet) else type(origin)
    if origin_model is not Document:
        return  # its collection goes too, and clears the index in one go
    collection = Collection.objects.filter(pk=instance.collection_id).first()
    if collection is None:
        return
    if space := collection_space(collection):
        document_unindex(document_id=instance.pk, space=space)
    collection_touch(collection_id=collection.pk)
    if instance.replaces_id is not None and instance.superseded_at is None:
        transaction.on_commit(partial(document_restore, document_id=instance.replaces_id))
    collection_emptied(collection_id=collection.pk)


def _file_delete(name: str) -> None:
    """Where the store is away, a worker does it when it is back."""
    try:
        default_storage.delete(name)
    except UploadsAwayError as error:
        logger.warning("The file %s of a deleted document is still there: %s", name, error)
        enqueue("retrieval.tasks.file_delete", name)


def _document_deleting(sender: type[Model], instance: Document, **_: Any) -> None:
    """Of three versions the middle one goes: the last one is now the next of the first."""
    Document.objects.filter(replaces=instance.pk).update(replaces=instance.replaces_id)


def _collection_deleted(sender: type[Model], instance: Collection, **_: Any) -> None:
    if space := collection_space(instance):
        task = "retrieval.tasks.collection_unindex"
        transaction.on_commit(partial(enqueue, task, str(instance.pk), space.model, space.dim))
