"""Self-corrective RAG (seed 000): grade every document by itself, and search in other words while too few pass.

    START → condense ─┬─ small talk ───────────► greet ─────► END
                      ├─ nothing to search in ─► no_answer ─► END
                      └─► retrieve ─► grade ─┬─ passRate ≥ threshold, or rewrites used up ─► generate ──► END
                             ▲        ▲      ├─ the same, and nothing has passed ──────────► no_answer ► END
                             │        │      ├─ the same, and the web is wanted ─► web_search, once ─► grade
                             │        └──────┼────────────────────────────────────────┘
                             │               └─ passRate < threshold ─► rewrite ─┬─ no other words ► as above
                             └───────────────────────────────────────────────────┘

The grader judges each document against the question as it was asked, whatever was searched for, so a grade stands for
the whole answer; what has passed in any round is what the answer is written from. Searching on stops early when the
words run out, and when something has passed but searches in a row bring nothing new that passes.

The web is the last resort, where it is configured and wanted: when nothing of the documents has passed, its pages are
graded in their place. Filters that the question names hold until it is searched for the last time.

Only a model's grades, or its mark before the answer, end in no_answer: without a model the estimate grades, and what
was found is quoted in the end although none has passed. Nothing is asked back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ragsite.core.wording import Sentence, counted, worded
from retrieval.ports import SearchRequest
from retrieval.steps.answer.generate import write_answer
from retrieval.steps.judge.grade import DocumentGrade, Documents, Grade, Graded, grade_key
from retrieval.steps.query.condense import Condense
from retrieval.steps.query.query_rewriter import RetryRewrite, Wanted
from retrieval.steps.query.route import Route
from retrieval.steps.retrieve.dedupe import Dedupe, Hits
from retrieval.steps.retrieve.retrieve import search_documents
from retrieval.steps.retrieve.web_search import WebQuestion, WebSearch, may_search_web
from retrieval.steps.step import Asked, Context
from retrieval.steps.toolbox import Toolbox
from retrieval.values import Query, Question, ScoredChunk, SearchFilters
from retrieval.workflows.base import (
    Asking,
    GraphWorkflow,
    Rounds,
    greet,
    has_documents,
    is_small_talk,
    reranking_is_on,
    say_no_answer,
)

TOP_K = 5  # documents that a search gives the grader
# cosine below which a document that only the vectors found is left out; not used with the lexical embedder
MIN_SIMILARITY = 0.3
REWRITES_LIMIT = 5  # the most that a request may ask for
# searches in a row that bring nothing new that passes, after which it answers from what has passed
STAGNANT_REWRITES = 2
TIMEOUT_S = 180.0  # a whole answer

LEAST_TIME_LEFT = 1 / 3  # of the whole answer's, for another search to begin

Verdict = Literal["generate", "rewrite", "web_search", "no_answer"]
VERDICTS: dict[Verdict, Sentence] = {  # as the decision path says them
    "generate": worded("generate"), "rewrite": worded("rewrite"), "web_search": worded("web search"),
    "no_answer": worded("no answer"),
}  # fmt: skip


class State(Asking, total=False):
    standalone: str  # self-contained: what every document is graded against
    filters: SearchFilters  # the request's, and those that the question names
    tried: tuple[str, ...]  # the queries so far: the question, then its rewrites
    words_are_left: bool  # unless a rewrite found none
    candidates: tuple[ScoredChunk, ...]  # the documents of the last search: neighbours joined, each said once
    graded: Graded  # of the last search
    grades: Mapping[str, DocumentGrade]  # of every search
    documents: tuple[ScoredChunk, ...]  # of every search, each once, best first
    stagnant: int  # searches in a row that brought nothing new that passes
    web_searched: bool
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The seed's four numbers, of the request or of the settings."""

    top_k: int
    min_similarity: float
    pass_rate: float
    max_rewrites: int

    @classmethod
    def of(cls, question: Question, tools: Toolbox) -> Limits:
        asked, settings = question.options, tools.settings.self_corrective
        return cls(
            top_k=asked.top_k or TOP_K,
            min_similarity=MIN_SIMILARITY if asked.min_similarity is None else asked.min_similarity,
            pass_rate=settings.pass_rate if asked.pass_rate is None else asked.pass_rate,
            max_rewrites=settings.max_rewrites if asked.max_rewrites is None else asked.max_rewrites,
        )


# ------------------------------------------------------------------------------------------------ retrieval
async def condense(state: State, runtime: Runtime[Context]) -> State:
    question = state["question"]
    if is_small_talk(question) or not has_documents(question):
        # With nothing but the web there is no metadata to filter by.
        return {"standalone": state["draft"], "tried": (state["draft"],), "filters": question.filters}
    standalone = await Condense(runtime.context)(Asked(question, state["draft"]))
    filters = await Route(runtime.context)(Asked(question, standalone))
    return {"standalone": standalone, "tried": (standalone,), "filters": filters}


def after_condensing(
    state: State, runtime: Runtime[Context]
) -> Literal["greet", "no_answer", "web_search", "retrieve"]:
    question = state["question"]
    if is_small_talk(question):
        return "greet"
    if has_documents(question):
        return "retrieve"
    return "web_search" if may_search_web(question, runtime.context.tools) else "no_answer"


