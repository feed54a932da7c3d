"""What makes the desk's rows: an answer that ends. `feedback` says when one is rated."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Model
from django.db.models.signals import post_save

from chat.models import Message


def connect() -> None:
    """Once, when the site starts."""
    post_save.connect(_message_saved, sender=Message, dispatch_uid="chat.review.message_saved")


def answer_changed(message_id: UUID) -> None:
    """Make its row again once what changed is committed. A failure is logged: the answer itself is stored."""
    transaction.on_commit(partial(_record, message_id), robust=True)


def _message_saved(sender: type[Model], instance: Message, raw: bool = False, **_: Any) -> None:
    if not raw and instance.role == Message.Role.ASSISTANT and instance.status != Message.Status.STREAMING:
        transaction.on_commit(partial(_record, instance.pk), robust=True)


def _record(message_id: UUID) -> None:
    # The search's dictionaries, which this needs, take a second to load: every command loads the apps.
    from chat.review.records import answers_record

    answers_record([message_id])
