"""Condense: a follow-up as a question that needs no conversation. Without a model it stays as it is."""

from __future__ import annotations

from dataclasses import replace

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import CondenseDetails
from retrieval.engine.steps.query.queries import LongText
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import quote_history
from retrieval.engine.trace import note, skip
from retrieval.engine.values import Question


class CondensedQuestion(BaseModel):
    standalone_question: LongText


@step("condense", fallback=lambda deps, question: question)
async def condense(deps: Deps, question: Question) -> Question:
    """The question with `condensed` filled in. Without a model it stays as it is: no rule tells a follow-up."""
    if question.condensed or not question.history:
        skip("stands_alone")
        return question
    reply = await deps.complete(
        "condense",
        CondensedQuestion,
        history=quote_history(question.history),
        question=question.text,
    )
    standalone = " ".join(reply.standalone_question.split()) or question.text
    note("condensed", CondenseDetails(standalone_question=standalone))
    return replace(question, condensed=standalone)
