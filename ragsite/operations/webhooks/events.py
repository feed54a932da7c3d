"""The events of webhooks: the site listens to rows that are saved; nobody who saves them knows. No text of people."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection
from typing import Any

from django.db.models import Model
from django.db.models.signals import post_save
from django.utils import timezone

from feedback.models import GapRequest, KnowledgeGap, Rating
from feedback.models.ratings import thumb_of
from feedback.requests.asking import request_sent
from feedback.requests.replying import request_ended
from ragsite.core.database import after_commit
from ragsite.core.queueing import enqueue
from ragsite.models import Webhook
from retrieval.models import Document

Event = Webhook.Event
DOCUMENT_EVENTS = {
    Document.Status.READY: Event.DOCUMENT_READY,
    Document.Status.FAILED: Event.DOCUMENT_FAILED,
}


def connect() -> None:
    """Once, when the site starts."""
    post_save.connect(_document, sender=Document, dispatch_uid="webhooks.document")
    post_save.connect(_rating, sender=Rating, dispatch_uid="webhooks.rating")
    post_save.connect(_gap, sender=KnowledgeGap, dispatch_uid="webhooks.gap")
    request_sent.connect(_request_sent, dispatch_uid="webhooks.request_sent")
    request_ended.connect(_request_ended, dispatch_uid="webhooks.request_ended")


def _document(
    sender: type[Model], instance: Document, update_fields: Collection[str] | None = None, **_: Any
) -> None:
    event = DOCUMENT_EVENTS.get(Document.Status(instance.status))
    if event and "status" in (update_fields or ()) and instance.collection.conversation_id is None:
        data = {
            "id": str(instance.pk),
            "title": instance.title,
            "collection": instance.collection.address,
        }
        _tell(event, {**data, "error": instance.error} if instance.error else data)


def _rating(sender: type[Model], instance: Rating, raw: bool = False, **_: Any) -> None:
    if not raw and instance.source_id is None and thumb_of(instance.score) == "down":
        tags = {"score": instance.score, "tags": instance.tags}
        _tell(Event.ANSWER_RATED_DOWN, {"message_id": str(instance.message_id), **tags})


def _gap(
    sender: type[Model],
    instance: KnowledgeGap,
    created: bool,
    update_fields: Collection[str] | None = None,
    **_: Any,
) -> None:
    if created or (instance.reopened and "reopened" in (update_fields or ())):
        _tell(Event.GAP_OPENED, {"id": instance.pk, "reopened": instance.reopened})


def _request_sent(sender: Any, request: GapRequest, **_: Any) -> None:
    _tell(Event.REQUEST_SENT, _request(request))


def _request_ended(sender: Any, request: GapRequest, **_: Any) -> None:
    _tell(Event.REQUEST_ENDED, _request(request) | {"state": request.state})


def _request(request: GapRequest) -> dict[str, Any]:
    return {"id": str(request.pk), "gap": request.gap_id, "sent_to": request.sent_to}


def _tell(event: Webhook.Event, data: dict[str, Any]) -> None:
    """To every active webhook that wants it, once the transaction is committed."""
    hooks = [hook for hook in Webhook.objects.filter(is_active=True) if event in hook.events]
    body = json.dumps(
        {"type": event, "timestamp": timezone.now().isoformat(), "data": data}, ensure_ascii=False
    )
    for hook in hooks:
        after_commit(
            enqueue, "ragsite.tasks.webhook_send", str(hook.pk), f"msg_{uuid.uuid4().hex}", body
        )
