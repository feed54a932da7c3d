"""What follows the deletion of a conversation, whoever deleted: its user, the admin, or the end of an account."""

from __future__ import annotations

from typing import Any

from django.db.models import Model, QuerySet
from django.db.models.signals import post_delete

from chat.models import Session
from chat.services.attachments import attachments_delete
from retrieval.memory.services import conversation_memories_forget


def connect() -> None:
    """Once, when the site starts."""
    post_delete.connect(_session_deleted, sender=Session, dispatch_uid="chat.session_deleted")


def _session_deleted(
    sender: type[Model], instance: Session, origin: Model | QuerySet[Any] | None = None, **_: Any
) -> None:
    """What is remembered from it and attached to it goes along. With an account both go by themselves."""
    origin_model = origin.model if isinstance(origin, QuerySet) else type(origin)
    if origin_model is Session:
        conversation_memories_forget(conversation_id=instance.pk)
        attachments_delete(session_id=instance.pk)
