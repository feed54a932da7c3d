"""Direct response: a reply that needs no documents, from the conversation and what is remembered.

Source: seed 001, `direct_response`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.errors import ModelError
from retrieval.steps.answer.generate import AnswerWriter, stream_answer
from retrieval.steps.memory import quote_memories
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import NAMES, Language
from retrieval.text.quoting import one_line, quote_history
from retrieval.values import Answer, Question, RememberedFact


@dataclass(frozen=True, slots=True)
class DirectResponse:
    tools: Toolbox

    async def respond(
        self,
        question: Question,
        standalone: str,
        memories: Sequence[RememberedFact],
        *,
        run: Run,
        language: Language,
    ) -> Answer | None:
        """None where no model can write it: nothing but a model can reply from a conversation."""
        async with run.trace.step("generate") as step:
            writer = AnswerWriter(run.trace, passages=0)
            name, failure = "", ""
            try:
                async with asyncio.timeout(run.deadline.remaining()):
                    model = await self.tools.models.chat("answer")
                prompt = self.tools.prompts.render(
                    "direct_answer",
                    language=language,
                    language_name=NAMES[language],
                    memories=quote_memories(memories),
                    history=quote_history(question.history),
                    question=one_line(standalone),
                )
                failure, name = await stream_answer(model, prompt, writer, run=run), model.name
            except ModelError as error:
                failure = error.reason
            except TimeoutError:
                failure = "no time was left for the model"
            if failure:
                step.degrade(failure)
            if not writer.text:
                step.summary = "no model to reply from the conversation"
                return None
            step.summary = f"{len(writer.text)} characters from the conversation, by {name}"
            return Answer(
                decision="ANSWER", text=writer.text, model=name, partial=bool(failure), reason="needed no documents"
            )
