"""Planned RAG (seed 002 §8): plan the search as a graph of tasks, run it, reflect on what it found; then answer.

    START ─┬─ nothing to search ─► no_answer ─► END
           └─► plan ─► execute ─► reflect ─┬─ good, or nothing left to try ─► generate ─┬─ written ─► END
                          ▲                ├─ refused to the last ─► no_answer ─► END   │
                          │                └─ not good, and a retry is left ─┐          │ the model says that
                          └──────────────────────────── mend ◄───────────────┴──────────┘ the passages don't answer

Of a model's plan only what can run is kept: known types, and dependencies on tasks that stand before. Without a model
the plan is one search with the user's own words. `execute` runs tasks that do not wait for each other
side by side. `reflect` scores relevance, completeness and factuality; `mend` adds a task that searches another way, at
most `max_retries` times: a medium result is searched for wider and by its parts, a poor one in other words, by text
alone, and on the web where that is wanted. The best result so far is used. The seed's check of the answer is the mark
that it begins with: what has been read is not taken back. Only a model's word refuses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Annotated, Any, Literal, get_args

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel

from ragsite.core.errors import AppError
from retrieval.engine.errors import IndexUnavailableError, ModelOutputError
from retrieval.engine.ports import SearchRequest
from retrieval.engine.providers.chat import exactly, limited, shaped
from retrieval.engine.search.hybrid import best_first, rrf_scores
from retrieval.engine.steps.answer import refuse, write_answer
from retrieval.engine.steps.judge import (
    TOP_SCORE,
    YES_SCORE,
    Score,
    check_score,
    judging_is_on,
    quoted,
    rank,
    rerank,
    scores_by_chunk,
)
from retrieval.engine.steps.memory import consolidate_memory, quote_memories, recall_memory
from retrieval.engine.steps.passages import best_statements
from retrieval.engine.steps.query import (
    QUERY_CHARS,
    ClearQuery,
    condense,
    decompose,
    hyde,
    own_words,
    rewrite,
    step_back,
)
from retrieval.engine.steps.retrieve import breadth, dedupe, may_search_web, search_documents, web_search
from retrieval.engine.steps.step import Deps, step
from retrieval.engine.steps.writing import WayOut
from retrieval.engine.text.quoting import one_line, quote_history
from retrieval.engine.trace import note, path_text, reason_text
from retrieval.engine.values import Query, Question, ScoredChunk
from retrieval.engine.workflows import Asking, Workflow, has_documents

TIMEOUT_S = 180.0  # a whole answer
INPUT_CHARS = 400
MAX_TASKS = 8  # of one plan
MAX_CONCURRENCY = 4  # tasks at once
MAX_RETRIES = 2  # that the plan is mended after a reflection
TASK_TIMEOUT_S = 45.0  # one task
GAIN = 0.02  # of a reflection's score; a retry that adds less was in vain
TIME_FOR_ANSWERING = 0.4  # share of the time limit that no retry may begin in
PASS_SCORE = 0.8  # a reflection at or above it: answer
RETRY_SCORE = 0.5  # below it another way is tried; between the two the search is tuned
WEIGHTS = (0.5, 0.3, 0.2)  # of relevance, completeness and factuality
MOST_SHOWN = 10  # passages that a model reflects on in one call
WIDER = 3  # times as many candidates
STATEMENTS = 2  # of earlier findings that a following query is made from
SEARCHES = ("retrieve", "text_search", "vector_search", "wide_search", "web_search")
TASK_TYPES = (*SEARCHES, "rewrite", "decompose", "step_back", "hyde", "rerank", "evaluate")
QuestionType = Literal["factual", "multi_hop", "comparison", "multi_part", "troubleshooting"]
Complexity = Literal["simple", "medium", "complex"]
REWORDINGS = {"rewrite": rewrite, "decompose": decompose, "step_back": step_back, "hyde": hyde}
LEGS: Mapping[str, tuple[Literal["dense", "bm25"], ...]] = {"text_search": ("bm25",), "vector_search": ("dense",)}
Outcome = Literal["pass", "tune", "retry"]
# What a retry does, by how good the result is; the first that was not tried. Seed 002 §8.3.3, its table of remedies.
Remedy = Literal["wide_search", "decompose", "web_search", "rewrite", "text_search"]
REMEDIES: Mapping[Outcome, tuple[Remedy, ...]] = {
    "pass": ("rewrite", "wide_search", "web_search"),  # the passages looked better than they are
    "tune": ("wide_search", "decompose", "web_search"),
    "retry": ("web_search", "rewrite", "text_search", "wide_search"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Seed 002's Task. input: the words that it works on; empty: what the tasks before it found words for."""

    id: str
    type: str
    input: str = ""
    depends_on: tuple[str, ...] = ()
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """rows: the tasks as the path shows them; a row's `state` and `note` change while they run."""

    tasks: tuple[Task, ...]
    rows: list[dict[str, Any]]

    @property
    def goals(self) -> tuple[str, ...]:
        """What is searched for; more than one where the question has several sides."""
        return tuple(dict.fromkeys(task.input for task in self.tasks if task.type in SEARCHES and task.input))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """candidates: best first. score: 0..1, relevance, completeness and factuality weighed. refused: a model says that
    nothing of it answers."""

    candidates: tuple[ScoredChunk, ...]
    score: float
    outcome: Outcome
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a task came to."""

    queries: tuple[Query, ...] = ()
    candidates: tuple[ScoredChunk, ...] = ()


class State(Asking, total=False):
    plan: Plan  # the first one, or the last mending of it
    goals: tuple[str, ...]  # what the first plan searched for
    findings: Mapping[str, Finding]  # short-term memory: what each task of this answer came to
    tried: tuple[Remedy, ...]
    reflection: Reflection
    best: Reflection
    in_vain: bool  # the last retry improved nothing
    refused: str  # why the writing model did not answer from the best result


# ------------------------------------------------------------------------------------------------ planning
def where_to_begin(state: State, runtime: Runtime[Deps]) -> Literal["no_answer", "plan"]:
    question = state["question"]
    return "plan" if has_documents(question) or may_search_web(runtime.context, question) else "no_answer"


async def plan(state: State, runtime: Runtime[Deps]) -> State:
    """Long-term memory is background for the planner, never a source."""
    deps, question = runtime.context, state["question"]
    begun: State = {"findings": {}, "tried": (), "in_vain": False, "refused": ""}
    memories, condensed = await asyncio.gather(recall_memory(deps, question), condense(deps, question))
    web = may_search_web(deps, question)
    made = await make_plan(deps, condensed, web=web, memories=quote_memories(memories))
    return {**begun, "question": condensed, "plan": made, "goals": made.goals}


class DraftedTask(BaseModel):
    id: Annotated[str, limited(minLength=1, maxLength=4)]
    type: Annotated[str, limited(enum=list(TASK_TYPES))]
    input: Annotated[str, limited(maxLength=200)] = ""
    depends_on: Annotated[list[str], limited(maxItems=4)] = []
    priority: Annotated[int, limited(minimum=0, maximum=9)] = 0


class DraftedPlan(BaseModel):
    query_type: Annotated[str, limited(enum=list(get_args(QuestionType)))] = ""
    complexity: Annotated[str, limited(enum=list(get_args(Complexity)))] = ""
    tasks: Annotated[list[DraftedTask], limited(minItems=1)]


def single_search(deps: Deps, question: Question, *, web: bool, memories: str) -> Plan:
    """One search with the user's own words."""
    return planned([Task(id="t1", type="retrieve", input=question.standalone)], why="plan_by_rule")


