"""Questions to people go with their conversations. Those whose asker's account was deleted have none: they go by the
same age."""

from __future__ import annotations

from datetime import datetime

from feedback.models import GapRequest


def requests_erase(before: datetime) -> int:
    """Returns how many rows went; with each the passages of its reply."""
    deleted, _ = GapRequest.objects.filter(message=None, sent_at__lt=before).delete()
    return deleted
