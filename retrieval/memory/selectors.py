"""Reads of what is remembered. The user is part of every query: not there and not yours answer alike."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from ragsite.core.text import clean_text
from retrieval.models import Memory, MemoryPreference


def memory_list(*, user: User, search: str = "") -> QuerySet[Memory]:
    """The user's own facts, the latest first; `search`: each word stands in the fact or its question."""
    memories = Memory.objects.filter(user=user).defer("vector")
    for word in clean_text(search).split():
        memories = memories.filter(Q(text__icontains_han=word) | Q(question__icontains_han=word))
    return memories.order_by("-updated_at", "pk")


def memory_enabled(*, user_id: int) -> bool:
    """The user's choice, else the setting."""
    chosen = MemoryPreference.objects.filter(user=user_id).values_list("enabled", flat=True).first()
    return settings.RAG.memory.enabled if chosen is None else chosen
