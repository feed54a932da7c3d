"""A site whose users have rated much: what `benchmarks.feedback.feedback_round` measures on. Always the same rows.

Texts are sentences of the sample handbook (English, Simplified and Traditional Chinese) with other numbers in them,
about 900 characters a chunk; each document is about an institution of its own, and questions name it. A question is
about one chunk and is put in one of three wordings; some are asked often, most seldom (Zipf). Its answer has five
sources: that chunk, and others of the same and of other documents; it cites one to three. One rating in seven is of a
single source. Four verdicts in five follow from what the chunk is worth, so people agree as far as they do on a real
site. Ratings are spread over 180 days; a few accounts rate in bursts.
"""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np

Item = TypeVar("Item")
DAYS = 180
CONSONANTS, VOWELS = "bcdfghjklmnprstv", "aeiou"
CHUNKS_PER_DOCUMENT, CHUNK_CHARS = 4, 900
SOURCES = 5
TOPICS_PER_DOCUMENT = 3
OF_A_SOURCE = 1 / 7
WRONG = 0.2
BURSTS, VOTES_IN_A_BURST = 20, 16
REASONS_UP = ([], ["helpful"], ["accurate"], ["helpful", "accurate"])
REASONS_DOWN = ([], ["wrong_source"], ["outdated"], ["not_helpful"], ["incomplete"], ["style"])
WORDINGS = {
    "en": (
        "What do the rules of {name} say about {about}?",
        "Please tell me: {about}, how is that handled at {name}?",
        "I am at {name} and need to know about {about}.",
    ),
    "zh": ("{name}关于{about}是怎么规定的？", "请问在{name}，{about}怎么办？", "{about}，{name}有什么规定？"),
}
_NUMBER = re.compile(r"\d+")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_MARKUP = re.compile(r"[#*|>`_]|<[^>]*>")
_SENTENCE = re.compile(r"(?<=[.。；;！？])\s*")


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part


@dataclass(frozen=True, slots=True)
class Topic:
    """What questions are about. good: whether the chunk answers them."""

    document: int
    chunk: int
    about: str
    language: str
    good: bool


@dataclass(frozen=True, slots=True)
class Rated:
    """One rating with the answer that it is of. verdict: 1–5. marker: None for the whole answer."""

    user: int
    topic: int
    wording: int
    at: datetime
    verdict: int
    tags: Sequence[str]
    marker: int | None


# ------------------------------------------------------------------------------------------------ what there is
@cache
def sentences() -> tuple[str, ...]:
    from retrieval.services.samples import SAMPLES_DIR

    files = sorted(SAMPLES_DIR.glob("*handbook/*.md"))
    text = "\n".join(_MARKUP.sub(" ", file.read_text(encoding="utf-8")) for file in files)
    parts = (" ".join(part.split()) for part in _SENTENCE.split(text))
    return tuple(part for part in dict.fromkeys(parts) if 15 <= len(part) <= 400)


def chunk_texts(document: int) -> list[str]:
    choose = random.Random(f"document {document}")
    texts = []
    for _ in range(CHUNKS_PER_DOCUMENT):
        parts: list[str] = []
        while sum(map(len, parts)) < CHUNK_CHARS:
            parts.append(_NUMBER.sub(lambda _: str(choose.randrange(2, 3000)), choose.choice(sentences())))
        texts.append(" ".join(parts))
    return texts


def topic(number: int) -> Topic:
    choose = random.Random(f"topic {number}")
    document, chunk = number // TOPICS_PER_DOCUMENT, choose.randrange(CHUNKS_PER_DOCUMENT)
    sentence = choose.choice(_SENTENCE.split(chunk_texts(document)[chunk])).strip() or "this"
    language = "zh" if _HAN.search(sentence) else "en"
    about = sentence[:12] if language == "zh" else " ".join(sentence.rstrip(".").split()[:7])
    return Topic(document, chunk, about, language, good=choose.random() < 0.7)


@cache
def _topic(number: int) -> Topic:
    return topic(number)


def name_of(document: int) -> str:
    """A word of its own for each document: three syllables."""
    name, rest = "", document
    for _ in range(3):
        rest, syllable = divmod(rest, len(CONSONANTS) * len(VOWELS))
        name += CONSONANTS[syllable // len(VOWELS)] + VOWELS[syllable % len(VOWELS)]
    return name.capitalize()


def document_id(number: int) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, f"document {number}")


def chunk_id(document: int, seq: int) -> uuid.UUID:
    return uuid.uuid5(document_id(document), str(seq))


