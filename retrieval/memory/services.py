"""What is remembered for a user: written, kept within its limit, deleted. Synchronous: call it off the event loop.

The database is the truth. A fact that is new, changed or deleted gets a message to the worker, which condenses it,
keeps the index up to it, or clears the index (`services.memory_sync`).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Greatest
from django.db.models.signals import pre_delete
from django.utils import timezone

from ragsite.core.text import clean_line, clean_text
from retrieval.memory.selectors import memory_enabled, spaces_of
from retrieval.models import Memory, MemoryOrigin, MemoryPreference
from retrieval.services.queueing import memory_consolidate_queue, memory_unindex_queue, memory_unindex_user_queue
from retrieval.steps import memory as memory_step
from retrieval.text.analysis import analyze
from retrieval.text.numbers import NUMBER
from retrieval.values import EmbeddingSpace, Exchange

MAX_PER_USER = 200  # facts; beyond it, the one that was of no use for longest is forgotten
NEAR_DUPLICATE_TERMS = 0.8  # the same as the share of their words that both hold

QUESTION_CHARS = 500
DRAFT_CHARS = 4000


def memory_remember(*, user_id: int, exchange: Exchange) -> Literal["added", "updated", "off"]:
    """Keep the exchange's fact, in place of an older one that answers the same question or says the same.

    Beyond the user's limit, what was of no use for longest is forgotten.
    """
    if not memory_enabled(user_id=user_id):
        return "off"
    question = clean_line(exchange.question)[:QUESTION_CHARS]
    text = clean_line(exchange.fact)[: memory_step.MAX_CHARS]
    values = {"question": question, "text": text, "terms": terms_of(question, text)}
    values["draft"] = clean_text(exchange.answer)[:DRAFT_CHARS]
    try:
        with transaction.atomic():
            known = same_fact(user_id=user_id, question=question, text=text, terms=values["terms"])
            memory = known or Memory(user_id=user_id)
            for name, value in values.items():
                setattr(memory, name, value)
            memory.save()
            _note_origin(memory, exchange)
            _forget_surplus(user_id)
            transaction.on_commit(partial(memory_consolidate_queue, memory_id=memory.pk))
    except IntegrityError:  # the account was deleted while its answer was written
        return "off"
    return "updated" if known else "added"


def same_fact(*, user_id: int, question: str, text: str, terms: str) -> Memory | None:
    """The user's fact that this one replaces: its question in the same words, or nearly the same words altogether.

    Facts with different numbers are never nearly the same: the fees of two years are two facts.
    """
    words, numbers = set(terms.split()), numbers_of(question, text)
    for memory in Memory.objects.filter(user=user_id).order_by("-updated_at"):
        if _folded(memory.question) == _folded(question):
            return memory
        held = set(memory.terms.split())
        shared = len(words & held) / (len(words | held) or 1)
        same_numbers = numbers == numbers_of(memory.question, memory.text)
        if same_numbers and shared >= NEAR_DUPLICATE_TERMS:
            return memory
    return None


def memory_rewrite(*, memory: Memory, text: str) -> bool:
    """Put a condensed fact in place of the draft's. False: the row was deleted or written anew meanwhile."""
    text = clean_line(text)[: memory_step.MAX_CHARS]
    values = {"text": text, "terms": terms_of(memory.question, text), "draft": ""}
    return bool(_unchanged(memory).update(**values))


def memory_merge(*, newer: Memory, older: Memory) -> bool:
    """The newer fact takes the older one's place and keeps its count. False: one of them has gone or changed."""
    with transaction.atomic():
        uses = F("use_count") + older.use_count
        if not Memory.objects.filter(pk=older.pk).exists() or not _unchanged(newer).update(use_count=uses):
            return False
        known = newer.origins.values("answer_id")
        older.origins.exclude(answer_id__in=known).update(memory=newer)
        memories_forget(user_id=newer.user_id, memory_ids=[older.pk])
    return True


def memories_forget(*, user_id: int, memory_ids: Sequence[uuid.UUID] | None = None) -> int:
    """Delete these facts of the user's, or all; how many there were. Their index rows follow after the commit."""
    with transaction.atomic():
        memories = Memory.objects.filter(user=user_id)
        if memory_ids is not None:
            memories = memories.filter(pk__in=memory_ids)
        rows = list(memories.values_list("pk", "embedding_model", "embedding_dim"))
        for space in spaces_of(memories):
            ids = [pk for pk, model, dim in rows if (model, dim) == (space.model, space.dim)]
            transaction.on_commit(partial(memory_unindex_queue, space=space, memory_ids=ids))
        memories.delete()
    return len(rows)


