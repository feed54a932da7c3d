"""What each type of task of a plan does, with the steps that the other workflows use too.

A task is given what the tasks before it found: a search looks for their rewordings; a search that follows another
search puts that one's best statement beside its own words, so that the second fact of a chain can be found by the first
(interleaved retrieval; Trivedi et al., ACL 2023, arXiv:2212.10509); a rerank judges everything found before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ragsite.core.wording import counted, joined, worded
from retrieval.ports import SearchRequest
from retrieval.search.fusion import reciprocal_rank_fusion
from retrieval.steps.answer.extractive import best_statements
from retrieval.steps.answer.generate import as_sources
from retrieval.steps.deadline import FirstSearch
from retrieval.steps.judge.assessment import Assessment, Evidence
from retrieval.steps.judge.evaluator import estimate_of
from retrieval.steps.judge.judge import judge
from retrieval.steps.query.hyde import hyde
from retrieval.steps.query.query_rewriter import Rewrite, Wanted
from retrieval.steps.query.transform import Decompose, StepBack
from retrieval.steps.query.wording import QUERY_CHARS
from retrieval.steps.retrieve.dedupe import Dedupe, Hits
from retrieval.steps.retrieve.retrieve import breadth, search_documents
from retrieval.steps.retrieve.web_search import WebQuestion, WebSearch, is_the_users
from retrieval.steps.schemas import JUDGEMENTS, REWORDINGS, VERDICTS, FollowUpQuery
from retrieval.steps.step import Asked, Context, Step
from retrieval.text.quoting import one_line
from retrieval.trace import StepRecord
from retrieval.values import Query, Question, ScoredChunk, SearchFilters
from retrieval.workflows.planned.task_graph import Task

WIDER = 3  # times as many candidates
STATEMENTS = 2  # of earlier findings that a following query is made from
STAGES: Mapping[str, tuple[Literal["dense", "bm25"], ...]] = {"text_search": ("bm25",), "vector_search": ("dense",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a task came to. `note`: one line for people."""

    queries: tuple[Query, ...] = ()
    candidates: tuple[ScoredChunk, ...] = ()
    assessment: Assessment | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The next query of a chain: its task's id, its own words, and the best statements of what was found before."""

    task_id: str
    text: str
    statements: Sequence[str]


