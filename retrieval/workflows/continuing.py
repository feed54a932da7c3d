"""Go on with an answer that was cut or broke off: the writing and the checking alone, from the same passages.

generate (behind what is there) → verify (the whole)
"""

from __future__ import annotations

from ragsite.core.wording import worded
from retrieval.steps.answer.continuing import Begun, write_on
from retrieval.steps.cite.verify import verify
from retrieval.steps.deps import Deps
from retrieval.trace import Trace
from retrieval.values import Answer
from retrieval.workflows.workflow import close_path, language_of, require_model


async def require_writer(deps: Deps) -> None:
    """Raises UnavailableError where no model can go on: quoted sentences can't be continued by rules."""
    await require_model(deps, worded("An answer is continued by a model, and none can be used now: {reason}."))


async def continue_answer(begun: Begun, *, engine: Deps, trace: Trace) -> Answer:
    """The whole answer; its text begins with what was there. Never raises a ModelError."""
    timeout_s, language = engine.settings.corrective.timeout_s, language_of(begun.question)
    deps = engine.for_answer(trace, timeout_s=timeout_s, language=language)
    answer = await write_on(deps, begun)
    answer = await verify(deps, answer, question=begun.question.text)
    await close_path(trace, answer)
    return answer
