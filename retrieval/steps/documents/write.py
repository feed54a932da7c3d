"""Write: the answer about whole documents, by the model where there is one, else quoted.

What the model writes is streamed; each sentence gets its citations as in every other answer. The path and `degraded`
say what served in place of a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from retrieval.errors import ModelError
from retrieval.path_texts import reason_text
from retrieval.ports import Prompt
from retrieval.steps.answer.generate import AnswerWriter, Author, CitedWriter, marked_cited, stream_answer
from retrieval.steps.cite.markers import cited_markers
from retrieval.steps.deps import Deps
from retrieval.steps.documents.compose import Quoted
from retrieval.steps.step import step
from retrieval.text.answer_language import NAMES
from retrieval.text.quoting import one_line
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import degrade, note
from retrieval.values import Answer, Source


async def author_of(deps: Deps, prompt: str, question: str) -> Author:
    """The model, and the room for what it reads, or why there is none."""
    try:
        async with asyncio.timeout(deps.deadline.remaining()):
            model = await deps.models.chat("answer")
        frame = _prompt(deps, prompt, question, "")
    except ModelError as error:
        return Author(failure=error.reason)
    except TimeoutError:
        return Author(failure="no_time_left")
    return Author(model=model, room=max(0, model.prompt_budget - estimate_tokens(frame.system + frame.user)))


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
    writer = CitedWriter(deps.trace, sources=sources, question=question, language=deps.language, models=deps.models)
    failure, cut = author.failure, False
    if author.model:
        await deps.trace.sink.sources_chosen(sources)
        try:
            filled = _prompt(deps, prompt, question, passages)
            ended = await stream_answer(author.model, filled, writer, run=deps)
            failure, cut = ended.failure, ended.cut
        except ModelError as error:
            failure = error.reason
    if failure:
        degrade(failure)
    if not author.model or not writer.text:
        return await _quoted(deps, await asyncio.to_thread(otherwise))
    cited, name = cited_markers(writer.text), author.model.name
    note(
        "written", characters=len(writer.text), cited=sorted(cited), of=len(sources), model=name, partial=bool(failure)
    )
    marked = marked_cited(sources, cited)
    return Answer(
        decision="ANSWER",
        text=writer.text,
        sources=marked,
        model=name,
        partial=bool(failure),
        cut=bool(failure) and cut,
    )


@step("generate")
async def quote(deps: Deps, quoted: Quoted, *, model: str) -> Answer:
    """What a model found, in the document's words."""
    return await _quoted(deps, quoted, model=model)


async def _quoted(deps: Deps, quoted: Quoted, *, model: str = "") -> Answer:
    note("quoted", lines=quoted.lines, cited=[one.marker for one in quoted.sources], model=model, partial=False)
    await deps.trace.sink.sources_chosen(quoted.sources)
    answer = Answer(decision="ANSWER", text="", sources=quoted.sources, model=model)
    return await say_also(deps, answer, quoted.text)


async def say_also(deps: Deps, answer: Answer, text: str) -> Answer:
    """The answer, with more said behind it, whose markers are of its sources."""
    writer = AnswerWriter(deps.trace, language=deps.language)
    writer.text = answer.text
    for line in (f"\n\n{text}" if answer.text and text else text).splitlines(keepends=True):
        await writer.write(line)
    await writer.finish()
    cited = cited_markers(writer.text)
    return replace(answer, text=writer.text, sources=marked_cited(answer.sources, cited))


@step("assess")
async def say_why_not(deps: Deps, text: str, reason: str) -> Answer:
    """There is nothing to answer from. reason: a code."""
    note("no_answer_because", verdict="NO_ANSWER", decision="NO_ANSWER", reason=reason)  # closes the path
    return await say_also(deps, Answer(decision="NO_ANSWER", text="", reason=reason_text(reason)), text)


def _prompt(deps: Deps, prompt: str, question: str, passages: str) -> Prompt:
    return deps.prompts.render(
        prompt,
        language=deps.language,
        language_name=NAMES[deps.language],
        passages=passages,
        question=one_line(question),
    )
