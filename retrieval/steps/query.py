"""Query: other words for a search. Condense, rewrite, HyDE, step-back and decompose, each one model call.

Without a model none of them has a fallback that reads language: the question is searched for as it stands. A query that
was tried never comes back.
Sources: Ma et al., EMNLP 2023 (rewrite); Gao et al., ACL 2023, arXiv:2212.10496 (HyDE); Zheng et al., ICLR 2024
(step-back); seeds 000 to 004.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel

from retrieval.errors import ModelOutputError
from retrieval.providers.reply_schema import exactly, limited, shaped
from retrieval.steps.step import Deps, step
from retrieval.text.quoting import one_line, quote_history
from retrieval.trace import note, skip
from retrieval.values import Query, QueryKind, Question

VARIANTS = 3  # wordings asked for
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


def no_queries(deps: Deps, question: Question, **given: object) -> tuple[Query, ...]:
    """Without a model: no rule knows other words."""
    note("no_other_words", queries=[])
    return ()


def rewriting_is_on(deps: Deps, question: Question) -> bool:
    asked = question.options.rewrite
    return deps.settings.rewrite.enabled if asked is None else asked


class RewrittenQueries(BaseModel):
    queries: list[QueryText]


@step("rewrite", fallback=no_queries, optional=True)
async def rewrite(deps: Deps, question: Question) -> tuple[Query, ...]:
    """Variants of the question, and its parts where it asks several things."""
    if not rewriting_is_on(deps, question):
        skip("switched_off")
        return ()
    reply = await deps.complete(
        "rewrite",
        exactly(RewrittenQueries, "queries", VARIANTS),
        history=quote_history(question.history),
        question=question.standalone,
        variants=VARIANTS,
    )
    return _noted(distinct(reply.queries, tried=[question.standalone])[:VARIANTS])


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
    kept: list[str] = []
    for text in texts:
        text = one_line(text)[:QUERY_CHARS]
        if (folded := _folded(text)) not in seen:
            seen.add(folded)
            kept.append(text)
    return kept


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
