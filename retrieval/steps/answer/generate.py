"""Generate: the answer, streamed as the model writes it; without a model, the best sentences of the passages.

What has reached the reader is the answer: citations are set on the way, sentence by sentence, and a stream that breaks
leaves what came.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence, Set
from contextlib import aclosing
from dataclasses import dataclass, replace

from ragsite.core.wording import worded
from retrieval.errors import ModelCutError, ModelError
from retrieval.ports import ChatModel, Models, Prompt
from retrieval.steps.answer.extractive import extractive_answer
from retrieval.steps.answer.in_force import in_force, newest_versions, other_versions, with_named_version
from retrieval.steps.answer.mark import Mark, MarkReader, marked_shape
from retrieval.steps.answer.phrases import phrase
from retrieval.steps.cite.align import Aligner, align
from retrieval.steps.cite.markers import cited_markers
from retrieval.steps.cite.stream import CitedStream
from retrieval.steps.cite.verify import NOTHING_SUPPORTED, verify
from retrieval.steps.deps import Deps
from retrieval.steps.judge.scores import estimated
from retrieval.steps.query.small_talk import small_talk_kind
from retrieval.steps.retrieve.compress import compress
from retrieval.steps.retrieve.neighbours import with_neighbours
from retrieval.steps.retrieve.order import choose, order
from retrieval.steps.step import Asked, Context, Step
from retrieval.steps.toolbox import Run
from retrieval.text.answer_language import NAMES, Language, ScriptKeeper
from retrieval.text.quoting import one_line, quote_source
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import StepRecord, Trace
from retrieval.values import Answer, Question, ScoredChunk, Source

HEARD_OUT = 40  # pieces behind a refusing mark: a reply that ends by itself leaves its connection open for the next
EXTRACTIVE_SENTENCES = 4  # of an answer that no model wrote

NOTHING_FOUND = worded("the passages do not answer")
UNCLEAR = worded("the passages answer for different things")


class AnswerWriter:
    """Emits an answer's pieces; `text` is what has been emitted."""

    def __init__(self, trace: Trace, *, language: Language = "other") -> None:
        """`language`: the script that a Chinese answer is kept in; "other" leaves it as it comes."""
        self.text = ""
        self._trace = trace
        self._script = ScriptKeeper(language)

    async def write(self, piece: str) -> None:
        await self._emit(self._script.feed(piece))

    async def finish(self) -> None:
        await self._emit(self._script.finish())

    @property
    def refuses(self) -> bool:
        """Whether nothing more is to be read of the reply."""
        return False

    def read(self, piece: str) -> str:
        """The text in a piece of the model's reply."""
        return piece

    def read_end(self) -> str:
        return ""

    async def _emit(self, content: str) -> None:
        content = content if self.text else content.lstrip()
        if content:
            self.text += content
            await self._trace.emit_chunk(content)


class CitedWriter(AnswerWriter):
    """Sets the citations of a model's answer itself: each sentence gets those of the passages that bear it out, when it
    is complete. The model's own markers are a hint (`retrieval.steps.cite.align`). models: see `Aligner`."""

    def __init__(
        self,
        trace: Trace,
        *,
        sources: Sequence[Source],
        question: str,
        language: Language,
        models: Models | None = None,
    ) -> None:
        super().__init__(trace, language=language)
        self.aligner = Aligner(sources, question=question, models=models)
        self._cited = CitedStream(self.aligner)

    async def write(self, piece: str) -> None:
        await self._emit(await self._cited.feed(self._script.feed(piece)))

    async def finish(self) -> None:
        last = await self._cited.feed(self._script.finish())
        await self._emit(last + await self._cited.finish())


class MarkedWriter(CitedWriter):
    """Holds the mark back until it is read (`retrieval.steps.answer.mark`); sources go to the reader before the first
    word of an answer, and not at all where the model refuses. `released` is called in between."""

    def __init__(
        self, trace: Trace, *, sources: Sequence[Source], question: str, language: Language, models: Models
    ) -> None:
        super().__init__(trace, sources=sources, question=question, language=language, models=models)
        self.released: Callable[[], object] | None = None
        self._sources = tuple(sources)
        self._reader = MarkReader()

    @property
    def mark(self) -> Mark | None:
        return self._reader.mark

    @property
    def refuses(self) -> bool:
        return self.mark in ("no_answer", "ask_back")

    def read(self, piece: str) -> str:
        text = self._reader.feed(piece)
        return "" if self.refuses else text

    def read_end(self) -> str:
        text = self._reader.finish()
        return "" if self.refuses else text

    async def _emit(self, content: str) -> None:
        if content.strip() and not self.text:
            if self.released:
                self.released()
            await self._trace.sink.sources_chosen(self._sources)
        await super()._emit(content)


