"""Condense: a follow-up, or the reply to a question asked back, becomes a question that stands on its own."""

from __future__ import annotations

from dataclasses import replace

from retrieval.steps.deps import Deps
from retrieval.steps.schemas import CondensedQuestion
from retrieval.steps.step import step
from retrieval.text.quoting import quote_history
from retrieval.trace import note, skip
from retrieval.values import Query, Question


def as_it_stands(deps: Deps, question: Question) -> Question:
    return question


@step("condense", fallback=as_it_stands)
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
    before = question.asked_before()
    if question.condensed or not before:
        return queries
    return (*queries, Query(f"{' '.join(before[0].split())} {question.text.strip()}", kind="condensed"))
