"""What our own code costs an answer: everything but the model, which takes no time here, and the index.

The index calls that an answer made are recorded and made again by pymilvus alone, in the same waves: that is the
baseline. Chunks are rows of the site's database, as on a real site. Part of `python -m benchmarks.rounds`.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from benchmarks.speed.hybrid_search import DIM, Corpus, make_corpus
from retrieval.engine.ports import Prompt, Schema, Vectors
from retrieval.engine.values import AnswerOptions, EmbeddingSpace

SPACE = EmbeddingSpace("no-time", DIM)
WARM_UP = 3
ALLOWED_FACTOR, ALLOWED_MS = 1.5, 40.0
SENTENCE = 12  # words
CONSONANTS, VOWELS = "bcdfghjklmnprstv", "aeiou"
ANSWER = "The text says so [1]. " * 12


class InstantModel:
    """A chat model that answers at once, in the right form."""

    name, prompt_budget = "no-time", 6000

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        for piece in ANSWER.split(" "):
            yield f"{piece} "

    async def complete_json(self, prompt: Prompt, schema: type[Schema]) -> Schema:
        question = prompt.user.rsplit(":", 1)[-1].strip()
        words = question.split()
        fields: dict[str, Any] = {
            "scores": [max(0, 9 - number) for number in range(_count(schema))],
            "verdict": "ANSWER",
            "queries": [" ".join(words[:4]), " ".join(words[2:6]), " ".join(words[4:])],
            "hypothetical_passage": question,
            "standalone_question": question,
        }
        return schema.model_validate({name: fields[name] for name in schema.model_fields if name in fields})


def _count(schema: type[Schema]) -> int:
    """Of the passages that a judgement is asked about."""
    return int(schema.model_json_schema()["properties"].get("scores", {}).get("minItems", 0))


class InstantModels:
    """`retrieval.engine.ports.Models` and the embedder: vectors known, or made from the text's hash."""

    space = SPACE

    def __init__(self, corpus: Corpus) -> None:
        self._known = dict(zip(corpus.queries, corpus.query_vectors, strict=True))

    async def chat(self, role: str, *, name: str = "") -> InstantModel:
        return InstantModel()

    async def embedder(self, space: EmbeddingSpace) -> InstantModels:
        return self

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Any:
        if text not in self._known:
            seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
            vector = np.random.default_rng(seed).standard_normal(DIM).astype(np.float32)
            self._known[text] = vector / np.linalg.norm(vector)
        return self._known[text]


@dataclass(frozen=True, slots=True)
class Call:
    """One search that pymilvus was asked for."""

    args: tuple[Any, ...]
    options: dict[str, Any]
    began: float
    ended: float


async def measure_overhead(chunks: int, questions: int) -> list[dict[str, object]]:
    from retrieval.compose import get_engine
    from retrieval.engine.search.hybrid import HybridSearcher

    corpus = await asyncio.to_thread(lambda: prose(make_corpus(chunks, questions + WARM_UP)))
    engine = get_engine()
    models: Any = InstantModels(corpus)
    async with filled(corpus, engine.index) as scope:
        searcher = HybridSearcher(
            index=engine.index, store=engine.store, models=models, settings=engine.settings.search
        )
        settings = engine.settings
        always = settings.corrective.replace(good_score=0.0, weak_score=0.0)
        deps = replace(engine, models=models, searcher=searcher, settings=settings.replace(corrective=always))
        everything = AnswerOptions(rewrite=True, hyde=True, rerank=True)
        ways = {"one search, one round": AnswerOptions(), "two searches, three rounds": everything}
        return [await _measure(name, deps, corpus.queries, scope, options) for name, options in ways.items()]


def prose(corpus: Corpus) -> Corpus:
    """The same texts as sentences of words that are made of letters: codes, which w123 is, are analysed otherwise."""
    return replace(
        corpus,
        texts=[_sentences(text.split()) for text in corpus.texts],
        queries=[f"What about {_sentences(text.split())[:-1]}?" for text in corpus.queries],
    )


def _sentences(words: Sequence[str]) -> str:
    spelt = [_spelt(int(word[1:])) for word in words]
    parts = [" ".join(spelt[at : at + SENTENCE]) for at in range(0, len(spelt), SENTENCE)]
    return ". ".join(part.capitalize() for part in parts) + "."


