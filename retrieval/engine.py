"""Puts the engine together for the running event loop: the one place where its parts meet Django's settings.

Clients of Ollama and Milvus belong to the loop that made them, so there is one engine per loop; it is made anew when
the settings change (tests do that).
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from django.conf import settings

from ragsite.core.rag_settings import MilvusSettings, RagSettings
from ragsite.runtime import milvus_lite
from retrieval.memory.store import DatabaseMemoryStore
from retrieval.ports import BoostSource, ChunkIndex, CuratedAnswers, JudgeRecords, Models, SearchRequest, SearchResult
from retrieval.prompting import PromptLibrary
from retrieval.providers.registry import ModelRegistry
from retrieval.providers.rerank_http import HttpReranker
from retrieval.providers.web_search import make_web_searcher
from retrieval.search.hybrid import HybridSearcher
from retrieval.search.index import MilvusIndex, import_client, schema
from retrieval.selectors import DatabaseChunkStore, DatabaseDocumentReader
from retrieval.services.search_cache import CachedSearcher
from retrieval.services.write_lease import write_lease
from retrieval.steps.retrieve.relax import search_relaxing
from retrieval.steps.retrieve.retrieve import search_documents
from retrieval.steps.step import Context
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text import analysis
from retrieval.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine(Toolbox):
    """What the workflows work with, and the indexes behind it, for those who write into them."""

    index: ChunkIndex
    memory_index: ChunkIndex


_engines: WeakKeyDictionary[asyncio.AbstractEventLoop, Engine] = WeakKeyDictionary()
_make_boosts: list[Callable[[Models, RagSettings], BoostSource]] = []  # one at most; filled in at start-up
_make_judge_records: list[Callable[[], JudgeRecords]] = []  # the same
_make_curated: list[Callable[[], CuratedAnswers]] = []  # the same


def use_boosts(make: Callable[[Models, RagSettings], BoostSource]) -> None:
    """Say where engines made from now on get their boosts from: `feedback` does, which nothing here may import."""
    _make_boosts[:] = [make]


def use_judge_records(make: Callable[[], JudgeRecords]) -> None:
    """Say where engines made from now on learn how far models have agreed with labels; without it, from nowhere."""
    _make_judge_records[:] = [make]


def use_curated_answers(make: Callable[[], CuratedAnswers]) -> None:
    """Say where engines made from now on find answers that people have written beforehand; without it, nowhere."""
    _make_curated[:] = [make]


def has_engine() -> bool:
    """Whether the running loop has one already, so that it is not yours to close."""
    return asyncio.get_running_loop() in _engines


def get_engine() -> Engine:
    """The engine of the running loop. Opens no connection by itself. Raises RuntimeError outside a loop."""
    loop = asyncio.get_running_loop()
    engine = _engines.get(loop)
    if engine is None or engine.settings is not settings.RAG:
        engine = _engines[loop] = _build(settings.RAG)
    return engine


async def search_as_answered(request: SearchRequest) -> SearchResult:
    """A search as an answer would see it, with what users' ratings make of it, for those who search without asking.

    A search in one leg alone is left in its order. Raises as `Searcher.search`.
    """
    engine = get_engine()
    if len(request.stages) < 2:
        answers = engine.settings.corrective.weak_score
        result, _ = await search_relaxing(engine.searcher, request, answers=answers)
        return result
    return await search_documents(Context(tools=engine, run=Run.start(Trace(), engine.settings)), request)


async def close_engine() -> None:
    """Close the running loop's clients; the next `get_engine` makes new ones."""
    if engine := _engines.pop(asyncio.get_running_loop(), None):
        await engine.index.close()
        await engine.memory_index.close()
        await engine.models.close()


def warm_up() -> None:
    """Load dictionaries and the clients of the index and the models in the background: seconds that the first question
    need not wait.

    What is loaded then stays, so the garbage collector need not look through it: a full collection would hold up
    everybody by 0.2 s.
    """

    def load() -> None:
        analysis.warm_up()
        import_client()
        importlib.import_module("retrieval.providers.ollama")
        gc.collect()
        gc.freeze()

    threading.Thread(target=load, name="warm-up", daemon=True).start()


def _build(rag: RagSettings) -> Engine:
    models = ModelRegistry(rag.ollama)
    index = _index(rag, rag.milvus)
    # What is remembered lies apart from the documents, under a prefix of its own, and has their schema.
    memory_index = _index(rag, rag.milvus.replace(prefix=f"{rag.milvus.prefix}_memory"))
    store = DatabaseChunkStore()
    hybrid = HybridSearcher(index=index, store=store, models=models, settings=rag.search)
    cached = CachedSearcher(hybrid, rag.search)
    reranker = HttpReranker(rag.rerank) if rag.rerank.url else None
    return Engine(
        settings=rag,
        models=models,
        prompts=PromptLibrary(rag.prompts_dir),
        index=index,
        memory_index=memory_index,
        store=store,
        documents=DatabaseDocumentReader(),
        searcher=cached,
        boosts=_make_boosts[0](models, rag) if _make_boosts else None,
        reranker=reranker,
        web=make_web_searcher(rag.web_search),
        memory=DatabaseMemoryStore(index=memory_index, models=models),
        curated=_make_curated[0]() if _make_curated else None,
        judge_records=_make_judge_records[0]() if _make_judge_records else None,
    )


def _index(rag: RagSettings, milvus: MilvusSettings) -> MilvusIndex:
    return MilvusIndex(
        milvus,
        uri=lambda: milvus.uri or milvus_lite.current_uri(rag.data_dir),
        writer_lock=write_lease,
        k1=schema.BM25_K1,
        b=schema.BM25_B,
    )
