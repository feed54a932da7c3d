"""A site whose people have rated much: what `benchmarks.feedback.feedback_round` measures on. Always the same rows.

Texts are sentences of the sample handbooks (English, Simplified and Traditional Chinese), about 600 characters a chunk;
each document is about an institution of its own, and questions name it. A question is about one chunk; few documents
and few questions get most of the ratings (Zipf). Its answer has three sources: that chunk, another of its document, and
one of another document; it cites the first, half of the time the second too. One rating in seven is of a single source.
Four verdicts in five follow from what the chunk is worth, so people agree as far as they do on a real site. Ratings are
spread over 180 days, everybody's in one conversation.
"""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

DAYS = 180
CHUNKS, CHUNK_CHARS = 4, 600  # of a document
BATCH = 2_000  # answers in a transaction
OF_A_SOURCE = 1 / 7
WRONG = 0.2
CONSONANTS, VOWELS = "bcdfghjklmnprstv", "aeiou"
REASONS_UP = ([], ["helpful"], ["accurate"], ["helpful", "accurate"])
REASONS_DOWN = ([], ["wrong_source"], ["outdated"], ["not_helpful"], ["incomplete"], ["style"])
_HAN = re.compile(r"[\u4e00-\u9fff]")
_MARKUP = re.compile(r"[#*|>`_]|<[^>]*>")
_SENTENCE = re.compile(r"(?<=[.。；;！？])\s*")


class Topic(NamedTuple):
    """A question. chunks: of its answer's sources, the one that it is about first. good: whether that answers it."""

    text: str
    chunks: Sequence[Any]
    good: bool


def make_site(*, ratings: int, documents: int, people: int, questions: int, now: datetime) -> list[Topic]:
    """Documents, people, and everything that was asked, answered and rated. Returns what is asked."""
    from django.contrib.auth.models import User
    from django.db import connection

    joined = now - timedelta(days=DAYS + 30)
    User.objects.bulk_create(
        [User(username=f"user{at}", password="!", date_joined=joined) for at in range(people)], batch_size=1_000
    )
    topics = _topics(_chunks(documents), questions)
    add_ratings(topics, ratings, now=now, seed=1)
    with connection.cursor() as cursor:  # as a database that has grown by and by
        cursor.execute("ANALYZE")
    return topics


