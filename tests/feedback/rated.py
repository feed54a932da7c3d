"""Rated answers for tests: a question, its answer with sources from real chunks, and users' ratings of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from chat.models import Message
from feedback.models import Rating
from retrieval.models import Chunk
from tests.factories import (
    ChunkFactory,
    DocumentFactory,
    SessionFactory,
    SourceFactory,
    UserFactory,
    answered,
)


def regular(**fields: Any) -> User:
    """A user whose account is no longer new."""
    user: User = UserFactory(**fields)
    User.objects.filter(pk=user.pk).update(date_joined=timezone.now() - timedelta(days=400))
    return user


def passage(text: str, **document: Any) -> Chunk:
    """A chunk in a document of its own."""
    return ChunkFactory(document=DocumentFactory(**document), text=text, seq=0)


def make_answer(
    question: str, chunks: Sequence[Chunk], *, user: User | None = None, **fields: Any
) -> Message:
    """An answer that cites each of the chunks once, unless `text` says otherwise."""
    fields.setdefault(
        "text", " ".join(f"It is so [{marker}]." for marker in range(1, len(chunks) + 1))
    )
    message = answered(question, session=SessionFactory(user=user or regular()), **fields)
    for marker, chunk in enumerate(chunks, start=1):
        SourceFactory(
            message=message,
            marker=marker,
            document_id=chunk.document_id,
            chunk_id=str(chunk.pk),
            text=chunk.text,
            cited=f"[{marker}]" in message.text,
        )
    return message


def rate(message: Message, score: int, *tags: str, marker: int | None = None) -> Rating:
    """By the session's owner."""
    source = message.sources.get(marker=marker) if marker else None
    rating, _ = Rating.objects.update_or_create(
        user=message.session.user,
        message=message,
        source=source,
        defaults={"score": score, "tags": list(tags)},
    )
    return rating


def rate_chunk(
    question: str, chunk: Chunk, *, by: int = 1, score: int = 5, tags: Sequence[str] = ("accurate",)
) -> None:
    """So many users ask the question, are shown this chunk, and rate the answer."""
    for _ in range(by):
        rate(make_answer(question, [chunk]), score, *tags)
