"""Go on with an answer that was cut or broke off: the writing and the checking alone, from the same passages.

generate (behind what is there) → verify (the whole)
"""

from __future__ import annotations

from ragsite.core.errors import UnavailableError
from ragsite.core.wording import worded
from retrieval.errors import ModelError
from retrieval.steps.answer.continuing import Begun, Continue
from retrieval.steps.cite.verify import verify
from retrieval.steps.step import Context
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import answer_language
from retrieval.trace import Trace
from retrieval.values import Answer
from retrieval.workflows.closing import close_path


async def require_writer(tools: Toolbox) -> None:
    """Raises UnavailableError where no model can go on: quoted sentences can't be continued by rules."""
    try:
        await tools.models.chat("answer")
    except ModelError as error:
        raise UnavailableError(
            worded("An answer is continued by a model, and none can be used now: {reason}.", reason=error.reason)
        ) from error


async def continue_answer(begun: Begun, *, tools: Toolbox, trace: Trace) -> Answer:
    """The whole answer; its text begins with what was there. Never raises a ModelError."""
    run = Run.start(trace, tools.settings)
    question = begun.question
    language = answer_language(question.text, earlier=question.asked_before(), reader=question.language)
    context = Context(tools=tools, run=run, language=language)
    answer = await Continue(context)(begun)
    answer = await verify(context.deps, answer, question=begun.question.text)
    await close_path(trace, answer)
    return answer