async def select_passages(context: Context, asked: Asked, candidates: Sequence[ScoredChunk]) -> list[ScoredChunk]:
    """What a model is given of the candidates, best first: as many as fit half of its window, `context_passages` at
    most. Steps: order, and one more where passages get neighbours."""
    settings, writer = context.tools.settings.corrective, Generate(context)
    most = asked.question.options.top_k or settings.context_passages
    current = await asyncio.to_thread(in_force, candidates, asked.text)
    chosen = choose(current, most=most)
    chosen = with_named_version(chosen, current, asked.text, most=most)
    # Of the replaced ones those that would have been read are worth telling.
    replaced = _titles_missing(choose(candidates, most=most), current)
    author = await writer.author(asked)
    if author.room is not None:
        chosen = await with_neighbours(context.deps, chosen, scope=asked.question.scope, tokens=author.room)
    return await order(context.deps, chosen, found=len(candidates), room=author.room, replaced=replaced)


async def write_answer(context: Context, asked: Asked, candidates: Sequence[ScoredChunk]) -> Answer:
    """An answer from the best of the candidates. Never raises a ModelError. See `write_from`."""
    return await write_from(context, asked, await select_passages(context, asked, candidates))


async def write_from(
    context: Context,
    asked: Asked,
    passages: Sequence[ScoredChunk],
    *,
    may_ask_back: bool = False,
    released: Callable[[], object] | None = None,
) -> Answer:
    """The answer, checked. NO_ANSWER and CLARIFY are the writing model's mark, `text` is empty then, and nothing has
    reached the reader. `released`: called the moment the model has said that it answers. Never raises a ModelError.

    Steps: compress (where that is switched on), generate, verify. Sources hold their whole text, whatever of it the
    model was given. An answer of which no sentence comes near the passages is NO_ANSWER.
    """
    writer, shown = Generate(context), list(passages)
    if context.tools.settings.compress.enabled:
        shown = await compress(context.deps, asked.text, passages, room=(await writer.author(asked)).room)
    sources = as_sources([passage for passage in passages if passage.chunk_id in {one.chunk_id for one in shown}])
    answer = await writer(
        Material(asked=asked, passages=shown, sources=sources, may_ask_back=may_ask_back, released=released)
    )
    checked = await verify(context.deps, answer, question=asked.text)
    supported = any(source.cited for source in checked.sources) or any(one.supported for one in checked.grounding)
    refused = checked.decision == "NO_ANSWER" or (checked.model and not checked.partial and not supported)
    if not (checked.model and checked.text and refused):
        return checked
    quoting = AnswerWriter(context.run.trace, language=context.language)
    quoting.text = checked.text
    if checked.decision == "ANSWER" and (
        near := await asyncio.to_thread(align, checked.text, checked.sources, question=asked.text)
    ):  # a heading, or a text that ends in a colon, has no sentence that cites
        await quoting.write(" " + "".join(f"[{marker}]" for marker in near))
        await quoting.finish()
        return replace(checked, text=quoting.text, sources=marked_cited(checked.sources, set(near)))
    await quoting.write(f"\n\n{phrase('closest', context.language)}\n\n")
    for piece in await asyncio.to_thread(
        extractive_answer, asked.text, checked.sources, language=context.language, sentences=EXTRACTIVE_SENTENCES
    ):
        await quoting.write(piece)
    await quoting.finish()
    cited = cited_markers(quoting.text)
    return replace(
        checked,
        decision="NO_ANSWER",
        text=quoting.text,
        sources=marked_cited(checked.sources, cited),
        reason=NOTHING_SUPPORTED,
    )


