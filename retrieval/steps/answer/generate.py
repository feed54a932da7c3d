"""Generate: the answer, streamed as the model writes it; without a model, the best sentences of the passages.

What has reached the reader is the answer: markers are cleaned on the way, and a stream that breaks leaves what came.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from retrieval.errors import ModelError
from retrieval.ports import ChatModel, Prompt
from retrieval.steps.answer.echo import EchoGuard
from retrieval.steps.answer.extractive import extractive_answer
from retrieval.steps.answer.markers import MarkerFilter, cited_markers
from retrieval.steps.answer.no_answer import reads_as_refusal
from retrieval.steps.answer.phrases import phrase
from retrieval.steps.grounding.verify import Verify
from retrieval.steps.query.small_talk import Kind
from retrieval.steps.retrieve import order
from retrieval.steps.retrieve.compress import Compress
from retrieval.steps.retrieve.order import Position
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import NAMES, Language, ScriptKeeper
from retrieval.text.quoting import one_line, quote_history, quote_source
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import StepRecord, Trace
from retrieval.values import Answer, Question, ScoredChunk, Source

POSITION: Position = "top_first"  # where the best passages stand in the prompt
EXTRACTIVE_SENTENCES = 4  # of an answer that no model wrote


class AnswerWriter:
    """Emits an answer's pieces, cleaned; `text` is what has been emitted."""

    def __init__(self, trace: Trace, *, passages: int, language: Language = "other") -> None:
        """`language`: the script that a Chinese answer is kept in; "other" leaves it as it comes."""
        self.text = ""
        self._trace = trace
        self._filter = MarkerFilter(passages)
        self._script = ScriptKeeper(language)

    async def write(self, piece: str) -> None:
        await self._emit(self._script.feed(self._filter.feed(piece)))

    async def finish(self) -> None:
        await self._emit(self._script.feed(self._filter.finish()) + self._script.finish())

    async def _emit(self, content: str) -> None:
        content = content if self.text else content.lstrip()
        if content:
            self.text += content
            await self._trace.emit_chunk(content)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Author:
    """Who writes. room: tokens that the passages may have; None: no model reads them, for the reason in `failure`."""

    model: ChatModel | None = None
    room: int | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Generate:
    tools: Toolbox

    async def generate(
        self, question: Question, standalone: str, candidates: Sequence[ScoredChunk], *, run: Run, language: Language
    ) -> Answer:
        """`candidates`: reranked, best first; `standalone`: the self-contained question. Never raises a ModelError.

        Steps: compress, order, generate, verify. Sources hold their whole text, whatever of it the model was given.
        """
        numbers = self.tools.settings.corrective
        most = question.options.top_k or numbers.context_passages
        chosen = order.choose(candidates, most=most, weak_score=numbers.weak_score)
        author = await self._author(question, standalone, run=run, language=language)
        given = await Compress(self.tools).compress(standalone, chosen, run=run, tokens=author.room)
        given = await self._order(given, of=len(candidates), room=author.room, run=run)
        sources = as_sources(given, chosen)
        async with run.trace.step("generate") as step:
            await run.trace.sink.sources_chosen(sources)
            answer = await self._write(
                question, standalone, given, sources, author=author, step=step, run=run, language=language
            )
        return await Verify(self.tools).verify(answer, standalone, run=run, language=language)

    async def greet(self, question: Question, kind: Kind, *, run: Run, language: Language) -> Answer:
        """A reply to a greeting or to thanks, without passages."""
        async with run.trace.step("generate") as step:
            writer = AnswerWriter(run.trace, passages=0, language=language)
            failure = ""
            try:
                model = await self.tools.models.chat("answer")
                prompt = self.tools.prompts.render(
                    "small_talk", language=language, language_name=NAMES[language], question=one_line(question.text)
                )
                failure = await stream_answer(model, prompt, writer, run=run)
            except ModelError as error:
                failure = error.reason
            if failure:
                step.degrade(failure)
            if not writer.text:
                await writer.write(phrase(kind, language))
                await writer.finish()
                failure = ""
            step.summary = "a greeting"
            return Answer(decision="ANSWER", text=writer.text, reason="small talk", partial=bool(failure))

    async def _author(self, question: Question, standalone: str, *, run: Run, language: Language) -> _Author:
        """The model, and how long the passages may be for it, or why there is none."""
        try:
            async with asyncio.timeout(run.deadline.remaining()):
                model = await self.tools.models.chat("answer")
            frame = self._render(question, standalone, (), language)
        except ModelError as error:
            return _Author(failure=error.reason)
        except TimeoutError:
            return _Author(failure="no time was left for the model")
        room = model.prompt_budget - estimate_tokens(frame.system) - estimate_tokens(frame.user)
        return _Author(model=model, room=max(0, room))

    async def _order(self, ranked: Sequence[ScoredChunk], *, of: int, room: int | None, run: Run) -> list[ScoredChunk]:
        position = POSITION
        async with run.trace.step("order") as step:
            fitting = list(ranked) if room is None else order.fit(ranked, tokens=room)
            placed = order.place(fitting, position)
            step.summary = f"{len(placed)} of {of} passages, {order.IN_WORDS[position]}"
            step.detail["chunk_ids"] = [candidate.chunk_id for candidate in placed]
            return placed

    async def _write(
        self, question: Question, standalone: str, given: Sequence[ScoredChunk], sources: tuple[Source, ...], *,
        author: _Author, step: StepRecord, run: Run, language: Language,
    ) -> Answer:  # fmt: skip
        """By the model; where it is away or fails before its first word, the best sentences of the passages."""
        writer, model, failure = (
            AnswerWriter(run.trace, passages=len(sources), language=language),
            author.model,
            author.failure,
        )
        if model:
            try:
                prompt = self._render(question, standalone, given, language)
                failure = await stream_answer(model, prompt, writer, run=run)
            except ModelError as error:
                failure = error.reason
        if failure:
            step.degrade(failure)
        if not writer.text:
            most = EXTRACTIVE_SENTENCES
            pieces = await asyncio.to_thread(
                lambda: list(extractive_answer(standalone, sources, language=language, sentences=most))
            )
            for piece in pieces:
                await writer.write(piece)
            await writer.finish()
            model, failure = None, ""
        return self._answer(step, writer.text, sources, model=model, broke=failure)

    def _render(self, question: Question, standalone: str, chosen: Sequence[ScoredChunk], language: Language) -> Prompt:
        passages = (quote_source(number, candidate.chunk, language) for number, candidate in enumerate(chosen, start=1))
        return self.tools.prompts.render(
            "generate",
            language=language,
            language_name=NAMES[language],
            history=quote_history(question.history),
            passages="\n\n".join(passages),
            question=one_line(standalone),
        )

    def _answer(
        self, step: StepRecord, text: str, sources: Sequence[Source], *, model: ChatModel | None, broke: str
    ) -> Answer:
        cited = cited_markers(text)
        marked = tuple(replace(source, cited=source.marker in cited) for source in sources)
        refused = model is not None and not broke and not cited and reads_as_refusal(text)
        step.detail |= {"model": model.name if model else "", "cited": sorted(cited), "partial": bool(broke)}
        step.summary = (
            f"{len(text)} characters, {len(cited)} of {len(sources)} passages cited"
            + (f", by {model.name}" if model else ", without a model")
            + (", broken off" if broke else "")
            + (": the model found no answer in the passages" if refused else "")
        )
        return Answer(
            decision="NO_ANSWER" if refused else "ANSWER",
            text=text,
            sources=marked,
            model=model.name if model else "",
            partial=bool(broke),
            reason="the model found no answer in the passages" if refused else "",
        )