@step("plan", fallback=single_search)
async def make_plan(deps: Deps, question: Question, *, web: bool, memories: str) -> Plan:
    """web: whether tasks may search the web. memories: what is remembered of earlier answers, quoted."""
    reply = await deps.complete(
        "plan",
        shaped(DraftedPlan, tasks={"maxItems": MAX_TASKS}),
        history=quote_history(question.history),
        memories=memories,
        max_tasks=MAX_TASKS,
        web="yes" if web else "no",
        question=one_line(question.standalone),
    )
    tasks = runnable(reply.tasks, question.standalone, web=web)
    if not any(task.type in SEARCHES for task in tasks):
        raise ModelOutputError("plan_without_search")
    return planned(tasks, why="plan_by_model", type=reply.query_type, complexity=reply.complexity)


def planned(tasks: Sequence[Task], *, why: str, **detail: object) -> Plan:
    """The plan, written into the running step's entry."""
    rows: list[dict[str, Any]] = [
        {
            "id": task.id, "type": task.type, "input": task.input, "depends_on": list(task.depends_on),
            "priority": task.priority, "state": "waiting", "note": "",
        }
        for task in tasks
    ]  # fmt: skip
    note(why, tasks=rows, order=[f"{task.id} {task.type}" for task in tasks], **detail)
    return Plan(tasks=tuple(tasks), rows=rows)


