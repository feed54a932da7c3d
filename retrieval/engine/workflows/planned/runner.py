"""A plan at work: what each type of task does, and how those that wait for each other follow one another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from graphlib import TopologicalSorter
from typing import Literal

from ragsite.core.errors import AppError
from retrieval.engine.deps import Deps
from retrieval.engine.errors import IndexUnavailableError
from retrieval.engine.path_details import PlanDetails, RewriteDetails
from retrieval.engine.path_texts import path_text
from retrieval.engine.ports import SearchRequest
from retrieval.engine.reasons import reason_of
from retrieval.engine.search.fusion import best_first, rrf_scores
from retrieval.engine.steps.answer.quote import best_statements
from retrieval.engine.steps.context.dedupe import dedupe
from retrieval.engine.steps.judge.criteria import score_by_criteria
from retrieval.engine.steps.judge.rerank import rerank
from retrieval.engine.steps.query.decompose import decompose as decompose_question
from retrieval.engine.steps.query.hyde import hyde as imagine_passage
from retrieval.engine.steps.query.queries import QUERY_CHARS, ClearQuery, initial_queries
from retrieval.engine.steps.query.rewrite import rewrite as rewrite_question
from retrieval.engine.steps.query.step_back import step_back as step_back_from
from retrieval.engine.steps.retrieve.search import breadth, search_documents
from retrieval.engine.steps.retrieve.web import web_search
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import one_line
from retrieval.engine.trace import note
from retrieval.engine.values import Query, Question, ScoredChunk
from retrieval.engine.workflows.planned.plan import Plan, Task, TaskStatus, TaskType

MAX_CONCURRENCY = 4  # tasks at once
TASK_TIMEOUT_S = 45.0  # one task
WIDER = 3  # times as many candidates
PART_TOP_K = 20  # candidates of each part of a question that is taken apart; seed 002, TopK
STATEMENTS = 2  # of earlier findings that a following query is made from
LEGS: Mapping[TaskType, tuple[Literal["dense", "bm25"], ...]] = {
    "text_search": ("bm25",),
    "vector_search": ("dense",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """What a task came to. covers: the tasks whose candidates it has put in another order; theirs stand no more."""

    queries: tuple[Query, ...] = ()
    candidates: tuple[ScoredChunk, ...] = ()
    covers: tuple[str, ...] = ()


Findings = Mapping[str, TaskResult]  # by the task's id
Handler = Callable[[Deps, Question, Task, Findings], Awaitable[TaskResult]]


def standing_candidates(findings: Findings) -> list[tuple[ScoredChunk, ...]]:
    """What each task found, the latest first, without what another one has covered."""
    covered: set[str] = set()
    for finding in findings.values():
        covered.update(finding.covers)
    standing: list[tuple[ScoredChunk, ...]] = []
    for name, finding in findings.items():
        if finding.candidates and name not in covered:
            standing.append(finding.candidates)
    standing.reverse()
    return standing


def pool(lists: Sequence[Sequence[ScoredChunk]]) -> tuple[ScoredChunk, ...]:
    """Several searches' candidates as one list by reciprocal rank: each search's best stand in front."""
    by_id: dict[str, ScoredChunk] = {}
    rankings: list[list[str]] = []
    for candidates in lists:
        ranking = [candidate.chunk_id for candidate in candidates]
        rankings.append(ranking)
        for candidate in candidates:
            by_id.setdefault(candidate.chunk_id, candidate)
    return tuple(by_id[chunk_id] for chunk_id in best_first(rrf_scores(rankings)))


class PlanRunner:
    """Runs a plan's tasks. findings: what the tasks of earlier plans of this answer came to."""

    def __init__(self, deps: Deps, question: Question, plan: Plan, findings: Findings) -> None:
        self.deps = deps
        self.question = question
        self.plan = plan
        self.findings = dict(findings)
        self.statuses = {task.id: TaskStatus(task=task) for task in plan.tasks}
        self.errors: list[Exception] = []
        self._slots = asyncio.Semaphore(MAX_CONCURRENCY)

    async def run(self) -> Findings:
        """All findings so far. Tasks whose dependencies have ended run side by side, the most urgent first. One that
        fails does not stop the others.

        Raises IndexUnavailableError when nothing at all could be looked up: that is not "nothing found".
        """
        order = TopologicalSorter[str]()
        for name, status in self.statuses.items():
            before = [other for other in status.task.depends_on if other in self.statuses]
            order.add(name, *before)
        order.prepare()
        while order.is_active():
            ready = [self.statuses[name] for name in order.get_ready()]
            ready.sort(key=lambda status: -status.task.priority)
            await asyncio.gather(*map(self._run_task, ready))
            order.done(*(status.task.id for status in ready))
        unavailable = [error for error in self.errors if isinstance(error, IndexUnavailableError)]
        if unavailable and not any(finding.candidates for finding in self.findings.values()):
            raise unavailable[0]
        return self.findings

    async def _run_task(self, status: TaskStatus) -> None:
        task = status.task
        async with self._slots:
            await self._show(status, "running")
            before = {
                name: self.findings[name] for name in task.depends_on if name in self.findings
            }
            try:
                async with asyncio.timeout(self.deps.deadline.limit(TASK_TIMEOUT_S)):
                    found = await HANDLERS[task.type](self.deps, self.question, task, before)
            except (AppError, TimeoutError) as error:
                self.errors.append(error)
                await self._show(status, "failed", reason_of(error).text)
            else:
                self.findings[task.id] = found
                await self._show(status, "done", str(len(found.candidates or found.queries)))

    async def _show(
        self,
        status: TaskStatus,
        state: Literal["running", "done", "failed"],
        note: str = "",
    ) -> None:
        """In the plan's entry, and to whoever waits for the answer."""
        status.state = state
        status.note = note
        self.plan.entry.add(
            PlanDetails(tasks=tuple(each.as_row() for each in self.statuses.values()))
        )
        text = path_text(f"task_{state}", asdict(status.as_row()))
        await self.deps.trace.sink.tool_called("plan", text, self.plan.entry)