class FollowUp(Step[Link, str]):
    """The query of a chain's next link, made from what the last one found."""

    name = "rewrite"
    optional = True

    async def act(self, given: Link, entry: StepRecord) -> str:
        text = await self.attempt(
            entry, self._ask(given), fallback=lambda: f"{given.text} {' '.join(given.statements)}"
        )
        query = " ".join(text.split())[:QUERY_CHARS] or given.text
        entry.summary = worded("{task_id}, from what was found: {query}", task_id=given.task_id, query=query)
        entry.detail |= {"queries": [query], "found": given.statements}
        return query

    async def _ask(self, given: Link) -> str:
        passages = "\n".join(f"[{number}] {one_line(text)}" for number, text in enumerate(given.statements, start=1))
        reply = await self.complete("follow_up", FollowUpQuery, passages=passages, question=one_line(given.text))
        return reply.query


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTasks:
    """Does the tasks of one answer: `work` is what `run_tasks` calls."""

    context: Context
    question: Question
    standalone: str
    filters: SearchFilters
    judges: bool = True  # whether a model or a cross-encoder may rerank
    first: tuple[ScoredChunk, ...] = ()  # what the search with the user's own words has found already

    async def work(self, task: Task, given: Mapping[str, Finding]) -> Finding:
        """Raises IndexUnavailableError when the index can't be asked."""
        if task.type in REWORDINGS:
            return await self._reword(task)
        if task.type == "web_search":
            return await self._web_search(task)
        if task.type in JUDGEMENTS:
            return await self._judge(task, given)
        return await self._search(task, given)

    # -------------------------------------------------------------------------------------------- other words
    async def _reword(self, task: Task) -> Finding:
        text = task.input or self.standalone
        asked = Asked(replace(self.question, text=text), text)
        finished = FirstSearch(0.0)  # planned tasks are not cancelled for a good first search
        finished.finish(good=False)
        context = replace(self.context, run=replace(self.context.run, first_search=finished))
        if task.type == "rewrite":
            queries = await Rewrite(context)(Wanted(asked=asked, tried=(text,)))
        elif task.type == "hyde":
            queries = await hyde(context.deps, asked.condensed)
        else:
            queries = await (Decompose if task.type == "decompose" else StepBack)(context)(asked)
        return Finding(queries=queries, note=counted("{count} query", "{count} queries", len(queries)))

    # -------------------------------------------------------------------------------------------- searches
    async def _search(self, task: Task, given: Mapping[str, Finding]) -> Finding:
        queries = await self._queries(task, given)
        if self.first and task.type == "retrieve" and [query.text for query in queries] == [self.standalone]:
            return Finding(
                queries=queries,
                candidates=self.first,
                note=counted("{count} passage, found already", "{count} passages, found already", len(self.first)),
            )
        result = await search_documents(self.context, self._request(task, queries), purpose=f"{task.id}: ")
        return Finding(
            queries=queries,
            candidates=result.candidates,
            note=counted("{count} passage", "{count} passages", len(result.candidates)),
        )

    async def _queries(self, task: Task, given: Mapping[str, Finding]) -> tuple[Query, ...]:
        reworded = [query for finding in given.values() if not finding.candidates for query in finding.queries]
        before = pool([finding.candidates for finding in given.values()])
        own = task.input or ("" if reworded else self.standalone)
        if before and own:
            semantic = self.question.scope.semantic
            statements = await _best_statements(own, before, semantic=semantic)
            if statements:
                own = await FollowUp(self.context)(Link(task_id=task.id, text=own, statements=statements))
        queries: dict[str, Query] = {own: Query(own)} if own else {}
        for query in reworded:
            queries.setdefault(query.text, query)
        return tuple(queries.values()) or (Query(self.standalone),)

    def _request(self, task: Task, queries: tuple[Query, ...]) -> SearchRequest:
        settings = self.context.tools.settings
        top_k = breadth(self.question, settings) * (WIDER if task.type == "wide_search" else 1)
        stages = STAGES.get(task.type, ("dense", "bm25"))
        if stages == ("bm25",):
            queries = tuple(query for query in queries if not query.vector_only) or (Query(self.standalone),)
        # The wide search keeps to the filters of the request alone, not to those read from the question.
        filters = self.question.filters if task.type == "wide_search" else self.filters
        return SearchRequest(
            queries=queries, scope=self.question.scope, filters=filters, stages=stages,
            top_k=min(top_k, settings.search.max_top_k),
        )  # fmt: skip

    async def _web_search(self, task: Task) -> Finding:
        """Only words of the user's own go out, never what documents, answers or memories hold."""
        text = task.input if await asyncio.to_thread(is_the_users, task.input, self.question) else self.standalone
        result = await WebSearch(self.context)(WebQuestion(Asked(self.question, text)))
        note = joined("; ", result.degraded) or counted("{count} result", "{count} results", len(result.candidates))
        return Finding(candidates=result.candidates, note=note)

    # -------------------------------------------------------------------------------------------- judgements
    async def _judge(self, task: Task, given: Mapping[str, Finding]) -> Finding:
        """Rerank and assess in one call; what has been judged already is not judged twice."""
        judged = next((finding for finding in given.values() if finding.assessment), None)
        if judged and len(given) == 1:
            return judged
        candidates = pool([finding.candidates for finding in given.values()])
        if not candidates:
            return Finding(note=worded("nothing to judge"))
        passages = await Dedupe(self.context)(Hits(candidates))
        evidence = Evidence(
            question=task.input or self.standalone,
            passages=passages[: self.context.tools.settings.rerank.max_candidates],
            semantic=self.question.scope.semantic,
            use_model=self.judges,
        )
        assessment = await judge(self.context, evidence)
        note = worded("{verdict}, {score:.2f}", verdict=VERDICTS[assessment.verdict], score=assessment.score)
        return Finding(candidates=assessment.candidates, assessment=assessment, note=note)


def pool(lists: Sequence[Sequence[ScoredChunk]], *, k: int = 60) -> tuple[ScoredChunk, ...]:
    """Several searches' candidates as one list by reciprocal rank: each search's best stand in front."""
    by_id = {candidate.chunk_id: candidate for candidates in reversed(lists) for candidate in candidates}
    order = reciprocal_rank_fusion([[candidate.chunk_id for candidate in candidates] for candidates in lists], k=k)
    return tuple(by_id[chunk_id] for chunk_id in order)


async def _best_statements(question: str, candidates: Sequence[ScoredChunk], *, semantic: bool) -> list[str]:
    scores = (await estimate_of(question, candidates, semantic=semantic)).passages
    ranked = sorted(zip(scores, candidates, strict=True), key=lambda pair: -pair[0])
    sources = as_sources([candidate for _, candidate in ranked[:STATEMENTS]])
    found = await asyncio.to_thread(best_statements, question, sources, most=STATEMENTS)
    return [statement.text for statement in found]