# ------------------------------------------------------------------------------------------------ what was rated
def ratings(count: int, *, documents: int, users: int, now: datetime, seed: int, days: int = DAYS) -> Iterator[Rated]:
    """So many ratings, oldest first."""
    draw, choose = np.random.default_rng(seed), random.Random(seed)
    topics = documents * TOPICS_PER_DOCUMENT
    frequency = 1.0 / (20.0 + np.arange(topics))  # the most asked one by one in 150
    asked = np.random.default_rng(0).permutation(topics)[draw.choice(topics, size=count, p=frequency / frequency.sum())]
    moments = np.sort(draw.random(count)) * days
    for number, day in zip(asked.tolist(), moments.tolist(), strict=True):
        good = _topic(number).good == (choose.random() >= WRONG)
        at = now - timedelta(days=days - day)
        marker = choose.randint(1, SOURCES) if choose.random() < OF_A_SOURCE else None
        yield Rated(
            user=choose.randrange(users), topic=number, wording=choose.randrange(3), at=at,
            verdict=choose.choice((4, 5, 5) if good else (1, 1, 2)),
            tags=choose.choice(REASONS_UP if good else REASONS_DOWN), marker=marker,
        )  # fmt: skip


def bursts(*, documents: int, users: int, now: datetime) -> Iterator[Rated]:
    """Single accounts that vote against one document again and again within an hour."""
    for number in range(BURSTS):
        attacked = number % documents * TOPICS_PER_DOCUMENT
        for vote in range(VOTES_IN_A_BURST):
            at = now - timedelta(days=number + 1, seconds=vote * 60)
            topic_number = attacked + vote % TOPICS_PER_DOCUMENT
            yield Rated(number % users, topic_number, vote % 3, at, 1, ["outdated"], None)


