"""The decision path says by which assistant a question is asked, and what of it could not be had."""

from __future__ import annotations

from retrieval.compose import get_engine
from retrieval.engine.path_details import AssistantDetails
from retrieval.engine.reasons import Reason
from retrieval.engine.trace import Trace
from retrieval.engine.values import AskedBy, Question


async def assistant_record(question: Question, assistant: AskedBy, *, trace: Trace) -> None:
    """One entry, before anything is searched."""
    async with trace.step("assistant") as entry:
        if assistant.gone:
            gone = Reason("assistant_gone", {"name": assistant.name})
            entry.note("assistant_gone", AssistantDetails(name=assistant.name))
            entry.degrade(gone)
            return
        lost = list(assistant.lost)
        if (
            question.model
            and question.model not in (await get_engine().models.status()).chat_models
        ):
            lost.append(question.model)
        details = AssistantDetails(
            name=assistant.name,
            version=assistant.version,
            characters=len(assistant.instructions),
            collections=assistant.collections or None,
            unreadable=assistant.unreadable or None,
            lost=tuple(lost) or None,
        )
        entry.note("assistant_used", details)
        if lost:
            entry.degrade(
                Reason("assistant_lost", {"name": assistant.name, "lost": ", ".join(lost)})
            )
        elif assistant.unreadable:
            figures = {"collections": assistant.collections, "unreadable": assistant.unreadable}
            entry.degrade(Reason("assistant_unreadable", {"name": assistant.name, **figures}))
