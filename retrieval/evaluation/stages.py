"""The stages of retrieval that are measured one by one.

`dense`, `bm25` and `hybrid` stand alone. A stage with a plus adds its step to `hybrid` and to those steps before it
that are measured too: `hybrid,+rerank` reranks plain hybrid search, all stages together build up to the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from retrieval.ports import SearchRequest
from retrieval.steps.deps import Deps
from retrieval.steps.judge import judge, rerank
from retrieval.steps.query import hyde, rewrite
from retrieval.steps.retrieve import search_documents
from retrieval.text.answer_language import answer_language
from retrieval.trace import Trace
from retrieval.values import Query, Question, ScoredChunk, SearchScope

LEGS: dict[str, tuple[Literal["dense", "bm25"], ...]] = {
    "dense": ("dense",),
    "bm25": ("bm25",),
    "hybrid": ("dense", "bm25"),
}
ADDED = ("+rewrite", "+hyde", "+rerank", "+boosts")
STAGES = (*LEGS, *ADDED)
NO_RATINGS = "there are no ratings to boost by"


class UnknownStageError(ValueError):
    """The message is one sentence that names the stages there are."""


def parse_stages(text: str) -> tuple[str, ...]:
    """`dense,bm25,+rerank` (the plus may be left out) in the order of STAGES. Raises UnknownStageError."""
    wanted: set[str] = set()
    for name in filter(None, (part.strip().lower() for part in text.split(","))):
        stage = name if name in STAGES else f"+{name}"
        if stage not in STAGES:
            raise UnknownStageError(f"There is no stage {name!r}; choose among {', '.join(STAGES)}.")
        wanted.add(stage)
    if not wanted:
        raise UnknownStageError(f"No stage is named; choose among {', '.join(STAGES)}.")
    return tuple(stage for stage in STAGES if stage in wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """Candidates, best first. fallbacks: "step: reason" for every step that could not do its own work."""

    candidates: tuple[ScoredChunk, ...]
    fallbacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage, ready to run. k: what a user would ask for, which decides how wide is searched; depth: how many
    candidates are looked at."""

    name: str
    tools: Deps
    scope: SearchScope
    k: int
    depth: int
    added: frozenset[str] = field(default_factory=frozenset)

    async def run(self, text: str) -> StageResult:
        """Raises IndexUnavailableError, InvalidQueryError; EmbeddingUnavailableError for `dense` alone."""
        trace = Trace()
        timeout_s = self.tools.settings.corrective.timeout_s
        deps = self.tools.for_answer(trace, timeout_s=timeout_s, language=answer_language(text))
        question = Question(text=text, scope=self.scope)
        queries: tuple[Query, ...] = (Query(text),)
        if "+rewrite" in self.added:
            queries += await rewrite(deps, question)
        if "+hyde" in self.added:
            queries += await hyde(deps, question)
        request = SearchRequest(
            queries=queries,
            scope=self.scope,
            top_k=self.k,
            depth=self.depth,
            stages=LEGS.get(self.name, LEGS["hybrid"]),
        )
        candidates = (await search_documents(deps, request)).candidates
        if "+rerank" in self.added:
            shown = candidates[: self.tools.settings.rerank.max_candidates]
            assessment = await judge(deps, question, await rerank(deps, question, shown))
            first = (*assessment.named, *assessment.candidates, *candidates)
            candidates = tuple({candidate.chunk_id: candidate for candidate in first}.values())
        fallbacks = dict.fromkeys(f"{entry['step']}: {entry['reason']}" for entry in trace.degraded)
        if "+boosts" in self.added:
            fallbacks[f"boost: {NO_RATINGS}"] = None
        return StageResult(candidates=candidates, fallbacks=tuple(fallbacks))


def make_stages(names: Sequence[str], *, tools: Deps, scope: SearchScope, k: int, depth: int) -> list[Stage]:
    """`names` in the order of STAGES."""
    stages = []
    for at, name in enumerate(names):
        added = frozenset(stage for stage in names[: at + 1] if stage in ADDED) if name in ADDED else frozenset()
        stages.append(Stage(name=name, tools=tools, scope=scope, k=k, depth=depth, added=added))
    return stages