def runnable(drafted: Iterable[DraftedTask], question: str, *, web: bool) -> list[Task]:
    """Tasks that can run, in the model's order: a task waits for those before it alone, so there is no circle."""
    tasks: dict[str, Task] = {}
    for draft in drafted:
        kind, name = draft.type.strip().lower(), one_line(draft.id)[:20]
        if kind not in TASK_TYPES or name in tasks or not name or (kind == "web_search" and not web):
            continue
        waits = tuple(dict.fromkeys(other for other in map(one_line, draft.depends_on) if other in tasks))
        # A search that follows a rewording searches for its outcome; every other task needs words of its own.
        follows = bool(waits) and kind in SEARCHES
        tasks[name] = Task(
            id=name,
            type=kind,
            input=one_line(draft.input)[:INPUT_CHARS] or ("" if follows else question),
            depends_on=waits,
            priority=draft.priority,
        )
    return list(tasks.values())[:MAX_TASKS]


# ------------------------------------------------------------------------------------------------ the plan at work
async def execute(state: State, runtime: Runtime[Deps]) -> State:
    """Tasks whose dependencies have ended run side by side, the most urgent first. One that fails does not stop the
    others. Raises IndexUnavailableError when nothing at all could be looked up: that is not "nothing found"."""
    deps, made, findings = runtime.context, state["plan"], dict(state["findings"])
    tasks, rows = {task.id: task for task in made.tasks}, {row["id"]: row for row in made.rows}
    order = TopologicalSorter({task.id: [one for one in task.depends_on if one in tasks] for task in made.tasks})
    order.prepare()
    slots, errors = asyncio.Semaphore(MAX_CONCURRENCY), list[Exception]()
    entry = next((step for step in reversed(deps.trace.steps) if step.name == "plan"), None)

    async def show(task: Task) -> None:
        """Who waits sees how far the plan is."""
        if entry is not None:
            row = rows[task.id]
            await deps.trace.sink.tool_called("plan", path_text(f"task_{row['state']}", row), entry)

    async def run(task: Task) -> None:
        async with slots:
            row = rows[task.id]
            row["state"] = "running"
            await show(task)
            before = {name: findings[name] for name in task.depends_on if name in findings}
            try:
                async with asyncio.timeout(deps.deadline.limit(TASK_TIMEOUT_S)):
                    findings[task.id] = found = await work(deps, state, task, before)
                row["state"], row["note"] = "done", str(len(found.candidates or found.queries))
            except (AppError, TimeoutError) as error:
                row["state"] = "failed"
                row["note"] = error.message if isinstance(error, AppError) else reason_text("late")
                errors.append(error)
            await show(task)

    while order.is_active():
        ready = sorted(order.get_ready(), key=lambda name: -tasks[name].priority)
        await asyncio.gather(*(run(tasks[name]) for name in ready))
        order.done(*ready)
    away = next((error for error in errors if isinstance(error, IndexUnavailableError)), None)
    if away and not any(finding.candidates for finding in findings.values()):
        raise away
    return {"findings": findings}


@step("rewrite", fallback=lambda deps, text, found: f"{text} {' '.join(found)}"[:QUERY_CHARS], optional=True)
async def follow_up(deps: Deps, text: str, statements: Sequence[str]) -> str:
    """The query of a chain's next link. text: the link's own words. statements: the best of what was found before."""
    passages = "\n".join(f"[{number}] {one_line(found)}" for number, found in enumerate(statements, start=1))
    reply = await deps.complete("follow_up", ClearQuery, passages=passages, question=one_line(text))
    query = " ".join(reply.query.split())[:QUERY_CHARS] or text
    note("queries_made", queries=[query], found=list(statements))
    return query


