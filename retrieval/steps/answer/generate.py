"""Generate: the answer, streamed as the model writes it; without a model, the best sentences of the passages.

What has reached the reader is the answer: citations are set on the way, sentence by sentence, and a stream that breaks
leaves what came.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from ragsite.core.wording import worded
from retrieval.errors import ModelCutError, ModelError
from retrieval.ports import ChatModel, Prompt
from retrieval.steps.answer.citing import CitedStream
from retrieval.steps.answer.echo import EchoGuard
from retrieval.steps.answer.extractive import extractive_answer
from retrieval.steps.answer.figure_left_out import figure_left_out
from retrieval.steps.answer.in_force import in_force, with_named_version
from retrieval.steps.answer.markers import MarkerFilter, cited_markers
from retrieval.steps.answer.no_answer import reads_as_refusal
from retrieval.steps.answer.phrases import phrase
from retrieval.steps.grounding.align import align
from retrieval.steps.grounding.verify import Verify
from retrieval.steps.judge.evaluator import WrittenAnswer
from retrieval.steps.query.small_talk import small_talk_kind
from retrieval.steps.retrieve.compress import Chosen, Compress
from retrieval.steps.retrieve.neighbours import Choice, WithNeighbours, wanted_places
from retrieval.steps.retrieve.order import Order, Ranking, choose
from retrieval.steps.step import Asked, Context, Step
from retrieval.steps.toolbox import Run
from retrieval.text.answer_language import NAMES, Language, ScriptKeeper
from retrieval.text.quoting import one_line, quote_source
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import StepRecord, Trace
from retrieval.values import Answer, Question, ScoredChunk, Source

EXTRACTIVE_SENTENCES = 4  # of an answer that no model wrote

NOTHING_FOUND = worded("the model found no answer in the passages")


class AnswerWriter:
    """Emits an answer's pieces, cleaned of markers that point to nothing; `text` is what has been emitted."""

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

    async def add(self, text: str) -> None:
        """Behind what has ended; of our own, its markers are right."""
        await self._emit(text)

    async def _emit(self, content: str) -> None:
        content = content if self.text else content.lstrip()
        if content:
            self.text += content
            await self._trace.emit_chunk(content)


class CitedWriter(AnswerWriter):
    """Sets the citations of a model's answer itself: each sentence gets those of the passages that bear it out, when it
    is complete. The model's own markers are a hint (`retrieval.steps.grounding.align`)."""

    def __init__(self, trace: Trace, *, sources: Sequence[Source], question: str, language: Language) -> None:
        super().__init__(trace, passages=len(sources), language=language)
        self._cited = CitedStream(
            len(sources), lambda sentence, hints: align(sentence, sources, question=question, hints=hints)
        )

    async def write(self, piece: str) -> None:
        await self._emit(await self._cited.feed(self._script.feed(piece)))

    async def finish(self) -> None:
        last = await self._cited.feed(self._script.finish())
        await self._emit(last + await self._cited.finish())


async def write_answer(context: Context, asked: Asked, candidates: Sequence[ScoredChunk]) -> Answer:
    """An answer from the best of the candidates, which are reranked, best first. Never raises a ModelError.

    Steps: order (only where passages are cut off: they get their neighbours), compress, order, generate, verify.
    Sources hold their whole text, whatever of it the model was given.
    """
    settings, step = context.tools.settings.corrective, Generate(context)
    most = asked.question.options.top_k or settings.context_passages
    current = await asyncio.to_thread(in_force, candidates, asked.text)
    chosen = choose(current, most=most, weak_score=settings.weak_score)
    chosen = with_named_version(chosen, current, asked.text, most=most)
    # Of the replaced ones those that would have been read are worth telling.
    replaced = _titles_missing(choose(candidates, most=most, weak_score=settings.weak_score), current)
    author = await step.author(asked)
    chosen = await _with_neighbours(context, asked, chosen, author.room)
    passages = await Compress(context)(Chosen(asked.text, chosen, author.room))
    passages = await Order(context)(Ranking(passages, len(candidates), author.room, replaced=replaced))
    answer = await step(Material(asked, passages, as_sources(passages, chosen), author))
    return await Verify(context)(WrittenAnswer(answer=answer, question=asked.text))


async def _with_neighbours(
    context: Context, asked: Asked, chosen: list[ScoredChunk], room: int | None
) -> list[ScoredChunk]:
    """No step where no model reads the passages, or none of them is cut off."""
    if room is None or context.tools.documents is None or not wanted_places(chosen):
        return chosen
    return await WithNeighbours(context)(Choice(chosen, asked.question.scope, room))