async def retrieve(state: State, runtime: Runtime[Context]) -> State:
    """The current query alone: a rewritten one takes the place of the one before."""
    tools, question = runtime.context.tools, state["question"]
    limits, rewrites = Limits.of(question, tools), len(state["tried"]) - 1
    query = Query(state["tried"][-1], kind="rewrite" if rewrites else "original")
    last = 0 < rewrites >= limits.max_rewrites
    request = SearchRequest(
        queries=(query,),
        scope=question.scope,
        filters=question.filters if last else state["filters"],
        top_k=min(limits.top_k, tools.settings.search.max_top_k),
    )
    purpose = worded("attempt {rewrites}: ", rewrites=rewrites) if rewrites else ""
    near = (await search_documents(runtime.context, request, purpose=purpose)).candidates
    if question.scope.semantic:
        near = tuple(hit for hit in near if is_similar(hit, limits.min_similarity))
    return {"candidates": await Dedupe(runtime.context)(Hits(near))}


async def web_search(state: State, runtime: Runtime[Context]) -> State:
    """Its pages are graded as documents are, and by themselves: what was found before keeps its grades."""
    results = await WebSearch(runtime.context)(WebQuestion(Asked(state["question"], state["standalone"])))
    return {"candidates": results.candidates, "web_searched": True}


async def grade(state: State, runtime: Runtime[Context]) -> State:
    context, question = runtime.context, state["question"]
    documents = Documents(
        question=state["standalone"],
        passages=state["candidates"],
        known=state.get("grades", {}),
        use_model=reranking_is_on(question, context.tools),
        semantic=question.scope.semantic,
    )
    graded, before = await Grade(context)(documents), state.get("documents", ())
    all_documents = joined(before, graded.documents, graded.grades)
    gained = len(passing(all_documents, graded.grades)) > len(passing(before, graded.grades))
    weighed: State = {
        "graded": graded,
        "grades": graded.grades,
        "documents": all_documents,
        "stagnant": 0 if gained else state.get("stagnant", 0) + 1,
    }
    return {**weighed, "verdict": await decide({**state, **weighed}, context)}


async def decide(state: State, context: Context) -> Verdict:
    """The seed's rule, with its reason in the decision path."""
    limits, graded = Limits.of(state["question"], context.tools), state["graded"]
    async with context.run.trace.step("assess") as step:
        verdict: Verdict = last_resort(state)
        enough = verdict == "generate" and graded.pass_rate >= limits.pass_rate
        stop = "" if enough else reason_to_stop(state, limits, context)
        verdict = verdict if enough or stop else "rewrite"
        if verdict != "rewrite" and not passing(state["documents"], state["grades"]) and web_is_left(state, context):
            verdict = "web_search"
        share = worded("pass rate {share:.2f}, {wanted:.2f} wanted", share=graded.pass_rate, wanted=limits.pass_rate)
        if not graded.by_model:
            share += worded(", graded without a model")
        step.summary = worded("{share}: {verdict}", share=share, verdict=VERDICTS[verdict])
        if stop:
            step.summary += worded(" ({stop})", stop=stop)
        step.detail |= {
            "pass_rate": round(graded.pass_rate, 3),
            "pass_count": len(graded.passed),
            "total_count": len(graded.documents),
            "pass_threshold": limits.pass_rate,
            "passed_in_all": len(passing(state["documents"], state["grades"])),
            "verdict": verdict,
            "stop": stop,
        }
    return verdict


def reason_to_stop(state: State, limits: Limits, context: Context) -> str:
    """Why no other search follows although too few documents passed; empty: one follows."""
    rewrites = len(state["tried"]) - 1
    if state.get("web_searched"):
        return worded("the web was searched last")
    if state["question"].options.rewrite is False:
        return worded("rewriting is switched off")
    if rewrites >= limits.max_rewrites:
        return worded(
            "{rewrites} of {max_rewrites} rewrites are used up", rewrites=rewrites, max_rewrites=limits.max_rewrites
        )
    if not state.get("words_are_left", True):
        return worded("no other words are left to try")
    if context.run.deadline.remaining() < TIMEOUT_S * LEAST_TIME_LEFT:
        return worded("too little time is left to search again")
    if passing(state["documents"], state["grades"]) and state["stagnant"] >= STAGNANT_REWRITES:
        return worded("{stagnant} searches in a row brought nothing new that passes", stagnant=state["stagnant"])
    return ""


def web_is_left(state: State, context: Context) -> bool:
    wanted = may_search_web(state["question"], context.tools) and not state.get("web_searched")
    return wanted and context.run.deadline.remaining() > 0


def after_grading(state: State) -> Verdict:
    return state["verdict"]