async def work(deps: Deps, state: State, task: Task, before: Mapping[str, Finding]) -> Finding:
    """One task, given what those before it found: a search looks for their rewordings, and one that follows a search
    puts that one's best statements beside its own words."""
    question = state["question"]
    text = task.input or question.standalone
    if task.type in REWORDINGS:
        return Finding(queries=await REWORDINGS[task.type](deps, replace(question, condensed=text)))
    found = pool([finding.candidates for finding in before.values()])
    if task.type == "web_search":
        return Finding(candidates=(await web_search(deps, question, words=text)).candidates)
    if task.type not in SEARCHES:
        return Finding(candidates=await rerank(deps, replace(question, condensed=text), found))
    reworded = tuple(query for finding in before.values() for query in finding.queries)
    if found and task.input:
        chunks = [candidate.chunk for candidate in found[:STATEMENTS]]
        text = await follow_up(deps, task.input, await asyncio.to_thread(best_statements, task.input, chunks))
    own = own_words(question) if text == question.standalone else (Query(text),)
    request = _request(deps, question, task.type, (*own, *reworded) if task.input or not reworded else reworded)
    return Finding(candidates=(await search_documents(deps, request, purpose=task.id)).candidates)


def _request(deps: Deps, question: Question, kind: str, queries: tuple[Query, ...]) -> SearchRequest:
    stages = LEGS.get(kind, ("dense", "bm25"))
    if stages == ("bm25",):
        queries = tuple(query for query in queries if not query.vector_only) or own_words(question)
    top_k = breadth(question, deps.settings) * (WIDER if kind == "wide_search" else 1)
    return SearchRequest(
        queries=queries,
        scope=question.scope,
        filters=question.filters,
        stages=stages,
        top_k=min(top_k, deps.settings.search.max_top_k),
    )


def pool(lists: Sequence[Sequence[ScoredChunk]]) -> tuple[ScoredChunk, ...]:
    """Several searches' candidates as one list by reciprocal rank: each search's best stand in front."""
    by_id = {candidate.chunk_id: candidate for candidates in reversed(lists) for candidate in candidates}
    scores = rrf_scores([[candidate.chunk_id for candidate in candidates] for candidates in lists])
    return tuple(map(by_id.__getitem__, best_first(scores)))


# ------------------------------------------------------------------------------------------------ reflection
def not_reflected(deps: Deps, question: Question, passages: Sequence[ScoredChunk], **_: Any) -> Reflection:
    """There is no model's word to search again by: what was found passes."""
    note("not_judged", outcome="pass", by_model=False)
    return Reflection(candidates=tuple(passages), score=0.0, outcome="pass")


class EvidenceReflection(BaseModel):
    """Scores of the passages in their order, and of the whole."""

    scores: list[Score]
    completeness: Score
    factuality: Score


@step("reflect", fallback=not_reflected)
async def reflect(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk], *, parts: Sequence[str] = ()
) -> Reflection:
    """Is what was found good enough to answer from? From PASS_SCORE on it passes, from RETRY_SCORE on the search is
    tuned, below that another way is tried. parts: what was searched for, where that is several things."""
    if not passages:
        note("nothing_found", outcome="retry")
        return Reflection(candidates=(), score=0.0, outcome="retry")
    if not judging_is_on(question):
        return not_reflected(deps, question, passages)
    shown = await quoted(deps, passages[:MOST_SHOWN])
    reply = await deps.complete(
        "reflect",
        exactly(EvidenceReflection, "scores", len(shown)),
        passages="\n\n".join(shown),
        question=one_line(question.standalone),
        parts="\n".join(f"- {one_line(part)}" for part in parts) or "-",
        count=len(shown),
    )
    if len(reply.scores) != len(shown):
        raise ModelOutputError("wrong_number_of_scores")
    check_score(*reply.scores, reply.completeness, reply.factuality)
    best = max(reply.scores)
    three = (best / TOP_SCORE, reply.completeness / TOP_SCORE, reply.factuality / TOP_SCORE)
    score = sum(weight * value for weight, value in zip(WEIGHTS, three, strict=True))
    refused = best < YES_SCORE
    if refused:  # being complete and true about another subject does not help
        score = min(score, three[0])
    outcome: Outcome = "pass" if score >= PASS_SCORE else "tune" if score >= RETRY_SCORE else "retry"
    ranked = rank(passages[: len(shown)], [score / TOP_SCORE for score in reply.scores])
    note(
        "reflected",
        of="retrieval",
        relevance=three[0],
        completeness=three[1],
        factuality=three[2],
        score=round(score, 3),
        outcome=outcome,
        by_model=True,
        scores=scores_by_chunk(ranked),
    )
    return Reflection(candidates=(*ranked, *passages[len(shown) :]), score=score, outcome=outcome, refused=refused)


