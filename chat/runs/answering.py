"""A question put to the engine, without anything that is stored or sent of it."""

from __future__ import annotations

from dataclasses import replace

from retrieval.compose import get_engine
from retrieval.engine.deps import Deps
from retrieval.engine.providers.registry import ChosenModel
from retrieval.engine.trace import TRACER, Trace
from retrieval.engine.values import Answer, Question
from retrieval.engine.workflows.registry import get_workflow


async def answer_question(question: Question, *, workflow: str, trace: Trace) -> Answer:
    """Run the named workflow on the running loop's engine. Raises AppError where no fallback could serve."""
    with TRACER.start_as_current_span(
        "run", attributes={"ragsite.workflow": workflow}, record_exception=False
    ):
        return await get_workflow(workflow).answer(
            question, engine=await engine_for(question), trace=trace
        )


async def engine_for(question: Question) -> Deps:
    """The engine, with the model that the question chose. One that has gone since is the site's again."""
    engine = get_engine()
    if not question.model or question.model not in (await engine.models.status()).chat_models:
        return engine
    return replace(engine, models=ChosenModel(engine.models, question.model))
