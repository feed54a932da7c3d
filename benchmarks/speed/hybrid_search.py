"""Hybrid search against the Milvus calls it stands on, and against how others do it; same texts, same vectors.

    python -m benchmarks.hybrid_search [--sizes 1000,10000,50000] [--queries 30] [--json]

raw: one dense and one BM25 search of the same window, at once, by pymilvus alone. Ours adds analysis, fusion, and
reading the texts. Five wordings: a question and four rewrites that share most of its words, as rewrites do; five
questions: with nothing in common, the worst case. The embedding of the query is left out everywhere. Peers need
`pip install '.[peers]'`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import django
import numpy as np
from numpy.typing import NDArray

from benchmarks.speed import peers
from benchmarks.support.kept_embeddings import ModelsOfRun
from benchmarks.support.tables import medians_ms, show
from ragsite.core.rag_settings import RagSettings
from ragsite.runtime.milvus_lite import ensure_server
from retrieval.engine.ports import SearchRequest, Vectors
from retrieval.engine.providers.registry import ModelRegistry
from retrieval.engine.search import hybrid
from retrieval.engine.search.hybrid import HybridSearcher
from retrieval.engine.search.milvus.backends import HNSW_EF
from retrieval.engine.search.milvus.index import MilvusIndex
from retrieval.engine.search.milvus.writing import only_writer
from retrieval.engine.text.analysis import search_terms, terms_text
from retrieval.engine.values import CollectionRef, EmbeddingSpace, IndexRow, Query, SearchScope, StoredChunk

Vector = NDArray[np.float32]
DIM = 384
WORDS_PER_TEXT = 120
VOCABULARY = 30_000
STOP_WORDS = 100
TOP_K = 5
VARIANTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """texts[i] has vectors[i]; queries[j], eight words of some text, has query_vectors[j].

    wordings[j]: the query, and rewrites of it with two of its words exchanged; vectors of all of them in `known`.
    """

    texts: Sequence[str]
    vectors: Vectors
    queries: Sequence[str]
    query_vectors: Vectors
    wordings: Sequence[Sequence[str]]
    known: Mapping[str, Vector]


class MadeVectors:
    """An embedder for texts whose vectors are known."""

    space = EmbeddingSpace("made", DIM)

    def __init__(self, known: Mapping[str, Vector]) -> None:
        self._known = known

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._known[text] for text in texts])

    embed_queries = embed_documents


def make_corpus(size: int, queries: int) -> Corpus:
    """Words by Zipf's law without the most frequent, stop words in any language; vectors at random. Always the same."""
    numbers = np.random.default_rng(size)
    frequency = 1.0 / (STOP_WORDS + np.arange(VOCABULARY))
    words = numbers.choice(VOCABULARY, size=(size, WORDS_PER_TEXT), p=frequency / frequency.sum())
    texts = [" ".join(f"w{word}" for word in row) for row in words]
    asked = [" ".join(random.Random(at).sample(sorted(set(texts[at].split())), 8)) for at in range(queries)]
    vectors, query_vectors = _unit(numbers, size), _unit(numbers, queries)
    wordings = [_wordings(query, random.Random(query)) for query in asked]
    known = {
        text: _near(vector, numbers) if text != query else vector
        for query, vector, texts_of in zip(asked, query_vectors, wordings, strict=True)
        for text in texts_of
    }
    return Corpus(
        texts=texts, vectors=vectors, queries=asked, query_vectors=query_vectors, wordings=wordings, known=known
    )


def _wordings(query: str, choose: random.Random) -> list[str]:
    words = query.split()
    return [query] + [
        " ".join([*choose.sample(words, len(words) - 2), *(f"w{choose.randrange(VOCABULARY)}" for _ in range(2))])
        for _ in range(VARIANTS - 1)
    ]


def _near(vector: Vector, numbers: np.random.Generator) -> Vector:
    """A neighbour, cosine about 0.8."""
    near = vector + 0.75 * _unit(numbers, 1)[0]
    return np.asarray(near / np.linalg.norm(near), dtype=np.float32)


