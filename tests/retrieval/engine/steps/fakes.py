"""Small stand-ins for the engine's protocols: a search over a handful of chunks, and a sink that keeps every event."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragsite.core.rag_settings import RagSettings
from retrieval.engine.deps import Deps
from retrieval.engine.ports import Models, SearchRequest, SearchResult, WebResult
from retrieval.engine.prompting import PromptLibrary
from retrieval.engine.providers.registry import ModelRegistry
from retrieval.engine.text.analysis import analyze
from retrieval.engine.trace import StepRecord, Trace
from retrieval.engine.values import (
    AnswerSource,
    CollectionRef,
    EmbeddingSpace,
    Question,
    ScoredChunk,
    Scores,
    SearchFilters,
    SearchScope,
    StoredChunk,
    Vocabulary,
)

SCOPE = SearchScope((CollectionRef(id="c1", name="handbook", space=EmbeddingSpace("test", 8)),))
EMPTY_SCOPE = SearchScope(())


def chunk(number: int, text: str, **facts: Any) -> StoredChunk:
    facts.setdefault("title", f"Document {number}")
    facts.setdefault("document_id", f"d{number}")
    return StoredChunk(chunk_id=f"k{number}", collection_id="c1", seq=0, text=text, **facts)


def cut(
    *texts: str, headings: Sequence[str] = (), gap: int = 0, title: str = "Rules"
) -> list[StoredChunk]:
    """Chunks of one document, `gap` characters apart; below 0: each but the first begins within the one before."""
    chunks, start = list[StoredChunk](), 0
    for seq, text in enumerate(texts):
        heading, end = headings[seq] if headings else title, start + len(text)
        chunks.append(
            StoredChunk(
                chunk_id=f"c-{seq}", document_id="d", collection_id="c1", seq=seq, title=title, heading=heading,
                text=text, char_start=start, char_end=end,
            )
        )  # fmt: skip
        start = max(0, end + gap)
    return chunks


def scored(number: int, text: str, *, rerank: float | None = None, **facts: Any) -> ScoredChunk:
    scores = Scores(rerank=rerank, final=rerank, bm25=1.0, fused=1 / (60 + number))
    return ScoredChunk(
        chunk=chunk(number, text, **facts), scores=scores, ranks={"original:bm25": number}
    )


def ask(text: str, **fields: Any) -> Question:
    return Question(text=text, scope=fields.pop("scope", SCOPE), **fields)


@dataclass
class MemorySearcher:
    """BM25 over the chunks given; filters are kept to, as the real search does when enough is left."""

    chunks: Sequence[StoredChunk]
    requests: list[SearchRequest] = field(default_factory=list)
    delay_s: float = 0.0
    error: Exception | None = None

    async def search(self, request: SearchRequest) -> SearchResult:
        self.requests.append(request)
        await asyncio.sleep(self.delay_s)
        if self.error:
            raise self.error
        readable = [one for one in self.chunks if one.collection_id in request.scope.ids]
        seen = [one for one in readable if _passes(one, request.filters)]
        terms = {
            one.chunk_id: Counter(analyze(f"{one.title} {one.heading} {one.text}")) for one in seen
        }
        best: dict[str, float] = {}
        for query in request.queries:
            for chunk_id, score in _bm25(analyze(query.text), terms).items():
                best[chunk_id] = max(score, best.get(chunk_id, 0.0))
        ranked = sorted(
            (one for one in seen if best.get(one.chunk_id)), key=lambda one: -best[one.chunk_id]
        )
        candidates = tuple(
            ScoredChunk(
                chunk=one,
                scores=Scores(
                    bm25=best[one.chunk_id], fused=1 / (60 + rank), final=1 / (60 + rank)
                ),
                ranks={"original:bm25": rank},
            )
            for rank, one in enumerate(ranked[: request.top_k], start=1)
        )
        return SearchResult(candidates=candidates)

    async def is_whole(self, scope: SearchScope) -> bool:
        return True

    async def holds_any(self, terms: Sequence[str], scope: SearchScope) -> bool:
        readable = (one for one in self.chunks if one.collection_id in scope.ids)
        return any(
            set(terms) & set(analyze(f"{one.title} {one.heading} {one.text}")) for one in readable
        )


def _passes(one: StoredChunk, filters: SearchFilters) -> bool:
    pairs = [
        (filters.department, one.department),
        (filters.doc_type, one.doc_type),
        (filters.policy_year, one.policy_year),
    ]
    is_one_of = not filters.documents or one.document_id in filters.documents
    preferred = filters.preferred
    if preferred and not (
        one.department in preferred.departments
        or one.doc_type in preferred.doc_types
        or one.policy_year in preferred.policy_years
        or set(one.tags) & set(preferred.tags)
    ):
        return False
    return is_one_of and all(wanted in (None, held) for wanted, held in pairs)


def _bm25(query: Sequence[str], texts: Mapping[str, Counter[str]]) -> dict[str, float]:
    average = sum(text.total() for text in texts.values()) / max(1, len(texts))
    scores: dict[str, float] = {}
    for term in set(query):
        holding = [key for key, text in texts.items() if term in text]
        idf = math.log(1 + (len(texts) - len(holding) + 0.5) / (len(holding) + 0.5))
        for key in holding:
            count, length = texts[key][term], texts[key].total()
            scores[key] = scores.get(key, 0.0) + idf * count * 1.9 / (
                count + 0.9 * (0.6 + 0.4 * length / average)
            )
    return scores


@dataclass
class MemoryStore:
    known: Vocabulary = field(default_factory=Vocabulary)

    async def fetch(
        self, chunk_ids: Sequence[str], *, scope: SearchScope
    ) -> Mapping[str, StoredChunk]:
        raise AssertionError("the workflows read chunks through the searcher")

    async def vocabulary(self, scope: SearchScope) -> Vocabulary:
        return self.known


@dataclass
class MemoryWeb:
    """Gives back what it holds, and remembers what it was asked."""

    results: Sequence[WebResult] = ()
    error: Exception | None = None
    asked: list[tuple[str, int]] = field(default_factory=list)
    name: str = "SearXNG at test"

    async def search(self, query: str, *, limit: int) -> tuple[WebResult, ...]:
        self.asked.append((query, limit))
        if self.error:
            raise self.error
        return tuple(self.results)

    @property
    def queries(self) -> list[str]:
        return [query for query, _ in self.asked]


class Events:
    """Keeps what a run emits, in order."""

    def __init__(self) -> None:
        self.log: list[tuple[str, Any]] = []
        self.told: list[str] = []  # what tools said of themselves

    async def step_finished(self, step: StepRecord) -> None:
        self.log.append(("step", step.name))

    async def tool_called(self, tool: str, content: str, step: StepRecord) -> None:
        self.log.append(("tool", tool))
        self.told.append(content)

    async def sources_chosen(self, sources: Sequence[AnswerSource]) -> None:
        self.log.append(("sources", tuple(sources)))

    async def chunk(self, content: str) -> None:
        self.log.append(("chunk", content))

    async def withdrawn(self) -> None:
        self.log.append(("withdrawn", None))

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.log]

    @property
    def chunks(self) -> list[str]:
        """Those that stand."""
        begun = (
            len(self.log) - self.kinds[::-1].index("withdrawn") if "withdrawn" in self.kinds else 0
        )
        return [content for kind, content in self.log[begun:] if kind == "chunk"]

    @property
    def text(self) -> str:
        return "".join(self.chunks)


def make_tools(
    rag: RagSettings,
    chunks: Sequence[StoredChunk] = (),
    *,
    models: Models | None = None,
    vocabulary: Vocabulary | None = None,
    sink: Events | None = None,
    **parts: Any,
) -> Deps:
    """The parts of an engine, with the trace of an answer of its own, whose events go to `sink`."""
    return Deps(
        settings=rag,
        models=models or ModelRegistry(rag.ollama),
        prompts=PromptLibrary(),
        searcher=parts.pop("searcher", None) or MemorySearcher(chunks),
        store=MemoryStore(vocabulary or vocabulary_of(chunks)),
        trace=Trace(sink),
        **parts,
    )


def vocabulary_of(chunks: Sequence[StoredChunk]) -> Vocabulary:
    return Vocabulary(
        departments=tuple(sorted({one.department for one in chunks if one.department})),
        doc_types=tuple(sorted({one.doc_type for one in chunks if one.doc_type})),
        policy_years=tuple(sorted({one.policy_year for one in chunks if one.policy_year})),
        tags=tuple(sorted({tag for one in chunks for tag in one.tags})),
    )


HANDBOOK = (
    chunk(1, "An undergraduate may borrow 12 books at once. The loan period is four weeks.",
          title="Library Loan Regulations (2025)", department="Library", doc_type="regulation", policy_year=2025),
    chunk(2, "An undergraduate may borrow 8 books at once. The loan period is two weeks.",
          title="Library Loan Regulations (2022)", department="Library", doc_type="regulation", policy_year=2022),
    chunk(3, "The deposit for a room in Lakeside hall is EUR 300. It is paid back within 30 days.",
          title="Student Housing Policy", department="Housing", doc_type="policy", policy_year=2024),
    chunk(4, "校长奖学金每学年5000欧元，每年九月申请。申请人须提交成绩单。",
          title="奖学金评定办法", department="学生处", doc_type="办法", policy_year=2024),
    chunk(5, "Wi-Fi error NLU-E107 means that your password has expired. Set a new one at the service desk.",
          title="Campus Wi-Fi Guide", department="IT Services", doc_type="guide", policy_year=2025),
    chunk(6, "A late resit costs EUR 55. Registration for resits closes on 1 July.",
          title="Examination Regulations", department="Registry", doc_type="regulation", policy_year=2025),
)  # fmt: skip
