"""Query: other words for a search. Condense, rewrite, HyDE, step-back and decompose, each one model call.

Without a model none of them has a fallback that reads language: the question is searched for as it stands. A query that
was tried never comes back.
Sources: Ma et al., EMNLP 2023 (rewrite); Gao et al., ACL 2023, arXiv:2212.10496 (HyDE); Zheng et al., ICLR 2024
(step-back); seeds 000 to 004.

Route: what a question says about the documents it is about becomes filters, a task for whole documents, or neither.

The fast model reads department, kind of document and year among the values that the documents in scope hold ("HR",
人事), and the titles of some of them; no filter without evidence in the question's own words. Filters of the request
always win. One that was read from the question is preferred, not strict: it may mean something else, so what it hides
fills up what it leaves (`retrieval.engine.steps.retrieve`).
Source: seed 003 (routing).
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import BaseModel

from retrieval.engine.errors import ModelOutputError
from retrieval.engine.providers.chat import exactly, limited, shaped
from retrieval.engine.steps.step import Deps, step
from retrieval.engine.text.languages import to_simplified
from retrieval.engine.text.named_values import named_values
from retrieval.engine.text.quoting import one_line, quote_history
from retrieval.engine.trace import note, skip
from retrieval.engine.values import DocumentRef, DocumentTask, Query, QueryKind, Question, SearchFilters, Vocabulary

VARIANTS = 3  # wordings that come with a strategy (`dual_loop`)
QUERY_CHARS = 500
NONE = "-"
SUB_QUERIES = 4  # parts at most
QueryText = Annotated[str, limited(minLength=3, maxLength=200)]
_Text = Annotated[str, limited(minLength=3, maxLength=400)]


class ClearQuery(BaseModel):
    query: QueryText


# ------------------------------------------------------------------------------------------------ condense
class CondensedQuestion(BaseModel):
    standalone_question: _Text


@step("condense", fallback=lambda deps, question: question)
async def condense(deps: Deps, question: Question) -> Question:
    """The question with `condensed` filled in. Without a model it stays as it is: no rule tells a follow-up."""
    if question.condensed or not question.history:
        skip("stands_alone")
        return question
    reply = await deps.complete(
        "condense", CondensedQuestion, history=quote_history(question.history), question=question.text
    )
    standalone = " ".join(reply.standalone_question.split()) or question.text
    note("condensed", standalone_question=standalone)
    return replace(question, condensed=standalone)


def own_words(question: Question) -> tuple[Query, ...]:
    """What is searched for before a model has made anything of the question: its words, and in a conversation also
    together with those of the question before. Reciprocal rank puts first what both find."""
    queries = (Query(question.standalone),)
    if not question.leans_on:
        return queries
    return (*queries, Query(f"{' '.join(question.leans_on.split())} {question.text.strip()}", kind="condensed"))


# ------------------------------------------------------------------------------------------------ rewrite


def no_queries(deps: Deps, question: Question, **_: object) -> tuple[Query, ...]:
    """Without a model: no rule knows other words."""
    note("no_other_words", queries=[])
    return ()


def rewriting_is_on(deps: Deps, question: Question) -> bool:
    option = question.options.rewrite
    return deps.settings.rewrite.enabled if option is None else option


class RewrittenQueries(BaseModel):
    queries: list[QueryText]


@step("rewrite", fallback=no_queries, optional=True)
async def rewrite(deps: Deps, question: Question) -> tuple[Query, ...]:
    """Variants of the question, and its parts where it asks several things."""
    if not rewriting_is_on(deps, question):
        skip("switched_off")
        return ()
    variants = deps.settings.rewrite.variants
    reply = await deps.complete(
        "rewrite",
        exactly(RewrittenQueries, "queries", variants),
        history=quote_history(question.history),
        question=question.standalone,
        variants=variants,
    )
    return _noted(distinct(reply.queries, tried=[question.standalone])[:variants])


@step("rewrite", fallback=no_queries, optional=True)
async def rewrite_to_concepts(
    deps: Deps, question: Question, *, tried: Sequence[str] = (), missing: str = ""
) -> tuple[Query, ...]:
    """One query of key concepts, in the message's own language. missing: what the passages lacked so far."""
    reply = await deps.complete(
        "query_rewriter",
        ClearQuery,
        history=quote_history(question.history),
        tried="; ".join(map(one_line, tried)) or NONE,
        missing=one_line(missing) or NONE,
        question=one_line(question.text),
    )
    queries = _noted([new_query(reply.query, tried)], tried=list(tried), missing=missing)
    await deps.trace.announce("query_rewriter", f"“{question.text}” → “{queries[0].text}”")
    return queries