def _unit(numbers: np.random.Generator, count: int) -> Vectors:
    vectors = numbers.standard_normal((count, DIM)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@asynccontextmanager
async def filled(
    corpus: Corpus, settings: RagSettings, uri: str
) -> AsyncIterator[tuple[HybridSearcher, SearchScope, str]]:
    """A searcher over the corpus, its scope, and the Milvus collection's name."""
    milvus = settings.milvus.replace(uri=uri, prefix=f"benchmark_{uuid.uuid4().hex[:8]}")
    index = MilvusIndex(milvus, uri=uri, writer_lock=only_writer)
    collection_id, space = str(uuid.uuid4()), MadeVectors.space
    ids = [str(uuid.UUID(int=at)) for at in range(len(corpus.texts))]
    chunks = [
        StoredChunk(chunk_id=key, document_id=key, collection_id=collection_id, seq=0, title="", text=text)
        for key, text in zip(ids, corpus.texts, strict=True)
    ]
    rows = [
        IndexRow(
            chunk_id=key, collection_id=collection_id, document_id=key, seq=0, terms=terms_text(text), vector=vector
        )
        for key, text, vector in zip(ids, corpus.texts, corpus.vectors, strict=True)
    ]
    models = ModelsOfRun(ModelRegistry(settings.ollama), MadeVectors(corpus.known))
    try:
        await index.upsert(space, rows)
        scope = SearchScope((CollectionRef(id=collection_id, name="benchmark", space=space),))
        from retrieval.evaluation.collection import MemoryChunkStore  # needs Django

        store = MemoryChunkStore(chunks)
        yield (
            HybridSearcher(index=index, store=store, models=models, settings=settings.search),
            scope,
            index.alias(space),
        )
    finally:
        await index.drop(space)
        await index.close()
        await models.close()


async def measure(size: int, queries: int, settings: RagSettings, uri: str) -> list[dict[str, object]]:
    from pymilvus import AsyncMilvusClient

    corpus = await asyncio.to_thread(make_corpus, size, max(queries, VARIANTS))
    async with filled(corpus, settings, uri) as (searcher, scope, name):
        client = AsyncMilvusClient(uri=uri)
        window = TOP_K * hybrid.WINDOW_MULTIPLIER
        options = {"limit": window, "filter": f'collection_id in ["{scope.ids[0]}"]', "output_fields": ["document_id"]}

        async def raw(number: int, variants: int = 1) -> None:
            ef = {"metric_type": "COSINE", "params": {"ef": max(HNSW_EF, window)}}
            asked = [(number + at) % len(corpus.queries) for at in range(variants)]
            vectors, texts = (
                [corpus.query_vectors[at] for at in asked],
                [" ".join(search_terms(corpus.queries[at])) for at in asked],
            )
            await asyncio.gather(
                client.search(name, vectors, anns_field="vector", search_params=ef, **options),
                client.search(name, texts, anns_field="sparse", search_params={"metric_type": "BM25"}, **options),
            )

        async def ours(texts: Sequence[str]) -> None:
            request = SearchRequest(queries=tuple(Query(text) for text in texts), scope=scope, top_k=TOP_K)
            found = await searcher.search(request)
            assert len(found.candidates) == TOP_K

        runs = {
            "raw Milvus calls": raw,
            "Ragsite": lambda number: ours([corpus.queries[number]]),
            f"raw, {VARIANTS} questions in a call": lambda number: raw(number, VARIANTS),
            f"Ragsite, {VARIANTS} wordings": lambda number: ours(corpus.wordings[number]),
            f"Ragsite, {VARIANTS} questions": lambda number: ours(
                [corpus.queries[(number + at) % len(corpus.queries)] for at in range(VARIANTS)]
            ),
        }
        times = await medians_ms(runs, queries)
        await client.close()
    times |= await peers.measure(corpus.texts, corpus.vectors, corpus.queries, corpus.query_vectors, top_k=TOP_K)
    base = times["raw Milvus calls"]
    return [{"chunks": size, "what": what, "p50 ms": ms, "× raw": ms / base} for what, ms in times.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,50000")
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    django.setup()
    settings = RagSettings()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="ragsite-benchmark-") as folder, ensure_server(folder) as uri:
        for size in map(int, options.sizes.split(",")):
            rows += asyncio.run(measure(size, options.queries, settings, uri))
    show(rows, as_json=options.json, notes=peers.missing())


if __name__ == "__main__":
    main()
