"""How others search: LangChain's EnsembleRetriever (BM25 + vector store) and Haystack's in-memory hybrid pipeline.

Optional: `pip install '.[peers]'`; what is not installed is left out and named by `missing`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from importlib.util import find_spec

from benchmarks.support.tables import medians_ms
from retrieval.engine.ports import Vectors

PACKAGES = {
    "LangChain": ("langchain_classic", "langchain_community", "rank_bm25"),
    "Haystack": ("haystack",),
}
CALLS = 3  # that are timed; one of those that build their index anew takes seconds
Search = Callable[[int], None]


def missing() -> list[str]:
    """A line for each peer that is not installed."""
    return [
        f"{name} was left out: pip install '.[peers]'"
        for name, packages in PACKAGES.items()
        if not all(find_spec(package) for package in packages)
    ]


async def measure(
    texts: Sequence[str], vectors: Vectors, queries: Sequence[str], query_vectors: Vectors, *, top_k: int
) -> dict[str, float]:
    """Median ms of the peers that are installed."""
    left_out = " ".join(missing())
    few: dict[str, Search] = {}
    if "LangChain" not in left_out:
        few |= _langchain(texts, vectors, queries, query_vectors, top_k)
    if "Haystack" not in left_out:
        few["Haystack, in memory"] = _haystack(texts, vectors, queries, query_vectors, top_k)
    return await medians_ms({name: _as_async(search) for name, search in few.items()}, CALLS, warm_up=1)


def _as_async(search: Search) -> Callable[[int], Awaitable[None]]:
    async def run(number: int) -> None:
        search(number)

    return run


def _langchain(
    texts: Sequence[str], vectors: Vectors, queries: Sequence[str], query_vectors: Vectors, top_k: int
) -> dict[str, Search]:
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    class Known(Embeddings):
        def __init__(self) -> None:
            self._vectors = dict(zip([*texts, *queries], [*vectors.tolist(), *query_vectors.tolist()], strict=True))

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self._vectors[text] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return self._vectors[text]

    store = InMemoryVectorStore(Known())
    store.add_texts(list(texts))
    dense = store.as_retriever(search_kwargs={"k": top_k})
    built = BM25Retriever.from_texts(list(texts), k=top_k)

    def per_query(number: int) -> None:
        bm25 = BM25Retriever.from_texts(list(texts), k=top_k)
        EnsembleRetriever(retrievers=[bm25, dense], weights=[0.5, 0.5]).invoke(queries[number])

    def prebuilt(number: int) -> None:
        EnsembleRetriever(retrievers=[built, dense], weights=[0.5, 0.5]).invoke(queries[number])

    return {"LangChain, BM25 built per query": per_query, "LangChain, BM25 prebuilt": prebuilt}


def _haystack(
    texts: Sequence[str], vectors: Vectors, queries: Sequence[str], query_vectors: Vectors, top_k: int
) -> Search:
    from haystack import Document, Pipeline
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(
        [Document(content=text, embedding=vector) for text, vector in zip(texts, vectors.tolist(), strict=True)]
    )
    pipeline = Pipeline()
    pipeline.add_component("bm25", InMemoryBM25Retriever(store, top_k=top_k))
    pipeline.add_component("dense", InMemoryEmbeddingRetriever(store, top_k=top_k))
    pipeline.add_component("join", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=top_k))
    pipeline.connect("bm25", "join")
    pipeline.connect("dense", "join")

    def search(number: int) -> None:
        vector = query_vectors[number].tolist()
        pipeline.run({"bm25": {"query": queries[number]}, "dense": {"query_embedding": vector}})

    return search
