"""A question put to a workflow, with the stand-ins of `steps.fakes` for the engine's parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings

from retrieval.engine.trace import StepRecord, Trace
from retrieval.engine.values import Answer, Question, StoredChunk
from retrieval.engine.workflows.registry import get_workflow
from tests.retrieval.engine.steps.fakes import HANDBOOK, Events, ask, make_tools


async def run(
    workflow: str,
    question: Question | str,
    chunks: Sequence[StoredChunk] = HANDBOOK,
    *,
    user_id: str = "",
    **parts: Any,
) -> tuple[Answer, Trace, Events]:
    """`user_id`: who asks a question that is given as text; `parts`: see `make_tools`."""
    events = Events()
    trace = Trace(events)
    asked = ask(question, user_id=user_id) if isinstance(question, str) else question
    deps = make_tools(settings.RAG, chunks, **parts)
    return await get_workflow(workflow).answer(asked, engine=deps, trace=trace), trace, events


def names(trace: Trace) -> list[str]:
    return [step.name for step in trace.steps]


def steps(trace: Trace, name: str) -> list[StepRecord]:
    return [step for step in trace.steps if step.name == name]


def judgement(verdict: str, *named: int) -> dict[str, Any]:
    """A judge's reply."""
    return {"relevant_passages": list(named), "verdict": verdict}