async def reflect_on_findings(state: State, runtime: Runtime[Deps]) -> State:
    """On all that was found; the latest findings come first where they are equal."""
    deps, question = runtime.context, state["question"]
    lists = [finding.candidates for finding in reversed(list(state["findings"].values())) if finding.candidates]
    passages = await rerank(deps, question, await dedupe(deps, pool(lists))) if lists else ()
    parts = state["goals"] if len(state["goals"]) > 1 else ()
    reflection = await reflect(deps, question, passages, parts=parts)
    best = state.get("best")
    in_vain = best is not None and reflection.score <= best.score + GAIN
    best = reflection if best is None or reflection.score >= best.score else best
    return {"reflection": reflection, "best": best, "in_vain": in_vain, "refused": ""}


def after_reflection(state: State, runtime: Runtime[Deps]) -> Literal["generate", "mend", "no_answer"]:
    """Pass, else mend while a retry and time are left, else the best result so far. A medium result that tuning did not
    improve is used for the answer."""
    outcome = state["reflection"].outcome
    settled = outcome == "pass" or (outcome == "tune" and state["in_vain"])
    if not settled and next_remedy(runtime.context, state):
        return "mend"
    return "no_answer" if state["best"].refused or not state["best"].candidates else "generate"


async def mend(state: State, runtime: Runtime[Deps]) -> State:
    """A plan of the tasks that search another way, with an entry of its own in the decision path."""
    deps, remedy = runtime.context, next_remedy(runtime.context, state)
    if remedy is None:
        raise AssertionError("the routers lead here only while a remedy is left")
    text, name = state["question"].standalone, f"r{len(state['tried']) + 1}"
    tasks = [Task(id=f"{name}.1", type=remedy, input=text)]
    if remedy in REWORDINGS:
        tasks.append(Task(id=f"{name}.2", type="retrieve", depends_on=(tasks[0].id,)))
    async with deps.trace.step("plan"):
        made = planned(tasks, why="plan_mended", remedy=remedy, retry=len(state["tried"]) + 1)
    return {"plan": made, "tried": (*state["tried"], remedy)}


def next_remedy(deps: Deps, state: State) -> Remedy | None:
    """None: no retry is left, no time, or no other way."""
    time_left = deps.deadline.remaining() > TIME_FOR_ANSWERING * TIMEOUT_S
    if len(state["tried"]) >= MAX_RETRIES or not time_left:
        return None
    web = may_search_web(deps, state["question"])
    left = (name for name in REMEDIES[state["reflection"].outcome] if name not in state["tried"])
    return next((name for name in left if web or name != "web_search"), None)


# ------------------------------------------------------------------------------------------------ answers
async def generate(state: State, runtime: Runtime[Deps]) -> State:
    """The answer, or why the writing model says that the best passages don't answer."""
    deps, question, best = runtime.context, state["question"], state["best"]
    way_out: WayOut = "none" if best.outcome == "pass" else "refuse"
    answer = await write_answer(deps, question, best.candidates, way_out=way_out)
    if not answer.text:
        return {"refused": answer.reason}
    await consolidate_memory(deps, question, answer)
    return {"answer": answer}


def after_generating(state: State, runtime: Runtime[Deps]) -> Literal["mend", "no_answer", "__end__"]:
    if "answer" in state:
        return "__end__"
    return "mend" if next_remedy(runtime.context, state) else "no_answer"


async def no_answer(state: State, runtime: Runtime[Deps]) -> State:
    candidates = state["best"].candidates if "best" in state else None
    reason = state.get("refused", "")
    return {"answer": await refuse(runtime.context, state["question"], candidates, reason=reason)}


# ------------------------------------------------------------------------------------------------ the graph
def build_graph() -> CompiledStateGraph[State, Deps, State, State]:
    graph = StateGraph(State, context_schema=Deps)
    nodes: Mapping[str, Any] = {
        "plan": plan, "execute": execute, "reflect": reflect_on_findings, "mend": mend,
        "generate": generate, "no_answer": no_answer,
    }  # fmt: skip
    for name, node in nodes.items():
        graph.add_node(name, node)
    graph.add_conditional_edges(START, where_to_begin)
    graph.add_edge("plan", "execute")
    graph.add_edge("execute", "reflect")
    graph.add_conditional_edges("reflect", after_reflection)
    graph.add_edge("mend", "execute")
    graph.add_conditional_edges("generate", after_generating)
    graph.add_edge("no_answer", END)
    return graph.compile(name="planned")


WORKFLOW = Workflow(graph=build_graph(), timeout_s=lambda settings: TIMEOUT_S)