async def stream_answer(model: ChatModel, prompt: Prompt, writer: AnswerWriter, *, run: Run) -> str:
    """Write the model's answer; returns why it failed or broke off, or an empty string.

    Cancelling closes the model's connection. At the deadline the answer ends where it is, and so it does where the
    model begins to recite the prompt's system part.
    """
    failure, guard = "", EchoGuard(prompt.system)
    try:
        async with asyncio.timeout(run.deadline.remaining()):
            stream: AsyncGenerator[str, None] = model.stream(prompt)
            async with aclosing(stream) as pieces:
                async for piece in pieces:
                    await writer.write(guard.feed(piece))
                    if guard.caught:
                        failure = "the model began to recite its instructions and was cut off there"
                        break
    except ModelError as error:
        failure = error.reason
    except TimeoutError:
        failure = "the time for the whole answer was over"
    await writer.write(guard.finish())
    await writer.finish()
    if not failure and not writer.text:
        failure = "the model gave an empty answer"
    return failure


def as_sources(given: Sequence[ScoredChunk], whole: Sequence[ScoredChunk]) -> tuple[Source, ...]:
    """Numbered from 1 in the order of the prompt. `whole`: the same passages, uncut."""
    uncut = {candidate.chunk_id: candidate.chunk for candidate in whole}
    return tuple(
        Source(marker=number, chunk=uncut[candidate.chunk_id], scores=candidate.scores)
        for number, candidate in enumerate(given, start=1)
    )