def distinct(texts: Iterable[str], *, tried: Iterable[str] = ()) -> list[str]:
    """Cleaned texts in order, each once, without empty ones and without those that were searched for before."""
    seen = {_folded(text) for text in tried} | {""}
    distinct_texts: list[str] = []
    for text in texts:
        text = one_line(text)[:QUERY_CHARS]
        if (folded := _folded(text)) not in seen:
            seen.add(folded)
            distinct_texts.append(text)
    return distinct_texts


def _folded(text: str) -> str:
    """Two queries with the same words in the same order are one."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())


def new_query(text: str, tried: Sequence[str]) -> str:
    """Raises ModelOutputError for a query that was tried before, or says nothing."""
    if fresh := distinct([text], tried=tried):
        return fresh[0]
    raise ModelOutputError("query_tried_before")


def _noted(texts: Sequence[str], kind: QueryKind = "rewrite", **detail: object) -> tuple[Query, ...]:
    note("queries_made" if texts else "no_other_words", queries=list(texts), **detail)
    return tuple(Query(text, kind=kind) for text in texts)


# ------------------------------------------------------------------------------------------------ hyde
class HypotheticalPassage(BaseModel):
    hypothetical_passage: _Text


@step("hyde", fallback=lambda deps, question: (), optional=True)
async def hyde(deps: Deps, question: Question) -> tuple[Query, ...]:
    """One query for the vector search alone; none where it is switched off."""
    if question.options.hyde is False:
        skip("switched_off")
        return ()
    reply = await deps.complete(
        "hyde", HypotheticalPassage, history=quote_history(question.history), question=question.standalone
    )
    passage = " ".join(reply.hypothetical_passage.split())
    note("passage_imagined", passage=passage)
    return (Query(passage, kind="hyde", vector_only=True),) if passage else ()


# ------------------------------------------------------------------------------------------------ transform


class SubQueries(BaseModel):
    sub_queries: list[QueryText]


@step("decompose", fallback=no_queries, optional=True)
async def decompose(deps: Deps, question: Question) -> tuple[Query, ...]:
    """The simpler questions that a compound one is made of; a single one is no decomposition."""
    reply = await deps.complete(
        "decompose",
        shaped(SubQueries, sub_queries={"minItems": 2, "maxItems": SUB_QUERIES}),
        history=quote_history(question.history),
        question=question.standalone,
        sub_queries=SUB_QUERIES,
    )
    texts = distinct(reply.sub_queries, tried=[question.standalone])[:SUB_QUERIES]
    return _noted(texts if len(texts) > 1 else (), "sub_query")


class StepBackQuery(BaseModel):
    step_back_query: QueryText


@step("step_back", fallback=no_queries, optional=True)
async def step_back(deps: Deps, question: Question) -> tuple[Query, ...]:
    """The broader question behind a very specific one."""
    reply = await deps.complete(
        "step_back", StepBackQuery, history=quote_history(question.history), question=question.standalone
    )
    return _noted(distinct([reply.step_back_query], tried=[question.standalone]), "step_back")


# ------------------------------------------------------------------------------------------------ route
MAX_LISTED = 60  # values of a kind that the model chooses among
MAX_OFFERED = 40  # documents
COMPARED = 2
MIN_EVIDENCE = 2  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """filters: those that were known, and what a model read beside them. task: for whole documents. direct: no document
    is needed, as for a greeting."""

    filters: SearchFilters
    task: DocumentTask | None = None
    direct: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BetterWords:
    """question: condensed where it needs a conversation. queries: all words, the user's own first."""

    question: Question
    queries: tuple[Query, ...]
    route: Route


