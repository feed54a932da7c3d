"""Where conversations meet the engine: the workflow that answers a question."""

from __future__ import annotations

from retrieval.engine import get_engine
from retrieval.trace import Trace
from retrieval.values import Answer, Question
from retrieval.workflows import DEFAULT_WORKFLOW, available_workflows, get_workflow

__all__ = ["DEFAULT_WORKFLOW", "answer_question", "available_workflows"]


async def answer_question(question: Question, *, workflow: str, trace: Trace) -> Answer:
    """Run the named workflow on the running loop's engine. Raises AppError where no fallback could serve."""
    return await get_workflow(workflow, engine=get_engine()).answer(question, trace=trace)
