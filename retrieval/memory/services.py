"""What is remembered for a user: written, kept within its limit, deleted. Synchronous: call it off the event loop."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Literal

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, OuterRef, Subquery
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from ragsite.core.text import clean_line
from retrieval.engine.steps.memory import MAX_CHARS
from retrieval.engine.text.analysis import analyze
from retrieval.engine.values import Exchange
from retrieval.memory.selectors import memory_enabled
from retrieval.models import Memory, MemoryOrigin, MemoryPreference

MAX_PER_USER = 200  # facts; beyond it, the one that was of no use for longest is forgotten
QUESTION_CHARS = 500


def memory_remember(
    *, user_id: int, exchange: Exchange, embedding_model: str = "", vector: bytes = b""
) -> Literal["added", "updated", "off"]:
    """Keep the exchange's fact, in place of an older one that answers the same question. vector: the model's, float32;
    empty: the fact is found by its words alone.

    Beyond the user's limit, what was of no use for longest is forgotten.
    """
    if not memory_enabled(user_id=user_id):
        return "off"
    question = clean_line(exchange.question)[:QUESTION_CHARS]
    text = clean_line(exchange.fact)[:MAX_CHARS]
    try:
        with transaction.atomic():
            own = Memory.objects.filter(user=user_id).order_by("-updated_at").defer("vector")
            known = next(
                (memory for memory in own if _folded(memory.question) == _folded(question)), None
            )
            memory = known or Memory(user_id=user_id)
            memory.question = question
            memory.text = text
            memory.terms = terms_of(question, text)
            memory.embedding_model = embedding_model
            memory.vector = vector
            memory.save()
            if exchange.answer_id:
                MemoryOrigin.objects.get_or_create(
                    memory=memory,
                    answer_id=uuid.UUID(exchange.answer_id),
                    defaults={"conversation_id": uuid.UUID(exchange.conversation_id)},
                )
            _forget_surplus(user_id)
    except IntegrityError:  # the account was deleted while its answer was written
        return "off"
    return "updated" if known else "added"


def memories_forget(*, user_id: int, memory_ids: Sequence[uuid.UUID] | None = None) -> int:
    """Delete these facts of the user's, or all; how many there were."""
    memories = Memory.objects.filter(user=user_id)
    if memory_ids is not None:
        memories = memories.filter(pk__in=memory_ids)
    return memories.delete()[1].get(Memory._meta.label, 0)


@transaction.atomic
def conversation_memories_forget(*, conversation_id: uuid.UUID) -> int:
    """A conversation was deleted: what came from it alone goes along. How many facts that were."""
    origins = MemoryOrigin.objects.filter(conversation_id=conversation_id)
    touched = list(origins.values_list("memory_id", flat=True))
    origins.delete()
    return Memory.objects.filter(pk__in=touched, origins=None).delete()[0]


@transaction.atomic
def answer_memories_forget(*, answer_id: uuid.UUID) -> int:
    """An answer was found bad: the facts that it gave their words go, in others it is no longer an origin. How many
    went."""
    latest = (
        MemoryOrigin.objects.filter(memory=OuterRef("pk")).order_by("-pk").values("answer_id")[:1]
    )
    of_this = Memory.objects.filter(origins__answer_id=answer_id).alias(latest=Subquery(latest))
    worded_by_it = list(of_this.filter(latest=answer_id).values_list("pk", flat=True))
    Memory.objects.filter(pk__in=worded_by_it).delete()
    MemoryOrigin.objects.filter(answer_id=answer_id).delete()
    return len(worded_by_it)


def memory_switch(*, user: User, enabled: bool) -> None:
    """On or off for this user. Off: nothing is recalled and nothing written; what is there stays until deleted."""
    MemoryPreference.objects.update_or_create(user=user, defaults={"enabled": enabled})


def memories_used(*, user_id: int, memory_ids: Iterable[str]) -> None:
    """They were recalled: what is of use is kept longest."""
    used = Memory.objects.filter(user=user_id, pk__in=list(memory_ids))
    used.update(use_count=F("use_count") + 1, last_used_at=timezone.now())


def _forget_surplus(user_id: int) -> None:
    useful_at = Greatest(Coalesce("last_used_at", "updated_at"), "updated_at")
    by_use = Memory.objects.filter(user=user_id).annotate(useful_at=useful_at)
    ranked = by_use.order_by("-useful_at", "-use_count", "-created_at").values_list("pk", flat=True)
    if surplus := list(ranked[MAX_PER_USER:]):
        memories_forget(user_id=user_id, memory_ids=surplus)


def terms_of(question: str, text: str) -> str:
    """The distinct terms of both, in order, parted by spaces."""
    return " ".join(dict.fromkeys(analyze(f"{question}\n{text}")))


def _folded(question: str) -> str:
    return " ".join(question.casefold().split()).rstrip("?？!！.。 ")