async def look_for_better_words(
    deps: Deps, question: Question, filters: SearchFilters, *, found: Sequence[str] = ()
) -> BetterWords:
    """condense (in a conversation), rewrite, hyde and route, side by side as one round. found: see `read_question`."""
    condensed, variants, imagined, route = await asyncio.gather(
        condense(deps, question),
        rewrite(deps, question),
        hyde(deps, question),
        read_question(deps, question, filters, found=found),
    )
    queries = (Query(question.text), Query(condensed.standalone, kind="condensed"), *variants, *imagined)
    return BetterWords(question=condensed, queries=distinct_queries(queries), route=route)


def distinct_queries(queries: tuple[Query, ...]) -> tuple[Query, ...]:
    """Each text once; the first one with it stays."""
    by_text: dict[str, Query] = {}
    for query in queries:
        by_text.setdefault(" ".join(query.text.casefold().split()), query)
    return tuple(by_text.values())


# ------------------------------------------------------------------------------------------------ by looking it up
async def prefer_what_is_named(deps: Deps, question: Question) -> Question:
    """The question with filters that prefer the documents' own departments, types, years and tags that it names.

    No call of a model, and no entry in the path where it names none, or where the request wants none looked up. Filters
    of the request are left as they are.
    """
    if question.options.route is False:
        return question
    vocabulary = await deps.store.vocabulary(question.scope)
    named = await asyncio.to_thread(named_values, question.text, vocabulary)
    filters = question.filters.preferring(named)
    if filters == question.filters:
        return question
    async with deps.trace.step("route") as entry:
        preferred = {name: values for name, values in named.as_dict().items() if name in filters.preferred.fields}
        values = [value for field in preferred.values() for value in field]
        entry.note("values_named", preferred=preferred, values=values)
    return replace(question, filters=filters)


# ------------------------------------------------------------------------------------------------ by a model
async def read_question(deps: Deps, question: Question, known: SearchFilters, *, found: Sequence[str] = ()) -> Route:
    """found: ids of documents, offered to the model first.

    No call, and no entry in the path, where a request wants no rewriting, or there is nothing to choose: a department
    or kind that all documents share excludes nothing.
    """
    if question.options.rewrite is False:
        return Route(filters=known)
    vocabulary = await deps.store.vocabulary(question.scope)
    offered = await _offered(deps, question, found)
    named = {*known.as_dict(), *known.preferred.fields}
    departments_left = "department" not in named and len(vocabulary.departments) > 1
    doc_types_left = "doc_type" not in named and len(vocabulary.doc_types) > 1
    if not (departments_left or doc_types_left or offered):
        return Route(filters=known)
    return await route(deps, question, known, vocabulary, offered)


async def _offered(deps: Deps, question: Question, found: Sequence[str]) -> list[DocumentRef]:
    """Those that were found, then the newest."""
    if deps.documents is None:
        return []
    named = SearchFilters(documents=tuple(found))
    first = await deps.documents.documents(question.scope, filters=named, limit=MAX_OFFERED) if found else ()
    newest = await deps.documents.documents(question.scope, filters=question.filters, limit=MAX_OFFERED)
    return list({document.id: document for document in (*first, *newest)}.values())[:MAX_OFFERED]


def as_known(
    deps: Deps, question: Question, known: SearchFilters, vocabulary: Vocabulary, offered: Sequence[DocumentRef]
) -> Route:
    return Route(filters=known)


