"""Direct response: a reply that needs no documents, from the conversation and what is remembered.

Source: seed 001, `direct_response`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from ragsite.core.wording import worded
from retrieval.errors import ModelError
from retrieval.steps.answer.generate import CitedWriter, Ended, stream_answer
from retrieval.steps.memory import quote_memories
from retrieval.steps.step import Asked, Step
from retrieval.text.answer_language import NAMES
from retrieval.text.quoting import one_line
from retrieval.trace import StepRecord
from retrieval.values import Answer, RememberedFact


@dataclass(frozen=True, slots=True)
class Remark:
    """A message that needs no documents, with what is remembered of earlier answers."""

    asked: Asked
    memories: Sequence[RememberedFact]


class DirectResponse(Step[Remark, Answer | None]):
    """None where no model can write it: nothing but a model can reply from a conversation."""

    name = "generate"

    async def act(self, given: Remark, entry: StepRecord) -> Answer | None:
        language, question = self.context.language, given.asked.text
        writer = CitedWriter(self.run.trace, sources=(), question=question, language=language)
        name, failure, ended = "", "", Ended()
        try:
            async with asyncio.timeout(self.run.deadline.remaining()):
                model = await self.tools.models.chat("answer")
            prompt = self.tools.prompts.render(
                "direct_answer",
                language=language,
                language_name=NAMES[language],
                memories=quote_memories(given.memories),
                history=self.history(given.asked.question),
                question=one_line(question),
            )
            ended = await stream_answer(model, prompt, writer, run=self.run)
            failure, name = ended.failure, model.name
        except ModelError as error:
            failure = error.reason
        except TimeoutError:
            failure = worded("no time was left for the model")
        if failure:
            entry.degrade(failure)
        if not writer.text:
            entry.summary = worded("no model to reply from the conversation")
            return None
        entry.summary = worded(
            "{characters} characters from the conversation, by {name}", characters=len(writer.text), name=name
        )
        return Answer(
            decision="ANSWER",
            text=writer.text,
            model=name,
            partial=bool(failure),
            cut=bool(failure) and ended.cut,
            reason=worded("needed no documents"),
        )
