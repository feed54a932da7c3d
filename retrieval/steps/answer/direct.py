"""Replies that need no documents: to a greeting, and from the conversation and what is remembered.

Source: seed 001, `direct_response`.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.path_texts import reason_text
from retrieval.ports import Prompt
from retrieval.steps.answer.generate import with_more, written_answer
from retrieval.steps.answer.phrases import phrase
from retrieval.steps.answer.writers import CitedWriter, author_of, write_by_model
from retrieval.steps.deps import Deps
from retrieval.steps.memory import quote_memories
from retrieval.steps.query.small_talk import small_talk_kind
from retrieval.steps.step import step
from retrieval.text.answer_language import NAMES
from retrieval.text.quoting import one_line, quote_history
from retrieval.trace import degrade, note
from retrieval.values import Answer, Question, RememberedFact


@step("generate")
async def respond_directly(deps: Deps, question: Question, memories: Sequence[RememberedFact]) -> Answer | None:
    """None where no model can write it: nothing but a model can reply from a conversation."""

    def prompt() -> Prompt:
        return deps.prompts.render(
            "direct_answer",
            language=deps.language,
            language_name=NAMES[deps.language],
            memories=quote_memories(memories),
            history=quote_history(question.history),
            question=one_line(question.standalone),
        )

    writer = CitedWriter(deps, sources=(), question=question.standalone)  # takes the model's markers out
    ended = await write_by_model(deps, await author_of(deps, prompt), prompt, writer)
    if ended.failure:
        degrade(ended.failure)
    if not writer.text:
        note("no_direct_reply")
        return None
    return written_answer(writer.text, (), ended, reason=reason_text("no_documents_needed"))


@step("generate")
async def greet(deps: Deps, question: Question) -> Answer:
    """A reply to a greeting or to thanks; without a model, one of the site's own."""

    def prompt() -> Prompt:
        return deps.prompts.render(
            "small_talk",
            language=deps.language,
            language_name=NAMES[deps.language],
            question=one_line(question.text),
        )

    writer, reason = CitedWriter(deps, sources=(), question=question.text), reason_text("greeting")
    ended = await write_by_model(deps, await author_of(deps, prompt), prompt, writer)
    if ended.failure:
        degrade(ended.failure)
    if writer.text:
        return written_answer(writer.text, (), ended, reason=reason)
    note("greeting")
    own = phrase(small_talk_kind(question.text) or "small_talk", deps.language)
    return await with_more(deps, Answer(decision="ANSWER", text="", reason=reason), own)