@transaction.atomic
def conversation_memories_forget(*, conversation_id: uuid.UUID) -> int:
    """A conversation was deleted: what came from it alone goes along. How many facts that were."""
    origins = MemoryOrigin.objects.filter(conversation_id=conversation_id)
    touched = list(origins.values_list("memory_id", flat=True))
    origins.delete()
    return _forget_all(Memory.objects.filter(pk__in=touched, origins=None))


@transaction.atomic
def answer_memories_forget(*, answer_id: uuid.UUID) -> int:
    """An answer was found bad: the facts that it gave their words go, in others it is no longer an origin. How many
    went."""
    latest = MemoryOrigin.objects.filter(memory=OuterRef("pk")).order_by("-pk").values("answer_id")[:1]
    of_this = Memory.objects.filter(origins__answer_id=answer_id).alias(latest=Subquery(latest))
    forgotten = _forget_all(of_this.filter(latest=answer_id))
    MemoryOrigin.objects.filter(answer_id=answer_id).delete()
    return forgotten


def _forget_all(memories: QuerySet[Memory]) -> int:
    by_user: dict[int, list[uuid.UUID]] = {}
    for user_id, pk in memories.values_list("user_id", "pk"):
        by_user.setdefault(user_id, []).append(pk)
    return sum(memories_forget(user_id=user_id, memory_ids=ids) for user_id, ids in by_user.items())


def memory_switch(*, user: User, enabled: bool) -> None:
    """On or off for this user. Off: nothing is recalled and nothing written; what is there stays until deleted."""
    MemoryPreference.objects.update_or_create(user=user, defaults={"enabled": enabled})


def memories_used(*, user_id: int, memory_ids: Iterable[str]) -> None:
    """They were recalled: what is of use is kept longest."""
    used = Memory.objects.filter(user=user_id, pk__in=list(memory_ids))
    used.update(use_count=F("use_count") + 1, last_used_at=timezone.now())


def connect() -> None:
    """With a user's account goes what the index holds of them; the rows go by cascade."""
    pre_delete.connect(_user_goes, sender=User, dispatch_uid="retrieval.memory_user_deleted")


def _user_goes(sender: type[Model], instance: User, **_: Any) -> None:
    for space in spaces_of(Memory.objects.filter(user=instance)):
        transaction.on_commit(partial(memory_unindex_user_queue, space=space, user_id=instance.pk))


def _note_origin(memory: Memory, exchange: Exchange) -> None:
    if exchange.answer_id:
        MemoryOrigin.objects.get_or_create(
            memory=memory,
            answer_id=uuid.UUID(exchange.answer_id),
            defaults={"conversation_id": uuid.UUID(exchange.conversation_id)},
        )


def _forget_surplus(user_id: int) -> None:
    useful_at = Greatest(Coalesce("last_used_at", "updated_at"), "updated_at")
    by_use = Memory.objects.filter(user=user_id).annotate(useful_at=useful_at)
    ranked = by_use.order_by("-useful_at", "-use_count", "-created_at").values_list("pk", flat=True)
    if surplus := list(ranked[MAX_PER_USER:]):
        memories_forget(user_id=user_id, memory_ids=surplus)


def _unchanged(memory: Memory) -> Any:
    return Memory.objects.filter(pk=memory.pk, updated_at=memory.updated_at)


def terms_of(question: str, text: str) -> str:
    """The distinct terms of both, in order, parted by spaces."""
    return " ".join(dict.fromkeys(analyze(f"{question}\n{text}")))


def numbers_of(question: str, text: str) -> set[str]:
    """Numbers, dates and times in both, as they are written."""
    return set(NUMBER.findall(f"{question} {text}"))


def set_space(*, memory: Memory, space: EmbeddingSpace) -> bool:
    """Note that its row is in the index. False: the fact was deleted or changed meanwhile."""
    return bool(_unchanged(memory).update(embedding_model=space.model, embedding_dim=space.dim))


def _folded(question: str) -> str:
    return " ".join(question.casefold().split()).rstrip("?？!！.。 ")
