"""Write: the answer about whole documents, by the model where there is one, else quoted.

What the model writes is streamed; each sentence gets its citations as in every other answer. The path and `degraded`
say what served in place of a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from retrieval.steps.answer import with_more, written_answer
from retrieval.steps.documents.compare import Quoted
from retrieval.steps.step import Deps, step
from retrieval.steps.writing import AnswerWriter, Author, author_of, write_by_model
from retrieval.text.quoting import one_line
from retrieval.trace import degrade, note, reason_text
from retrieval.values import Answer, Source


async def author_for(deps: Deps, prompt: str, question: str) -> Author:
    """The model, and the room for what it reads, or why there is none."""
    return await author_of(deps, lambda: deps.prompt(prompt, passages="", question=one_line(question)))


@step("generate")
async def write(
    deps: Deps,
    author: Author,
    prompt: str,
    question: str,
    *,
    passages: str,
    sources: tuple[Source, ...],
    otherwise: Callable[[], Quoted],
) -> Answer:
    """By the model. `otherwise`: the answer where there is none, or it fails before its first word."""
    writer = AnswerWriter(deps, sources=sources, question=question)
    if author.model:
        await deps.trace.choose_sources(sources)
    ended = await write_by_model(
        deps, author, lambda: deps.prompt(prompt, passages=passages, question=one_line(question)), writer
    )
    if ended.failure:
        degrade(ended.failure)
    if not writer.text:
        return await _quoted(deps, await asyncio.to_thread(otherwise))
    return written_answer(writer.text, sources, ended)


@step("generate")
async def quote(deps: Deps, quoted: Quoted, *, model: str) -> Answer:
    """What a model found, in the document's words."""
    return await _quoted(deps, quoted, model=model)


async def _quoted(deps: Deps, quoted: Quoted, *, model: str = "") -> Answer:
    note("quoted", lines=quoted.lines, cited=[one.marker for one in quoted.sources], model=model, partial=False)
    await deps.trace.choose_sources(quoted.sources)
    answer = Answer(decision="ANSWER", text="", sources=quoted.sources, model=model)
    return await with_more(deps, answer, quoted.text)


async def say_also(deps: Deps, answer: Answer, text: str) -> Answer:
    """The answer, with a paragraph more, whose markers are of its sources."""
    return await with_more(deps, answer, f"\n\n{text}" if answer.text and text else text)


async def say_why_not(deps: Deps, text: str, reason: str) -> Answer:
    """There is nothing to answer from. reason: a code."""
    return await with_more(deps, Answer(decision="NO_ANSWER", text="", reason=reason_text(reason)), text)