async def rewrite(state: State, runtime: Runtime[Context]) -> State:
    asked, graded = Asked(state["question"], state["standalone"]), state["graded"]
    grades = [(document, graded.grade_of(document)) for document in graded.documents]
    failed = [(document, grade.reason) for document, grade in grades if not grade.relevant]
    if queries := await RetryRewrite(runtime.context)(Wanted(asked=asked, tried=state["tried"], failed=failed)):
        return {"tried": (*state["tried"], queries[0].text)}
    own = state["question"].filters
    if not passing(state["documents"], state["grades"]) and state["filters"] != own:
        # Those that were read from the question may have been the mistake.
        return {"filters": own, "words_are_left": False}
    # It was to be rewritten, and can not be: what follows from that is a decision of its own in the path.
    return {"verdict": await decide({**state, "words_are_left": False}, runtime.context)}


def after_rewriting(state: State) -> Literal["retrieve", "web_search", "generate", "no_answer"]:
    verdict = state["verdict"]
    return "retrieve" if verdict == "rewrite" else verdict


# ------------------------------------------------------------------------------------------------ answers
async def generate(state: State, runtime: Runtime[Context]) -> State:
    """From the documents that passed, of whichever search, and no others; where none has, from the best."""
    documents = passing(state["documents"], state["grades"]) or best_first(state["documents"])
    answer = await write_answer(runtime.context, Asked(state["question"], state["standalone"]), documents)
    passed, count = len(passing(state["documents"], state["grades"])), len(state["documents"])
    reason = worded(
        "{passed} of {documents} found passed the grading",
        passed=passed,
        documents=counted("{count} document", "{count} documents", count),
    )
    if not passed:
        reason = worded(
            "none of {documents} passed by itself, but the best of them are worth a try",
            documents=counted("{count} document", "{count} documents", count),
        )
    if not answer.text:  # the writing model has the last word
        answer = await say_no_answer(runtime.context, state["standalone"], documents, reason=answer.reason)
    return {"answer": replace(answer, reason=answer.reason or reason)}


async def no_answer(state: State, runtime: Runtime[Context]) -> State:
    documents = state.get("documents")
    reason = worded("none of {count} documents is relevant", count=len(documents)) if documents else ""
    return {"answer": await say_no_answer(runtime.context, state["standalone"], documents, reason=reason)}


# ------------------------------------------------------------------------------------------------ the graph
def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    graph = StateGraph(State, context_schema=Context)
    for node in (condense, retrieve, web_search, grade, rewrite, generate, greet, no_answer):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "condense")
    graph.add_conditional_edges("condense", after_condensing)
    graph.add_edge("retrieve", "grade")
    graph.add_edge("web_search", "grade")
    graph.add_conditional_edges("grade", after_grading, list(get_args(Verdict)))
    graph.add_conditional_edges("rewrite", after_rewriting)
    for last in ("generate", "greet", "no_answer"):
        graph.add_edge(last, END)
    return graph.compile(name="self_corrective")


class SelfCorrectiveWorkflow(GraphWorkflow):
    """Grades, and searches on in other words."""

    graph = build_graph()
    rounds = Rounds(
        best=2,
        worst=11,
        notes="grade and generate when enough documents pass at once; a follow-up is condensed first (+1), each of at "
        "most 3 rewrites adds two: rewrite and grade, and so does a web search: its words and grade. All documents are "
        "graded side by side: one round.",
    )

    @property
    def timeout_s(self) -> float:
        return TIMEOUT_S


# ------------------------------------------------------------------------------------------------ small decisions
def is_similar(hit: ScoredChunk, least: float) -> bool:
    """Words found it, or it is near enough; without a dense score there is no reason to leave it out."""
    return bool(hit.scores.bm25) or hit.scores.dense is None or hit.scores.dense >= least


def joined(
    before: tuple[ScoredChunk, ...], documents: tuple[ScoredChunk, ...], grades: Mapping[str, DocumentGrade]
) -> tuple[ScoredChunk, ...]:
    """Every document once, those that passed first, best first; of one that came with other neighbours, the relevant or
    else the longer text."""

    def preference(document: ScoredChunk) -> tuple[bool, int]:
        return grades[grade_key(document)].relevant, len(document.chunk.text)

    kept = {document.chunk_id: document for document in before}
    for document in documents:
        if document.chunk_id not in kept or preference(document) > preference(kept[document.chunk_id]):
            kept[document.chunk_id] = document

    def place(document: ScoredChunk) -> float:
        return -(document.scores.rerank or 0.0) if grades[grade_key(document)].relevant else 0.0

    return tuple(sorted(kept.values(), key=place))


def passing(documents: tuple[ScoredChunk, ...], grades: Mapping[str, DocumentGrade]) -> tuple[ScoredChunk, ...]:
    return tuple(document for document in documents if grades[grade_key(document)].relevant)


def best_first(documents: tuple[ScoredChunk, ...]) -> tuple[ScoredChunk, ...]:
    return tuple(sorted(documents, key=lambda document: -(document.scores.rerank or 0.0)))


def last_resort(state: State) -> Literal["generate", "no_answer"]:
    """With no other search to come: from what has passed; where a model has graded and let nothing pass, there is no
    answer."""
    passed = passing(state["documents"], state["grades"])
    refused = not state["documents"] or (state["graded"].by_model and not passed)
    return "no_answer" if refused else "generate"
