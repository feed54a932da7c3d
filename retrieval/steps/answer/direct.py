"""Direct response: a reply that needs no documents, from the conversation and what is remembered.

Source: seed 001, `direct_response`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ragsite.core.wording import worded
from retrieval.errors import ModelError
from retrieval.path_texts import reason_text
from retrieval.steps.answer.generate import CitedWriter, Ended, stream_answer
from retrieval.steps.deps import Deps
from retrieval.steps.memory import quote_memories
from retrieval.steps.step import context_of, step
from retrieval.text.answer_language import NAMES
from retrieval.text.quoting import one_line, quote_history
from retrieval.trace import degrade, note
from retrieval.values import Answer, Question, RememberedFact


@step("generate")
async def respond_directly(deps: Deps, question: Question, memories: Sequence[RememberedFact]) -> Answer | None:
    """None where no model can write it: nothing but a model can reply from a conversation."""
    writer = CitedWriter(deps.trace, sources=(), question=question.standalone, language=deps.language)
    name, ended = "", Ended()
    try:
        async with asyncio.timeout(deps.deadline.remaining()):
            model = await deps.models.chat("answer")
        name = model.name
        prompt = deps.prompts.render(
            "direct_answer",
            language=deps.language,
            language_name=NAMES[deps.language],
            memories=quote_memories(memories),
            history=quote_history(question.history),
            question=one_line(question.standalone),
        )
        ended = await stream_answer(model, prompt, writer, run=context_of(deps).run)
    except ModelError as error:
        ended = Ended(error.reason)
    except TimeoutError:
        ended = Ended(reason_text("no_time_left"))
    if ended.failure:
        degrade(ended.failure)
    if not writer.text:
        note("no_direct_reply")
        return None
    note("direct_reply", characters=len(writer.text), model=name)
    return Answer(
        decision="ANSWER",
        text=writer.text,
        model=name,
        partial=bool(ended.failure),
        cut=bool(ended.failure) and ended.cut,
        reason=worded("needed no documents"),
    )
