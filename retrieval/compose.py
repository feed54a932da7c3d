"""Puts the engine together for the running event loop: the one place where its parts meet Django's settings.

Clients of Ollama and Milvus belong to the loop that made them, so there is one engine per loop. When the settings
change (`ragsite.runtime.live_settings`), the next question gets another one; answers that are being written go on with
the engine that they began with.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from asgiref.sync import async_to_sync
from django.conf import settings
from django.utils import translation

from ragsite.core.localized import localized
from ragsite.core.queueing import enqueue
from ragsite.core.rag_settings import RagSettings
from ragsite.runtime import milvus_lite
from retrieval.engine.deps import Deps
from retrieval.engine.ports import BoostSource, CuratedAnswers, Models, SearchRequest, SearchResult
from retrieval.engine.prompting import PromptLibrary
from retrieval.engine.providers.registry import ModelRegistry
from retrieval.engine.providers.rerank_http import HttpReranker
from retrieval.engine.providers.web_search import make_web_searcher
from retrieval.engine.search.completeness import IndexCompleteness
from retrieval.engine.search.hybrid import HybridSearcher
from retrieval.engine.search.milvus.connection import import_client
from retrieval.engine.search.milvus.index import BM25_B, BM25_K1, MilvusIndex
from retrieval.engine.search.preferring import search_preferring
from retrieval.engine.search.space_search import SpaceSearcher
from retrieval.engine.steps.retrieve.search import search_documents
from retrieval.engine.text import analysis
from retrieval.engine.text.phrases import Language
from retrieval.engine.trace import Trace
from retrieval.engine.workflows.registry import NAMES, get_workflow
from retrieval.knowledge.chunk_store import DatabaseChunkStore, DatabaseDocumentReader
from retrieval.knowledge.counting.counter import DatabaseCounter
from retrieval.knowledge.index_sync.write_lease import write_lease
from retrieval.knowledge.search_cache import SharedSearchCache
from retrieval.knowledge.term_search import DatabaseTermStore
from retrieval.memory.store import DatabaseMemoryStore

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine(Deps):
    """What the workflows work with, and the index behind it, for those who write into it."""

    index: MilvusIndex
    completeness: IndexCompleteness


# The garbage collector's thresholds of a process that answers: an answer makes tens of thousands of objects that live
# as long as it does, and few cycles. Looked through at every 700th, as by default, they cost it processor time.
COLLECTED_EVERY = (20_000, 20, 20)
SEARCH_S = 30.0  # that ratings may be waited for in a search without an answer
INDEX_CHECK = "retrieval.tasks.index_check"
REPAIR_EXPIRES_S = 60.0  # by then it was asked for again
GRACE_S = 30.0  # that an answer may take beyond its time
_closing: set[asyncio.Future[None]] = set()
_engines: WeakKeyDictionary[asyncio.AbstractEventLoop, list[Engine]] = (
    WeakKeyDictionary()
)  # the newest first
_ports: dict[
    str, Callable[[Models], Any]
] = {}  # makers of parts that nothing here may import; filled in at start-up


def use_ports(
    *, boosts: Callable[[Models], BoostSource], curated: Callable[[Models], CuratedAnswers]
) -> None:
    """Say where engines made from now on get boosts from, and answers that people have written beforehand."""
    _ports.update(boosts=boosts, curated=curated)


def get_engine() -> Engine:
    """The engine of the running loop. Opens no connection by itself. Raises RuntimeError outside a loop."""
    engines = _engines.setdefault(asyncio.get_running_loop(), [])
    if not engines or engines[0].settings is not settings.RAG:
        engines.insert(0, _new(settings.RAG))
        for former in engines[1:2]:
            # The longest answer that can hold it has ended then.
            wait_s = former.settings.limits.answer_timeout_s + GRACE_S
            asyncio.get_running_loop().call_later(wait_s, _close_former, engines, former)
    return engines[0]


def _close_former(engines: list[Engine], former: Engine) -> None:
    if former in engines:
        engines.remove(former)
        closing = asyncio.ensure_future(_close(former))
        _closing.add(closing)
        closing.add_done_callback(_closing.discard)


async def _close(engine: Engine) -> None:
    await engine.index.close()
    await engine.models.close()


async def search_as_answered(request: SearchRequest, *, asker_id: str = "") -> SearchResult:
    """A search as an answer would see it, with what users' ratings make of it, for those who search without asking.

    A search in one leg alone is left in its order. Raises as `HybridSearcher.search`.
    """
    deps = get_engine().for_answer(Trace(), timeout_s=SEARCH_S, asker_id=asker_id)
    if len(request.stages) < 2:
        return await search_preferring(deps.searcher, request)
    return await search_documents(deps, request)


async def close_engine() -> None:
    """Close the running loop's clients; the next `get_engine` makes new ones."""
    for engine in _engines.pop(asyncio.get_running_loop(), []):
        await _close(engine)


def with_engine(work: Callable[[Engine], Awaitable[Result]]) -> Result:
    """Run asynchronous work from synchronous code: with the running loop's engine where there is one (a request), else
    with one made for it."""

    async def main() -> Result:
        own = asyncio.get_running_loop() not in _engines
        try:
            return await work(get_engine())
        finally:
            if own:
                await close_engine()

    return async_to_sync(main)()


def warm_up() -> None:
    """Load dictionaries and the clients of the index and the models in the background: seconds that the first question
    need not wait.

    What is loaded then stays, so the garbage collector need not look through it: a full collection would hold up
    everybody by 0.2 s.
    """

    def load() -> None:
        analysis.warm_up()
        import_client()
        importlib.import_module(f"retrieval.engine.providers.{settings.RAG.ollama.server}")
        list(map(get_workflow, NAMES))
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECTED_EVERY)

    threading.Thread(target=load, name="warm-up", daemon=True).start()


def _said(sentence: str, language: Language) -> str:
    """A sentence of the site's own in an answer's language; English in one that the interface does not speak."""
    with translation.override("en" if language == "other" else language):
        return str(localized(sentence))


def _new(rag: RagSettings) -> Engine:
    models = ModelRegistry(rag.ollama)
    index = MilvusIndex(
        rag.milvus,
        uri=lambda: rag.milvus.uri or milvus_lite.current_uri(rag.data_dir),
        writer_lock=write_lease,
        k1=BM25_K1,
        b=BM25_B,
    )
    store = DatabaseChunkStore()
    terms = DatabaseTermStore()
    ask_repair = partial(
        enqueue, INDEX_CHECK, keywords={"unless_busy": True}, expires_s=REPAIR_EXPIRES_S
    )
    completeness = IndexCompleteness(index=index, store=terms, ask_repair=ask_repair)
    return Engine(
        settings=rag,
        models=models,
        prompts=PromptLibrary(rag.own_prompts, rag.prompt_files),
        index=index,
        completeness=completeness,
        store=store,
        documents=DatabaseDocumentReader(),
        counter=DatabaseCounter(),
        searcher=HybridSearcher(
            SpaceSearcher(
                index=index,
                store=store,
                models=models,
                settings=rag.search,
                terms=terms,
                completeness=completeness,
            )
        ),
        reranker=HttpReranker(rag.rerank) if rag.rerank.url else None,
        web=make_web_searcher(rag.web_search),
        memory=DatabaseMemoryStore(models=models),
        search_cache=SharedSearchCache(),
        say=_said,
        **{name: make(models) for name, make in _ports.items()},
    )