def _spelt(number: int) -> str:
    """Each number as a word of its own, of four syllables."""
    word = ""
    for _ in range(4):
        number, syllable = divmod(number, len(CONSONANTS) * len(VOWELS))
        word += CONSONANTS[syllable // len(VOWELS)] + VOWELS[syllable % len(VOWELS)]
    return word


async def _measure(
    name: str, deps: Any, queries: Sequence[str], scope: Any, options: AnswerOptions
) -> dict[str, object]:
    """Answer and replay in turns, so that a busy machine is equally busy for both."""
    from pymilvus import AsyncMilvusClient

    from retrieval.engine.trace import Trace
    from retrieval.engine.values import Question
    from retrieval.engine.workflows.registry import get_workflow

    workflow = get_workflow("corrective")
    ours, raw, cpu, searches = [], [], [], 0
    for number, text in enumerate(queries):
        with_calls: list[Call] = []
        async with recorded(AsyncMilvusClient, with_calls) as (client_of, search):
            began, worked = time.perf_counter(), time.process_time()
            answer = await workflow.answer(
                Question(text=text, scope=scope, options=options), engine=deps, trace=Trace()
            )
            took, worked = time.perf_counter() - began, time.process_time() - worked
        assert answer.decision == "ANSWER"
        began = time.perf_counter()
        for wave in waves(with_calls):
            await asyncio.gather(*(search(client_of[0], *call.args, **call.options) for call in wave))
        replayed = time.perf_counter() - began
        if number >= WARM_UP:
            ours.append(took * 1000)
            cpu.append(worked * 1000)
            raw.append(replayed * 1000)
            searches = len(with_calls)
    allowed = ALLOWED_FACTOR * median(raw) + ALLOWED_MS
    return {
        "what": name, "index calls": searches, "raw p50 ms": median(raw), "answer p50 ms": median(ours),
        "allowed ms": allowed, "over raw ms": median(ours) - median(raw), "CPU p50 ms": median(cpu),
    }  # fmt: skip


@asynccontextmanager
async def recorded(client: Any, calls: list[Call]) -> AsyncIterator[tuple[list[Any], Any]]:
    """Every `search` of the client class is noted in `calls`; yields the client used and the unrecorded method."""
    plain, used = client.search, []

    async def search(self: Any, *args: Any, **options: Any) -> Any:
        used[:] = [self]
        began = time.perf_counter()
        try:
            return await plain(self, *args, **options)
        finally:
            calls.append(Call(args, options, began, time.perf_counter()))

    client.search = search
    try:
        yield used, plain
    finally:
        client.search = plain


def waves(calls: Sequence[Call]) -> list[list[Call]]:
    """Calls that ran at the same time, together."""
    result: list[list[Call]] = []
    for call in sorted(calls, key=lambda one: one.began):
        if result and call.began < max(other.ended for other in result[-1]):
            result[-1].append(call)
        else:
            result.append([call])
    return result


@asynccontextmanager
async def filled(corpus: Corpus, index: Any) -> AsyncIterator[Any]:
    """The corpus as rows of the database and of the index; every text is a document of its own."""
    from asgiref.sync import sync_to_async

    from retrieval.engine.text.analysis import terms_text
    from retrieval.engine.values import CollectionRef, IndexRow, SearchScope

    collection_id, ids = await sync_to_async(_write_rows)(corpus.texts)
    rows = await asyncio.to_thread(
        lambda: [
            IndexRow(
                chunk_id=key, collection_id=collection_id, document_id=key, seq=0, terms=terms_text(text), vector=vector
            )
            for key, text, vector in zip(ids, corpus.texts, corpus.vectors, strict=True)
        ]
    )
    try:
        await index.upsert(SPACE, rows)
        yield SearchScope((CollectionRef(id=collection_id, name="overhead", space=SPACE),))
    finally:
        await index.drop(SPACE)


def _write_rows(texts: Sequence[str]) -> tuple[str, list[str]]:
    from retrieval.models import Chunk, Collection, Document

    collection = Collection.objects.create(name="overhead", visibility=Collection.Visibility.PUBLIC)
    ids = [uuid.uuid4() for _ in texts]
    documents = [
        Document(id=key, collection=collection, title=f"Text {at}", file_name=f"{at}.txt", content_hash=f"{at:064d}",
                 status=Document.Status.READY)
        for at, key in enumerate(ids)
    ]  # fmt: skip
    Document.objects.bulk_create(documents, batch_size=500)
    Chunk.objects.bulk_create(
        [Chunk(id=key, document_id=key, seq=0, text=text) for key, text in zip(ids, texts, strict=True)], batch_size=500
    )
    return str(collection.pk), [str(key) for key in ids]