# ------------------------------------------------------------------------------------------------ handlers
def _about(question: Question, task: Task) -> Question:
    """The question in the task's words."""
    return replace(question, condensed=task.input or question.standalone)


def _found(before: Findings) -> tuple[ScoredChunk, ...]:
    return pool([finding.candidates for finding in before.values()])


async def rewrite(deps: Deps, question: Question, task: Task, before: Findings) -> TaskResult:
    return TaskResult(queries=await rewrite_question(deps, _about(question, task)))


async def step_back(deps: Deps, question: Question, task: Task, before: Findings) -> TaskResult:
    return TaskResult(queries=await step_back_from(deps, _about(question, task)))


async def hyde(deps: Deps, question: Question, task: Task, before: Findings) -> TaskResult:
    return TaskResult(queries=await imagine_passage(deps, _about(question, task)))


async def search(deps: Deps, question: Question, task: Task, before: Findings) -> TaskResult:
    """For the words that the tasks before it found, and for its own; where these follow a search, together with that
    one's best statements."""
    text = task.input or question.standalone
    found = _found(before)
    reworded = tuple(each for finding in before.values() for each in finding.queries)
    if found and task.input:
        chunks = [candidate.chunk for candidate in found[:STATEMENTS]]
        statements = await asyncio.to_thread(best_statements, task.input, chunks)
        text = await follow_up(deps, task.input, statements)
    if reworded and not task.input:
        queries = reworded
    elif text == question.standalone:
        queries = (*initial_queries(question), *reworded)
    else:
        queries = (Query(text), *reworded)
    stages = LEGS.get(task.type, ("dense", "bm25"))
    if stages == ("bm25",):
        queries = tuple(query for query in queries if not query.vector_only) or initial_queries(
            question
        )
    top_k = breadth(question, deps.settings)
    if task.type == "wide_search":
        top_k *= WIDER
    request = SearchRequest(
        queries=queries,
        scope=question.scope,
        filters=question.filters,
        stages=stages,
        top_k=min(top_k, deps.settings.search.max_top_k),
    )
    result = await search_documents(deps, request, purpose=task.id)
    return TaskResult(candidates=result.candidates)


@step(
    "rewrite",
    fallback=lambda deps, text, found: f"{text} {' '.join(found)}"[:QUERY_CHARS],
    optional=True,
)
async def follow_up(deps: Deps, text: str, statements: Sequence[str]) -> str:
    """The query of a chain's next link. text: the link's own words. statements: the best of what was found before."""
    passages = "\n".join(
        f"[{number}] {one_line(found)}" for number, found in enumerate(statements, start=1)
    )
    reply = await deps.complete("follow_up", ClearQuery, passages=passages, question=one_line(text))
    words = " ".join(reply.query.split())[:QUERY_CHARS] or text
    note("queries_made", RewriteDetails(queries=(words,), found=tuple(statements)))
    return words


async def search_parts(deps: Deps, question: Question, task: Task, before: Findings) -> TaskResult:
    """Each part of the question by itself, side by side; what they find is pooled, said once each, and reranked. The
    question itself where it has no parts."""
    about = _about(question, task)
    parts = await decompose_question(deps, about) or (Query(about.standalone),)
    requests = [
        SearchRequest(
            queries=(part,),
            scope=question.scope,
            filters=question.filters,
            top_k=min(PART_TOP_K, deps.settings.search.max_top_k),
        )
        for part in parts
    ]
    searches = [search_documents(deps, request, purpose=task.id) for request in requests]
    results = await asyncio.gather(*searches)
    pooled = await dedupe(deps, pool([result.candidates for result in results]))
    ranked = await rerank(deps, about, pooled, by_default=True)
    return TaskResult(candidates=ranked)


async def search_web(deps: Deps, question: Question, task: Task, before: Findings) -> TaskResult:
    words = task.input or question.standalone
    result = await web_search(deps, question, words=words)
    return TaskResult(candidates=result.candidates)


async def rerank_found(deps: Deps, question: Question, task: Task, before: Findings) -> TaskResult:
    """In the order of the reranker, or of a model's scores."""
    candidates = await rerank(deps, _about(question, task), _found(before), by_default=True)
    return TaskResult(candidates=candidates, covers=tuple(before))


async def evaluate_found(
    deps: Deps, question: Question, task: Task, before: Findings
) -> TaskResult:
    """In the order of a model's judgement by the eight criteria."""
    judged = await score_by_criteria(deps, _about(question, task), _found(before))
    return TaskResult(candidates=judged.passages, covers=tuple(before))


HANDLERS: Mapping[TaskType, Handler] = {
    "retrieve": search,
    "text_search": search,
    "vector_search": search,
    "wide_search": search,
    "web_search": search_web,
    "decompose": search_parts,
    "rewrite": rewrite,
    "step_back": step_back,
    "hyde": hyde,
    "rerank": rerank_found,
    "evaluate": evaluate_found,
}
