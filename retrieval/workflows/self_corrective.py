"""Self-corrective RAG (seed 000): grade every document by itself, and search in other words while too few pass.

    START → condense ─┬─ small talk ───────────► greet ─────► END
                      ├─ nothing to search in ─► no_answer ─► END
                      └─► retrieve ─► grade ─┬─ passRate ≥ threshold, or rewrites used up ─► generate ──► END
                             ▲        ▲      ├─ the same, and nothing has passed ──────────► no_answer ► END
                             │        │      ├─ the same, and the web is wanted ─► web_search, once ─► grade
                             │        └──────┼────────────────────────────────────────┘
                             │               ├─ several readings ──────────────────────────► clarify ──► END
                             │               └─ passRate < threshold ─► rewrite ─┬─ no other words ► as above
                             └───────────────────────────────────────────────────┘

The grader judges each document against the question as it was asked, whatever was searched for, so a grade stands for
the whole answer; what has passed in any round is what the answer is written from. Searching on stops early when the
words run out, and when something has passed but searches in a row bring nothing new that passes.

The web is the last resort, where it is configured and wanted: when nothing of the documents has passed, its pages are
graded in their place. Filters that the question names hold until it is searched for the last time.

Without a model, the trained grader grades, and its estimate for all documents says whether there is an answer, as in
every other workflow; in the end the best ones give it although none has passed. A question with several readings is
asked back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ragsite.core.wording import Sentence, counted, worded
from retrieval.answerability import LIST_LENGTH
from retrieval.ports import SearchRequest
from retrieval.steps.answer.generate import write_answer
from retrieval.steps.judge.evaluator import Assessment
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
    ask_back,
    greet,
    has_documents,
    is_small_talk,
    is_worth_a_try,
    readings_to_ask_about,
    reranking_is_on,
    say_no_answer,
    was_offered,
)

TOP_K = 5  # documents that a search gives the grader
# cosine below which a document that only the vectors found is left out; not used with the lexical embedder
MIN_SIMILARITY = 0.3
REWRITES_LIMIT = 5  # the most that a request may ask for
# searches in a row that bring nothing new that passes, after which it answers from what has passed
STAGNANT_REWRITES = 2
TIMEOUT_S = 180.0  # a whole answer

LEAST_TIME_LEFT = 1 / 3  # of the whole answer's, for another search to begin

Verdict = Literal["generate", "rewrite", "web_search", "clarify", "no_answer"]
VERDICTS: dict[Verdict, Sentence] = {  # as the decision path says them
    "generate": worded("generate"), "rewrite": worded("rewrite"), "web_search": worded("web search"),
    "clarify": worded("clarify"), "no_answer": worded("no answer"),
}  # fmt: skip


class State(Asking, total=False):
    standalone: str  # self-contained: what every document is graded against
    filters: SearchFilters  # the request's, and those that the question names
    tried: tuple[str, ...]  # the queries so far: the question, then its rewrites
    words_are_left: bool  # unless a rewrite found none
    listed: tuple[ScoredChunk, ...]  # the chunks of the last search
    candidates: tuple[ScoredChunk, ...]  # the documents made of the first: neighbours joined, each said once
    graded: Graded  # of the last search
    grades: Mapping[str, DocumentGrade]  # of every search
    documents: tuple[ScoredChunk, ...]  # of every search, each once, best first
    answerability: float  # the trained model's best estimate of a search's documents; 0 where it was not asked
    blended: float  # the same with the model's word
    readings: tuple[ScoredChunk, ...]  # one for each document to ask back about
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
    """The current query alone: a rewritten one takes the place of the one before. More is looked for than is graded: a
    list of ten is what the trained grader knows."""
    tools, question = runtime.context.tools, state["question"]
    limits, rewrites = Limits.of(question, tools), len(state["tried"]) - 1
    query = Query(state["tried"][-1], kind="rewrite" if rewrites else "original")
    last = 0 < rewrites >= limits.max_rewrites
    request = SearchRequest(
        queries=(query,),
        scope=question.scope,
        filters=question.filters if last else state["filters"],
        top_k=min(max(limits.top_k, LIST_LENGTH), tools.settings.search.max_top_k),
    )
    purpose = worded("attempt {rewrites}: ", rewrites=rewrites) if rewrites else ""
    near = (await search_documents(runtime.context, request, purpose=purpose)).candidates
    if question.scope.semantic:
        near = tuple(hit for hit in near if is_similar(hit, limits.min_similarity))
    return {"listed": near, "candidates": await Dedupe(runtime.context)(Hits(near[: limits.top_k]))}


async def web_search(state: State, runtime: Runtime[Context]) -> State:
    """Its pages are graded as documents are, and by themselves: what was found before keeps its grades."""
    results = await WebSearch(runtime.context)(WebQuestion(Asked(state["question"], state["standalone"])))
    return {"listed": results.candidates, "candidates": results.candidates, "web_searched": True}


async def grade(state: State, runtime: Runtime[Context]) -> State:
    context, question = runtime.context, state["question"]
    documents = Documents(
        question=state["standalone"],
        passages=state["candidates"],
        known=state.get("grades", {}),
        use_model=reranking_is_on(question, context.tools),
        beyond=state["listed"][Limits.of(question, context.tools).top_k :],
        listed=state["listed"],
        semantic=question.scope.semantic,
    )
    graded, before = await Grade(context)(documents), state.get("documents", ())
    all_documents = joined(before, graded.documents, graded.grades)
    gained = len(passing(all_documents, graded.grades)) > len(passing(before, graded.grades))
    weighed: State = {
        "graded": graded,
        "grades": graded.grades,
        "documents": all_documents,
        "answerability": max(graded.answerability, state.get("answerability", 0.0)),
        "blended": max(graded.blended, state.get("blended", 0.0)),
        "stagnant": 0 if gained else state.get("stagnant", 0) + 1,
    }
    state = {**state, **weighed}
    readings = await readings_to_ask_about(
        assessed(state), state["standalone"], state["filters"], question=question, context=context
    )
    verdict = await decide({**state, "readings": readings}, context)
    return {**weighed, "readings": readings, "verdict": verdict}


async def decide(state: State, context: Context) -> Verdict:
    """The seed's rule, with its reason in the decision path."""
    limits, graded = Limits.of(state["question"], context.tools), state["graded"]
    async with context.run.trace.step("assess") as step:
        verdict: Verdict = last_resort(state, context.tools)
        enough = verdict == "generate" and graded.pass_rate >= limits.pass_rate
        stop = "" if enough else reason_to_stop(state, limits, context)
        verdict = verdict if enough or stop else "rewrite"
        if verdict == "no_answer" and web_is_left(state, context):
            verdict = "web_search"
        if state["readings"]:
            verdict, stop = "clarify", worded("it may be about several documents")
        share = worded("pass rate {share:.2f}, {wanted:.2f} wanted", share=graded.pass_rate, wanted=limits.pass_rate)
        if not graded.by_model:
            share += worded(", and without a model {reason}", reason=assessed(state).reason)
        step.summary = worded("{share}: {verdict}", share=share, verdict=VERDICTS[verdict])
        if stop:
            step.summary += worded(" ({stop})", stop=stop)
        step.detail |= {
            "pass_rate": round(graded.pass_rate, 3),
            "pass_count": len(graded.passed),
            "total_count": len(graded.documents),
            "pass_threshold": limits.pass_rate,
            "passed_in_all": len(passing(state["documents"], state["grades"])),
            "holds_answer": round(state["answerability"], 3),
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
    if last_resort(state, runtime.context.tools) == "no_answer" and state["filters"] != own:
        # Those that were read from the question may have been the mistake.
        return {"filters": own, "words_are_left": False}
    # It was to be rewritten, and can not be: what follows from that is a decision of its own in the path.
    return {"verdict": await decide({**state, "words_are_left": False}, runtime.context)}


def after_rewriting(state: State) -> Literal["retrieve", "web_search", "generate", "clarify", "no_answer"]:
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
    return {"answer": replace(answer, reason=answer.reason or reason)}


async def clarify(state: State, runtime: Runtime[Context]) -> State:
    return {"answer": await ask_back(assessed(state), state["readings"], runtime.context)}


async def no_answer(state: State, runtime: Runtime[Context]) -> State:
    if "documents" not in state:
        return {"answer": await say_no_answer(None, runtime.context)}
    count = len(state["documents"])
    reason = worded("none of {count} documents is relevant", count=count) if count else worded("nothing was found")
    nearest = Assessment(verdict="NO_ANSWER", candidates=state["documents"], reason=reason)
    return {"answer": await say_no_answer(nearest, runtime.context)}


# ------------------------------------------------------------------------------------------------ the graph
def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    graph = StateGraph(State, context_schema=Context)
    for node in (condense, retrieve, web_search, grade, rewrite, generate, greet, clarify, no_answer):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "condense")
    graph.add_conditional_edges("condense", after_condensing)
    graph.add_edge("retrieve", "grade")
    graph.add_edge("web_search", "grade")
    graph.add_conditional_edges("grade", after_grading, list(get_args(Verdict)))
    graph.add_conditional_edges("rewrite", after_rewriting)
    for last in ("generate", "greet", "clarify", "no_answer"):
        graph.add_edge(last, END)
    return graph.compile(name="self_corrective")


class SelfCorrectiveWorkflow(GraphWorkflow):
    """Grades, and searches on in other words."""

    graph = build_graph()
    rounds = Rounds(
        best=1,
        worst=11,
        notes="generate when enough documents pass at once, with a grade before it where the estimate is unsure of "
        "one; a follow-up is condensed first (+1), each of at "
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


def assessed(state: State) -> Assessment:
    """All that was found, for the decisions that the workflows share."""
    estimate = state["answerability"]
    return Assessment(
        verdict="REFINE",
        candidates=best_first(state["documents"]),
        reason=worded("the documents answer with a probability of {estimate:.2f}", estimate=estimate),
        answerability=estimate,
        retrieval_score=state["blended"],
    )


def last_resort(state: State, tools: Toolbox) -> Literal["generate", "no_answer"]:
    """With no other search to come. The estimate for all documents decides, with the model's word where it was asked:
    one document that looks good among poor ones is no answer, and of several that share the question's words seldom any
    passes alone."""
    assessment = assessed(state)
    worth_a_try = is_worth_a_try(assessment, tools.settings.corrective) or was_offered(state["question"], assessment)
    return "generate" if worth_a_try else "no_answer"
