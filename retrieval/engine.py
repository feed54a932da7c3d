"""Puts the engine together for the running event loop: the one place where its parts meet Django's settings.

Clients of Ollama and Milvus belong to the loop that made them, so there is one engine per loop. When the settings
change (`ragsite.runtime.live_settings`), the next question gets another one, which keeps every part whose settings are
the same; answers that are being written go on with the engine that they began with.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from django.conf import settings

from ragsite.core.rag_settings import MilvusSettings, RagSettings
from ragsite.runtime import milvus_lite
from retrieval.memory.store import DatabaseMemoryStore
from retrieval.ports import BoostSource, ChunkIndex, CuratedAnswers, Models, SearchRequest, SearchResult
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
from retrieval.workflows import WORKFLOWS


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine(Toolbox):
    """What the workflows work with, and the indexes behind it, for those who write into them."""

    index: ChunkIndex
    memory_index: ChunkIndex


@dataclass(slots=True)
class _Engines:
    """Of one loop. tried: with other settings than the site's, the last one asked for. left: models that answers may
    still work with, although no engine has them any more."""

    own: Engine
    tried: Engine | None = None
    left: list[ModelRegistry] = field(default_factory=list)

    def leave(self, models: Models) -> None:
        """Close them when the longest answer that can hold them has ended."""
        kept = [engine.models for engine in (self.own, self.tried) if engine]
        if isinstance(models, ModelRegistry) and not any(models is one for one in kept):
            self.left.append(models)
            wait_s = self.own.settings.limits.answer_timeout_s + GRACE_S
            asyncio.get_running_loop().call_later(wait_s, self._close, models)

    def _close(self, models: ModelRegistry) -> None:
        if models in self.left:
            self.left.remove(models)
            task = asyncio.ensure_future(models.close())
            _closing.add(task)
            task.add_done_callback(_closing.discard)


# The garbage collector's thresholds of a process that answers: an answer makes tens of thousands of objects that live
# as long as it does, and few cycles. Looked through at every 700th, as by default, they cost it processor time.
COLLECTED_EVERY = (20_000, 20, 20)
GRACE_S = 30.0  # that an answer may take beyond its time
_closing: set[asyncio.Future[None]] = set()
_engines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Engines] = WeakKeyDictionary()
_make_boosts: list[Callable[[Models], BoostSource]] = []  # one at most; filled in at start-up
_make_curated: list[Callable[[], CuratedAnswers]] = []  # the same


def use_boosts(make: Callable[[Models], BoostSource]) -> None:
    """Say where engines made from now on get their boosts from: `feedback` does, which nothing here may import."""
    _make_boosts[:] = [make]


def use_curated_answers(make: Callable[[], CuratedAnswers]) -> None:
    """Say where engines made from now on find answers that people have written beforehand; without it, nowhere."""
    _make_curated[:] = [make]


def has_engine() -> bool:
    """Whether the running loop has one already, so that it is not yours to close."""
    return asyncio.get_running_loop() in _engines


def get_engine() -> Engine:
    """The engine of the running loop. Opens no connection by itself. Raises RuntimeError outside a loop."""
    loop, rag = asyncio.get_running_loop(), settings.RAG
    engines = _engines.get(loop)
    if engines is None:
        engines = _engines[loop] = _Engines(_build(rag))
    elif engines.own.settings is not rag:
        before, engines.own = engines.own, _build(rag, before=engines.own)
        engines.leave(before.models)
    return engines.own


def get_engine_for(rag: RagSettings) -> Engine:
    """The running loop's engine with other settings: to try them. It shares all that they do not change; ask for it
    anew with each question. Raises RuntimeError outside a loop."""
    own = get_engine()
    engines = _engines[asyncio.get_running_loop()]
    if engines.tried is None or engines.tried.settings != rag:
        before, engines.tried = engines.tried, _build(rag, before=own)
        if before:
            engines.leave(before.models)
    return engines.tried


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
    if engines := _engines.pop(asyncio.get_running_loop(), None):
        made = [engine for engine in (engines.own, engines.tried) if engine]
        for index in _distinct([index for engine in made for index in (engine.index, engine.memory_index)]):
            await index.close()
        for models in _distinct([*(engine.models for engine in made), *engines.left]):
            await models.close()
        engines.left.clear()


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
        list(WORKFLOWS.values())
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECTED_EVERY)

    threading.Thread(target=load, name="warm-up", daemon=True).start()


def _distinct(things: Sequence[Any]) -> list[Any]:
    return list({id(thing): thing for thing in things}.values())


def _build(rag: RagSettings, *, before: Engine | None = None) -> Engine:
    """`before`: whose parts are kept where their settings are the same."""
    if before is None:
        return _new(rag)
    then = before.settings
    if then.milvus != rag.milvus or then.data_dir != rag.data_dir:
        return _new(rag)
    same_models, same_search = then.ollama == rag.ollama, then.search == rag.search
    models = before.models if same_models else ModelRegistry(rag.ollama)
    searcher = before.searcher
    if not (same_models and same_search):
        hybrid = HybridSearcher(index=before.index, store=before.store, models=models, settings=rag.search)
        searcher = CachedSearcher(hybrid, rag.search)
    boosts = before.boosts
    if not same_models:
        boosts = _make_boosts[0](models) if _make_boosts else None
    same_prompts = (then.prompts_dir, then.prompts) == (rag.prompts_dir, rag.prompts)
    memory = before.memory if same_models else DatabaseMemoryStore(index=before.memory_index, models=models)
    return replace(
        before,
        settings=rag,
        models=models,
        prompts=before.prompts if same_prompts else PromptLibrary(rag.prompts_dir, rag.prompts),
        searcher=searcher,
        boosts=boosts,
        reranker=before.reranker if then.rerank == rag.rerank else _reranker(rag),
        web=before.web if then.web_search == rag.web_search else make_web_searcher(rag.web_search),
        memory=memory,
    )


def _reranker(rag: RagSettings) -> HttpReranker | None:
    return HttpReranker(rag.rerank) if rag.rerank.url else None


def _new(rag: RagSettings) -> Engine:
    models = ModelRegistry(rag.ollama)
    index = _index(rag, rag.milvus)
    # What is remembered lies apart from the documents, under a prefix of its own, and has their schema.
    memory_index = _index(rag, rag.milvus.replace(prefix=f"{rag.milvus.prefix}_memory"))
    store = DatabaseChunkStore()
    hybrid = HybridSearcher(index=index, store=store, models=models, settings=rag.search)
    cached = CachedSearcher(hybrid, rag.search)
    return Engine(
        settings=rag,
        models=models,
        prompts=PromptLibrary(rag.prompts_dir, rag.prompts),
        index=index,
        memory_index=memory_index,
        store=store,
        documents=DatabaseDocumentReader(),
        searcher=cached,
        boosts=_make_boosts[0](models) if _make_boosts else None,
        reranker=_reranker(rag),
        web=make_web_searcher(rag.web_search),
        memory=DatabaseMemoryStore(index=memory_index, models=models),
        curated=_make_curated[0]() if _make_curated else None,
    )


def _index(rag: RagSettings, milvus: MilvusSettings) -> MilvusIndex:
    return MilvusIndex(
        milvus,
        uri=lambda: milvus.uri or milvus_lite.current_uri(rag.data_dir),
        writer_lock=write_lease,
        k1=schema.BM25_K1,
        b=schema.BM25_B,
    )
