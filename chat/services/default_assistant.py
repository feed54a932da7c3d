"""The assistant that a new conversation has where nobody chose one, known to each process."""

from __future__ import annotations

import time

from django.db.models import Model
from django.db.models.signals import post_delete, post_save

from chat.models import Assistant

LOOK_EVERY_S = 2.0  # for what another process has changed
_known: Assistant | None = None
_looked_at = float("-inf")


def default_assistant() -> Assistant | None:
    """Everybody may use it: it is the site's, and public."""
    global _known, _looked_at
    if time.monotonic() - _looked_at >= LOOK_EVERY_S:
        _known = Assistant.objects.filter(is_default=True).first()
        _looked_at = time.monotonic()
    return _known


def forget() -> None:
    """Look again next time."""
    global _looked_at
    _looked_at = float("-inf")


def connect() -> None:
    """Once, when the site starts."""
    for signal in (post_save, post_delete):
        signal.connect(_changed, sender=Assistant, dispatch_uid=f"chat.assistant_{id(signal)}")


def _changed(sender: type[Model], **_: object) -> None:
    forget()