def _titles_missing(wanted: Sequence[ScoredChunk], current: Sequence[ScoredChunk]) -> tuple[str, ...]:
    kept = {hit.document_id for hit in current}
    return tuple(dict.fromkeys(hit.chunk.title for hit in wanted if hit.document_id not in kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who writes. room: tokens that the passages may have; None: no model reads them, for the reason in `failure`."""

    model: ChatModel | None = None
    room: int | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What an answer is written from. `sources`: the passages in their order. may_ask_back, released: see
    `write_from`."""

    asked: Asked
    passages: Sequence[ScoredChunk]
    sources: tuple[Source, ...]
    may_ask_back: bool = False
    released: Callable[[], object] | None = None


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
        language, sources, question = self.context.language, given.sources, given.asked.text
        author = await self.author(given.asked)
        models = self.tools.models
        writer = MarkedWriter(self.run.trace, sources=sources, question=question, language=language, models=models)
        writer.released = given.released
        model, failure, ended = author.model, author.failure, Ended()
        if model:
            try:
                prompt = self._prompt(given.asked, given.passages)
                shape = marked_shape(may_ask_back=given.may_ask_back)
                ended = await stream_answer(model, prompt, writer, run=self.run, shape=shape)
                failure = ended.failure
            except ModelError as error:
                failure = error.reason
            if writer.refuses:
                return self._refusal(entry, writer, sources, model.name)
        if reason := failure or writer.aligner.failure:
            entry.degrade(reason)
        if not writer.text:
            return await self._quoted(given, entry, failure=failure if model else "")
        cited, name = cited_markers(writer.text), model.name if model else ""
        entry.detail |= {"model": name, "cited": sorted(cited), "partial": bool(failure), "mark": "answer"}
        entry.summary = worded(
            "{characters} characters, {cited} of {total} passages cited",
            characters=len(writer.text),
            cited=len(cited),
            total=len(sources),
        )
        entry.summary += worded(", by {name}", name=name)
        if failure:
            entry.summary += worded(", broken off")
        return Answer(
            decision="ANSWER",
            text=writer.text,
            sources=marked_cited(sources, cited),
            model=name,
            partial=bool(failure),
            cut=bool(failure) and ended.cut,
        )

    def _refusal(self, entry: StepRecord, writer: MarkedWriter, sources: tuple[Source, ...], name: str) -> Answer:
        asks_back = writer.mark == "ask_back"
        reason = UNCLEAR if asks_back else NOTHING_FOUND
        entry.summary = worded("{reason}, says {name}", reason=reason, name=name)
        entry.detail |= {"model": name, "cited": [], "partial": False, "mark": writer.mark}
        return Answer(
            decision="CLARIFY" if asks_back else "NO_ANSWER", text="", sources=sources, model=name, reason=reason
        )

    async def _quoted(self, given: Material, entry: StepRecord, *, failure: str) -> Answer:
        """Without a model the best quotations. Whether they answer is the estimate's to say, and nothing but a label
        hangs on it: NO_ANSWER quotes them too, under a sentence that says what can't be known. failure: of a model that
        is connected."""
        language, sources, question = self.context.language, given.sources, given.asked.text
        newest = await asyncio.to_thread(newest_versions, sources, question)
        score = await estimated(self.context.deps, given.asked.condensed, given.passages) if sources else 0.0
        answers = score >= self.settings.corrective.good_score
        lead = "" if answers else phrase("model_failed" if failure else "no_model", language) + "\n\n"
        await self.run.trace.sink.sources_chosen(sources)
        writer = AnswerWriter(self.run.trace, language=language)
        await writer.write(lead)
        for piece in await asyncio.to_thread(
            extractive_answer, question, newest, language=language, sentences=EXTRACTIVE_SENTENCES
        ):
            await writer.write(piece)
        await writer.write(other_versions(given.passages, cited_markers(writer.text), language))
        await writer.finish()
        cited = cited_markers(writer.text)
        entry.detail |= {"model": "", "cited": sorted(cited), "partial": False, "score": round(score, 3)}
        entry.summary = worded(
            "{cited} of {total} passages quoted, without a model", cited=len(cited), total=len(sources)
        )
        return Answer(
            decision="ANSWER" if answers else "NO_ANSWER",
            text=writer.text,
            sources=marked_cited(sources, cited),
            reason=worded("without a model; the documents answer with a probability of {score:.2f}", score=score),
        )

    def _prompt(self, asked: Asked, passages: Sequence[ScoredChunk]) -> Prompt:
        language = self.context.language
        quoted = (quote_source(number, passage.chunk) for number, passage in enumerate(passages, start=1))
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
        writer, ended = CitedWriter(self.run.trace, sources=(), question=given.text, language=language), Ended()
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


async def stream_answer(
    model: ChatModel,
    prompt: Prompt,
    writer: AnswerWriter,
    *,
    run: Run | Deps,
    shape: Mapping[str, object] | None = None,
) -> Ended:
    """Write the model's answer. shape: see `ChatModel.stream`.

    Cancelling closes the model's connection. At the deadline the answer ends where it is.
    """
    failure, cut, refused = "", False, 0
    try:
        async with asyncio.timeout(run.deadline.remaining()):
            stream: AsyncGenerator[str, None] = model.stream(prompt, shape=shape)
            async with aclosing(stream) as pieces:
                async for piece in pieces:
                    await writer.write(writer.read(piece))
                    refused += writer.refuses
                    if refused > HEARD_OUT:
                        break
    except ModelError as error:
        failure, cut = error.reason, isinstance(error, ModelCutError)
    except TimeoutError:
        failure = worded("the time for the whole answer was over")
    await writer.write(writer.read_end())
    await writer.finish()
    if not failure and not writer.text and not writer.refuses:
        failure = worded("the model gave an empty answer")
    return Ended(failure, cut)


def as_sources(passages: Sequence[ScoredChunk]) -> tuple[Source, ...]:
    """Numbered from 1 in the order of the prompt."""
    return tuple(
        Source(marker=number, chunk=passage.chunk, scores=passage.scores)
        for number, passage in enumerate(passages, start=1)
    )


def marked_cited(sources: Sequence[Source], cited: Set[int]) -> tuple[Source, ...]:
    return tuple(replace(source, cited=source.marker in cited) for source in sources)