class QuestionRoute(BaseModel):
    """What the question says about the documents it is about, and what is asked of whole documents, by their numbers.

    evidence: its own words that name department, kind or year. chat: nothing is asked of documents.
    """

    evidence: Annotated[str, limited(maxLength=120)] = ""
    department: str = ""
    doc_type: str = ""
    policy_year: int | None = None
    task: Literal["", "summarise", "list", "compare", "chat"] = ""
    documents: Annotated[list[int], limited(maxItems=2)] = []


@step("route", fallback=as_known, optional=True)
async def route(
    deps: Deps, question: Question, known: SearchFilters, vocabulary: Vocabulary, offered: Sequence[DocumentRef]
) -> Route:
    titles = (
        f"{number}. {one_line(document.title)}" + (f" ({document.policy_year})" if document.policy_year else "")
        for number, document in enumerate(offered, start=1)
    )
    reply = await deps.complete(
        "question_filters",
        shaped(
            QuestionRoute,
            department={"enum": [*vocabulary.departments[:MAX_LISTED], ""]},
            doc_type={"enum": [*vocabulary.doc_types[:MAX_LISTED], ""]},
            policy_year={"enum": [*vocabulary.policy_years[:MAX_LISTED], None]},
        ),
        departments=_listed(vocabulary.departments),
        doc_types=_listed(vocabulary.doc_types),
        policy_years=_listed(vocabulary.policy_years),
        documents="\n".join(titles) or "-",
        question=question.standalone,
    )
    evident = Vocabulary()
    task = _task(reply, offered)
    if question.options.route is not False:
        evident = with_evidence(reply, question.standalone, vocabulary)
    found = evident.as_dict()
    filters = known.preferring(evident)
    direct = reply.task == "chat"
    code = f"task_{task.name}" if task else "no_documents_needed" if direct else "filters_read"
    note(
        code if found or code != "filters_read" else "no_filters_read",
        from_model=found,
        filters=filters.as_dict(),
        preferred=filters.preferred.as_dict(),
        evidence=reply.evidence,
    )
    return Route(filters=filters, task=task, direct=direct)


def _task(read: QuestionRoute, offered: Sequence[DocumentRef]) -> DocumentTask | None:
    """None: there is none, or it names no such documents."""
    numbers = list(dict.fromkeys(read.documents))
    fits = len(numbers) == COMPARED if read.task == "compare" else 0 < len(numbers) <= COMPARED
    if read.task == "" or read.task == "chat" or not fits or not all(1 <= number <= len(offered) for number in numbers):
        return None
    return DocumentTask(read.task, tuple(offered[number - 1].id for number in numbers))


def _listed(values: Iterable[object]) -> str:
    return "; ".join(one_line(str(value)) for value in list(values)[:MAX_LISTED]) or "-"


def with_evidence(read: QuestionRoute, question: str, vocabulary: Vocabulary) -> Vocabulary:
    """The documents' own values alone, and only if the words that are given as evidence stand in the question."""
    evidence = fold(read.evidence)
    question_text = fold(question)
    if not MIN_EVIDENCE <= len(evidence) < len(question_text) or evidence not in question_text:
        return Vocabulary()
    departments = {fold(value): value for value in vocabulary.departments}
    doc_types = {fold(value): value for value in vocabulary.doc_types}
    department = departments.get(fold(read.department))
    doc_type = doc_types.get(fold(read.doc_type))
    year = read.policy_year if read.policy_year in vocabulary.policy_years else None
    return Vocabulary(
        departments=(department,) if department else (),
        doc_types=(doc_type,) if doc_type else (),
        policy_years=(year,) if year and str(year) in question_text else (),
    )


def fold(text: str) -> str:
    """For comparing names: NFKC, Simplified, lower case, single blanks."""
    return " ".join(to_simplified(unicodedata.normalize("NFKC", text)).casefold().split())