# ------------------------------------------------------------------------------------------------ rows
def rows_add(model: Any, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """columns: names of fields; of foreign keys the values are keys."""
    names = [model._meta.get_field(column).attname for column in columns]
    for part in batched(rows, 2000):
        model.objects.bulk_create(model(**dict(zip(names, row, strict=True))) for row in part)


def make_site(*, ratings_count: int, documents: int, users: int, now: datetime) -> None:
    """Documents, users, and everything that was asked, answered and rated."""
    from django.db import transaction

    with transaction.atomic():
        _add_documents(documents, now)
        _add_users(users, now)
    attacks = bursts(documents=documents, users=users, now=now)
    usual = ratings_count - BURSTS * VOTES_IN_A_BURST
    everything = chain(ratings(usual, documents=documents, users=users, now=now, seed=1), attacks)
    add_ratings(everything, documents=documents)
    _analyze()


def _analyze() -> None:
    """Statistics for the query planner, which a database that has grown by and by has."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _add_documents(count: int, now: datetime) -> None:
    from retrieval.models import Chunk, Collection, Document
    from retrieval.providers.embeddings import LEXICAL_SPACE

    collection = Collection.objects.create(
        name="handbooks",
        visibility=Collection.Visibility.PUBLIC,
        embedding_model=LEXICAL_SPACE.model,
        embedding_dim=LEXICAL_SPACE.dim,
    )
    names = (
        "id", "collection", "title", "file_name", "file", "media_type", "size_bytes", "content_hash", "language",
        "department", "doc_type", "tags", "summary", "status", "progress", "error", "chunk_count", "created_at",
        "updated_at",
    )  # fmt: skip
    long_ago = now - timedelta(days=DAYS + 30)
    rows_add(Document, names, (
        (
            document_id(at), collection.pk, f"{name_of(at)} handbook", f"handbook-{at}.md", "", "text/markdown",
            CHUNKS_PER_DOCUMENT * CHUNK_CHARS, f"{at:064x}", "en", "", "", [], "", "ready", 1.0, "",
            CHUNKS_PER_DOCUMENT, long_ago, long_ago,
        )
        for at in range(count)
    ))  # fmt: skip
    columns = (
        "id",
        "document",
        "seq",
        "text",
        "heading",
        "char_start",
        "char_end",
        "token_count",
        "indexed",
        "embedded",
    )
    chunks = (
        (chunk_id(at, seq), document_id(at), seq, text, "", 0, len(text), len(text) // 4, False, False)
        for at in range(count)
        for seq, text in enumerate(chunk_texts(at))
    )
    for part in batched(chunks, 5000):
        rows_add(Chunk, columns, part)


def _add_users(count: int, now: datetime) -> None:
    from django.contrib.auth.models import User

    joined = now - timedelta(days=DAYS + 30)
    User.objects.bulk_create(
        [User(username=f"user{at}", password="!", date_joined=joined) for at in range(count)], batch_size=500
    )


def add_ratings(rated: Iterator[Rated], *, documents: int) -> None:
    """Each with a session, a question, an answer with its sources and decision path, and the rating."""
    from django.contrib.auth.models import User
    from django.db import transaction

    users = list(User.objects.filter(username__startswith="user").order_by("pk").values_list("pk", flat=True))
    for part in batched(rated, 1000):
        rows = _Rows()
        for one in part:
            rows.add(one, users[one.user], documents)
        with transaction.atomic():
            rows.write()


class _Rows:
    """Rows of many conversations, written table by table. A source's key is known when its row is there."""

    def __init__(self) -> None:
        self.sessions: list[tuple[Any, ...]] = []
        self.messages: list[tuple[Any, ...]] = []
        self.sources: list[tuple[Any, ...]] = []
        self.steps: list[tuple[Any, ...]] = []
        self.ratings: list[tuple[Rated, int, uuid.UUID]] = []

    def add(self, rated: Rated, user: int, documents: int) -> None:
        choose = random.Random(f"{rated.user} {rated.topic} {rated.at}")
        about = _topic(rated.topic)
        session, asked, answer = (uuid.UUID(int=choose.getrandbits(128), version=4) for _ in range(3))
        wording = WORDINGS[about.language][rated.wording]
        question = wording.format(name=name_of(about.document), about=about.about)
        cited = {1, *choose.sample(range(2, SOURCES + 1), choose.randrange(3))}
        if rated.marker is not None:
            cited.add(rated.marker)
        text = " ".join(f"It is laid down that {about.about} [{marker}]." for marker in sorted(cited))
        self.sessions.append((session, user, question[:200], "", "corrective", [], rated.at, rated.at))
        self.messages.append(_message(asked, session, "user", None, question, "", rated.at))
        self.messages.append(_message(answer, session, "assistant", asked, text, "ANSWER", rated.at))
        for marker, (document, seq) in enumerate(_shown(about, choose, documents), start=1):
            self.sources.append(
                (
                    answer, marker, "document", document_id(document), str(chunk_id(document, seq)),
                    f"{name_of(document)} handbook", "", f"handbook-{document}.md", "", "",
                    _cached_texts(document)[seq], {"dense": 0.5, "bm25": 9.1, "fused": 0.7, "final": 0.7},
                    marker in cited,
                )
            )  # fmt: skip
        searched = {"queries": [{"kind": "original", "text": question}, {"kind": "rewrite", "text": about.about}]}
        path: tuple[tuple[str, Any], ...] = (("route", {}), ("retrieve", searched), ("boost", {}), ("generate", {}))
        for seq, (name, detail) in enumerate(path, start=1):
            self.steps.append((answer, seq, name, "ok", "", 0, 10, detail))
        self.ratings.append((rated, user, answer))

    def write(self) -> None:
        from chat.models import DecisionStep, Message, Session, Source
        from feedback.models import Rating

        rows_add(
            Session,
            ("id", "user", "title", "folder", "workflow", "collections", "created_at", "updated_at"),
            self.sessions,
        )
        rows_add(Message, MESSAGE_COLUMNS, self.messages)
        rows_add(Source, (
            "message", "marker", "kind", "document_id", "chunk_id", "title", "heading", "file_name", "url", "published",
            "text", "scores", "cited",
        ), self.sources)  # fmt: skip
        columns = ("message", "seq", "name", "status", "summary", "started_ms", "duration_ms", "detail")
        rows_add(DecisionStep, columns, self.steps)
        answers = [answer for rated, _, answer in self.ratings if rated.marker is not None]
        keys = Source.objects.filter(message__in=answers).values_list("message", "marker", "pk")
        source_of = {(message, marker): key for message, marker, key in keys}
        rows_add(
            Rating,
            ("id", "user", "message", "source", "score", "tags", "comment", "created_at", "updated_at"),
            (
                (
                    uuid.uuid5(answer, str(rated.marker)), user, answer, source_of.get((answer, rated.marker)),
                    rated.verdict, list(rated.tags), "", rated.at, rated.at,
                )
                for rated, user, answer in self.ratings
            ),
        )  # fmt: skip


MESSAGE_COLUMNS = (
    "id", "session", "role", "reply_to", "text", "status", "decision", "reason", "workflow", "model", "request",
    "usage", "degraded", "wordings", "superseded", "created_at", "finished_at",
)  # fmt: skip


def _message(
    key: uuid.UUID, session: uuid.UUID, role: str, reply_to: uuid.UUID | None, text: str, decision: str, at: datetime
) -> tuple[Any, ...]:
    return (
        key, session, role, reply_to, text, "complete", decision, "", "corrective", "a-model", {}, {}, [], {}, False,
        at, at,
    )  # fmt: skip


@cache
def _cached_texts(document: int) -> tuple[str, ...]:
    return tuple(chunk_texts(document))


def _shown(about: Topic, choose: random.Random, documents: int) -> list[tuple[int, int]]:
    """(document, chunk) of each source, the one that the question is about first."""
    own = [(about.document, seq) for seq in range(CHUNKS_PER_DOCUMENT) if seq != about.chunk]
    places = [(about.document, about.chunk), *choose.sample(own, 2)]
    while len(places) < SOURCES:
        place = (choose.randrange(documents), choose.randrange(CHUNKS_PER_DOCUMENT))
        if place not in places:
            places.append(place)
    return places