def name_of(document: int) -> str:
    """A word of its own for each document: three syllables."""
    name, rest = "", document
    for _ in range(3):
        rest, syllable = divmod(rest, len(CONSONANTS) * len(VOWELS))
        name += CONSONANTS[syllable // len(VOWELS)] + VOWELS[syllable % len(VOWELS)]
    return name.capitalize()


def _chunks(documents: int) -> list[Any]:
    """Of all documents, in their order."""
    from retrieval.engine.providers.builtin import BUILTIN_SPACE
    from retrieval.models import Chunk, Collection, Document

    choose, known = random.Random("chunks"), sentences()
    collection = Collection.objects.create(
        name="handbooks",
        visibility=Collection.Visibility.PUBLIC,
        embedding_model=BUILTIN_SPACE.model,
        embedding_dim=BUILTIN_SPACE.dim,
    )
    rows = Document.objects.bulk_create(
        [
            Document(
                id=uuid.uuid5(uuid.NAMESPACE_OID, str(at)), collection=collection, title=f"{name_of(at)} handbook",
                file_name=f"handbook-{at}.md",
                media_type="text/markdown", content_hash=f"{at:064x}", status="ready", chunk_count=CHUNKS,
            )
            for at in range(documents)
        ],
        batch_size=1_000,
    )  # fmt: skip
    chunks = []
    for document in rows:
        for seq in range(CHUNKS):
            parts = [f"{document.title}, part {seq + 1}."]
            while sum(map(len, parts)) < CHUNK_CHARS:
                parts.append(choose.choice(known))
            text = " ".join(parts)
            key = uuid.uuid5(document.pk, str(seq))
            size = {"char_end": len(text), "token_count": len(text) // 4}
            chunks.append(Chunk(id=key, document=document, seq=seq, text=text, **size))
    return Chunk.objects.bulk_create(chunks, batch_size=1_000)


def sentences() -> tuple[str, ...]:
    from retrieval.knowledge.services.samples import SAMPLES_DIR

    files = sorted(SAMPLES_DIR.glob("*handbook/*.md"))
    text = "\n".join(_MARKUP.sub(" ", file.read_text(encoding="utf-8")) for file in files)
    parts = (" ".join(part.split()) for part in _SENTENCE.split(text))
    return tuple(part for part in dict.fromkeys(parts) if 15 <= len(part) <= 400)


def _topics(chunks: Sequence[Any], count: int) -> list[Topic]:
    choose, documents = random.Random("topics"), len(chunks) // CHUNKS
    about = _drawn(documents, count, seed=0, flat=5.0)
    topics = []
    for number, document in enumerate(about):
        own = chunks[document * CHUNKS : (document + 1) * CHUNKS]
        first, second = choose.sample(own, 2)
        sentence = choose.choice(_SENTENCE.split(first.text)[1:]).strip() or "this"
        name = name_of(document)
        if _HAN.search(sentence):
            text = f"{name}第{number}条关于{sentence[:12]}是怎么规定的？"
        else:
            text = f"What does rule {number} of {name} say about {' '.join(sentence.rstrip('.').split()[:7])}?"
        topics.append(Topic(text, (first, second, choose.choice(chunks)), choose.random() < 0.7))
    return topics


def add_ratings(topics: Sequence[Topic], count: int, *, now: datetime, seed: int, days: float = DAYS) -> None:
    """So many ratings, the oldest first, each with its question, its answer, sources and step of the decision path."""
    from django.contrib.auth.models import User
    from django.db import transaction

    from chat.models import Message, Session, Source
    from feedback.models import Rating

    people = list(User.objects.filter(username__startswith="user").order_by("pk"))
    sessions = Session.objects.bulk_create([Session(user=person) for person in people], batch_size=1_000)
    choose, wanted = random.Random(seed), _drawn(len(topics), count, seed=seed, flat=20.0)
    moments = np.sort(np.random.default_rng(seed).random(count)) * days
    for start in range(0, count, BATCH):
        messages: list[Message] = []
        sources: list[Source] = []
        ratings: list[Rating] = []
        for topic, day in zip(wanted[start : start + BATCH], moments[start : start + BATCH].tolist(), strict=True):
            text, chunks, good = topics[topic]
            session, at = choose.choice(sessions), now - timedelta(days=days - day)
            cited = 1 + (choose.random() < 0.5)
            question = Message(session=session, role="user", text=text, created_at=at)
            answer = Message(
                session=session, role="assistant", reply_to=question, decision="ANSWER", workflow="corrective",
                searched_for=text,
                text=" ".join(f"It is laid down there [{marker}]." for marker in range(1, cited + 1)), created_at=at,
            )  # fmt: skip
            own = [
                Source(
                    message=answer, marker=marker, document_id=chunk.document_id, chunk_id=str(chunk.pk),
                    title=chunk.document.title, text=chunk.text, cited=marker <= cited,
                )
                for marker, chunk in enumerate(chunks, start=1)
            ]  # fmt: skip
            verdict = good == (choose.random() >= WRONG)
            messages += [question, answer]
            sources += own
            ratings.append(
                Rating(
                    user=session.user, message=answer, score=choose.choice((4, 5, 5) if verdict else (1, 1, 2)),
                    source=choose.choice(own) if choose.random() < OF_A_SOURCE else None,
                    tags=choose.choice(REASONS_UP if verdict else REASONS_DOWN), created_at=at, updated_at=at,
                )
            )  # fmt: skip
        with transaction.atomic(), _times_as_given(Message, Rating):
            for model, rows in ((Message, messages), (Source, sources), (Rating, ratings)):
                model.objects.bulk_create(rows, batch_size=1_000)  # type: ignore[attr-defined]


def _drawn(things: int, count: int, *, seed: int, flat: float) -> list[int]:
    """Numbers below `things`, few of them often (Zipf); flat: how many share the top."""
    share = 1.0 / (flat + np.arange(things))
    drawn = np.random.default_rng(seed).choice(things, size=count, p=share / share.sum())
    return list(np.random.default_rng(0).permutation(things)[drawn].tolist())


@contextmanager
def _times_as_given(*models: Any) -> Iterator[None]:
    """Rows keep the times that they come with."""
    with ExitStack() as stack:
        for field in (field for model in models for field in model._meta.fields):
            for name in ("auto_now", "auto_now_add"):
                if getattr(field, name, False):
                    stack.enter_context(mock.patch.object(field, name, False))
        yield