def _titles_missing(wanted: Sequence[ScoredChunk], current: Sequence[ScoredChunk]) -> tuple[str, ...]:
    kept = {hit.document_id for hit in current}
    return tuple(dict.fromkeys(hit.chunk.title for hit in wanted if hit.document_id not in kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who writes. room: tokens that the passages may have; None: no model reads them, for the reason in `failure`."""

    model: ChatModel | None = None
    room: int | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Material:
    """What an answer is written from. `sources`: the passages in their order, uncut."""

    asked: Asked
    passages: Sequence[ScoredChunk]
    sources: tuple[Source, ...]
    author: Author


class Generate(Step[Material, Answer]):
    """By the model; where it is away or fails before its first word, the best sentences of the passages."""

    name = "generate"

    async def author(self, asked: Asked) -> Author:
        """The model, and how long the passages may be for it, or why there is none."""
        try:
            async with asyncio.timeout(self.run.deadline.remaining()):
                model = await self.tools.models.chat("answer")
            frame = self._prompt(asked, ())
        except ModelError as error:
            return Author(failure=error.reason)
        except TimeoutError:
            return Author(failure=worded("no time was left for the model"))
        room = model.prompt_budget - estimate_tokens(frame.system) - estimate_tokens(frame.user)
        return Author(model=model, room=max(0, room))

    async def act(self, given: Material, entry: StepRecord) -> Answer:
        language, sources = self.context.language, given.sources
        await self.run.trace.sink.sources_chosen(sources)
        trace, ended = self.run.trace, Ended()
        writer: AnswerWriter = CitedWriter(trace, sources=sources, question=given.asked.text, language=language)
        model, failure = given.author.model, given.author.failure
        if model:
            try:
                ended = await stream_answer(model, self._prompt(given.asked, given.passages), writer, run=self.run)
                failure = ended.failure
            except ModelError as error:
                failure = error.reason
        if failure:
            entry.degrade(failure)
        if not writer.text:
            model, failure, writer = None, "", AnswerWriter(trace, passages=len(sources), language=language)
            most, text = EXTRACTIVE_SENTENCES, given.asked.text
            for piece in await asyncio.to_thread(extractive_answer, text, sources, language=language, sentences=most):
                await writer.write(piece)
            await writer.finish()
        cited, name = cited_markers(writer.text), model.name if model else ""
        refused = model is not None and not failure and not cited and reads_as_refusal(writer.text)
        if model and not failure and not refused:
            quoted = await asyncio.to_thread(figure_left_out, given.asked.text, writer.text, sources, language)
            await writer.add(f"\n\n{quoted}" if quoted else "")
            cited = cited_markers(writer.text)
            entry.detail["quoted"] = bool(quoted)
        entry.detail |= {"model": name, "cited": sorted(cited), "partial": bool(failure)}
        entry.summary = worded(
            "{characters} characters, {cited} of {total} passages cited",
            characters=len(writer.text),
            cited=len(cited),
            total=len(sources),
        )
        entry.summary += worded(", by {name}", name=name) if model else worded(", without a model")
        if entry.detail.get("quoted"):
            entry.summary += worded(", the figure that was asked for quoted")
        if failure:
            entry.summary += worded(", broken off")
        if refused:
            entry.summary += worded(": {reason}", reason=NOTHING_FOUND)
        return Answer(
            decision="NO_ANSWER" if refused else "ANSWER",
            text=writer.text,
            sources=tuple(replace(source, cited=source.marker in cited) for source in sources),
            model=name,
            partial=bool(failure),
            cut=bool(failure) and ended.cut,
            reason=NOTHING_FOUND if refused else "",
        )

    def _prompt(self, asked: Asked, passages: Sequence[ScoredChunk]) -> Prompt:
        language = self.context.language
        quoted = (quote_source(number, passage.chunk, language) for number, passage in enumerate(passages, start=1))
        return self.tools.prompts.render(
            "generate",
            language=language,
            language_name=NAMES[language],
            history=self.history(asked.question),
            passages="\n\n".join(quoted),
            question=one_line(asked.text),
        )


class Greet(Step[Question, Answer]):
    """A reply to a greeting or to thanks, without passages."""

    name = "generate"

    async def act(self, given: Question, entry: StepRecord) -> Answer:
        language = self.context.language
        writer, ended = AnswerWriter(self.run.trace, passages=0, language=language), Ended()
        failure = ""
        try:
            model = await self.tools.models.chat("answer")
            prompt = self.tools.prompts.render(
                "small_talk", language=language, language_name=NAMES[language], question=one_line(given.text)
            )
            ended = await stream_answer(model, prompt, writer, run=self.run)
            failure = ended.failure
        except ModelError as error:
            failure = error.reason
        if failure:
            entry.degrade(failure)
        if not writer.text:
            await writer.write(phrase(small_talk_kind(given.text) or "small_talk", language))
            await writer.finish()
            failure = ""
        entry.summary = worded("a greeting")
        cut = bool(failure) and ended.cut
        return Answer(decision="ANSWER", text=writer.text, reason=worded("small talk"), partial=bool(failure), cut=cut)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a model's stream ended. failure: why it failed or broke off, "" where it is whole. cut: it reached its length
    limit."""

    failure: str = ""
    cut: bool = False


async def stream_answer(model: ChatModel, prompt: Prompt, writer: AnswerWriter, *, run: Run) -> Ended:
    """Write the model's answer.

    Cancelling closes the model's connection. At the deadline the answer ends where it is, and so it does where the
    model begins to recite the prompt's system part.
    """
    failure, cut, guard = "", False, EchoGuard(prompt.system)
    try:
        async with asyncio.timeout(run.deadline.remaining()):
            stream: AsyncGenerator[str, None] = model.stream(prompt)
            async with aclosing(stream) as pieces:
                async for piece in pieces:
                    await writer.write(guard.feed(piece))
                    if guard.caught:
                        failure = worded("the model began to recite its instructions and was cut off there")
                        break
    except ModelError as error:
        failure, cut = error.reason, isinstance(error, ModelCutError)
    except TimeoutError:
        failure = worded("the time for the whole answer was over")
    await writer.write(guard.finish())
    await writer.finish()
    if not failure and not writer.text:
        failure = worded("the model gave an empty answer")
    return Ended(failure, cut)


def as_sources(given: Sequence[ScoredChunk], whole: Sequence[ScoredChunk]) -> tuple[Source, ...]:
    """Numbered from 1 in the order of the prompt. `whole`: the same passages, uncut."""
    uncut = {candidate.chunk_id: candidate.chunk for candidate in whole}
    return tuple(
        Source(marker=number, chunk=uncut[candidate.chunk_id], scores=candidate.scores)
        for number, candidate in enumerate(given, start=1)
    )
