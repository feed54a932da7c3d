"""Write: the answer about whole documents, by the model where there is one, else quoted.

What the model writes is streamed; each sentence gets its citations as in every other answer, and sources are the
passages that it was given, 40 at most. The path, `degraded` and the text itself say what served in place of a model,
and what was not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ragsite.core.wording import counted, worded
from retrieval.errors import ModelError
from retrieval.ports import Prompt
from retrieval.steps.answer.generate import AnswerWriter, Author, CitedWriter, Ended, stream_answer
from retrieval.steps.cite.markers import cited_markers, without_markers
from retrieval.steps.document.compose import Quoted
from retrieval.steps.document.excerpts import MOST_SOURCES, Excerpt, distinct_chunks, numbered, quoted_passages
from retrieval.steps.step import Step
from retrieval.text.answer_language import NAMES
from retrieval.text.quoting import one_line
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import StepRecord
from retrieval.values import Answer, Source, StoredChunk


@dataclass(frozen=True, slots=True)
class Material:
    """`excerpts`: what the model is given, in the order in which it reads it; they fit its prompt. `lead`: what the
    site says before. `quoted`: the answer without a model.

    title: of the one document that all is from. sections: names that the model goes by. paired: quotes changes in place
    of the excerpts, with the marker of each chunk. rest: what the model's text leaves out, quoted with these markers;
    it runs in a thread. beside: chunks that it may cite although the model was not given them.
    """

    prompt: str
    question: str
    author: Author
    excerpts: Sequence[Excerpt]
    quoted: Callable[[], Quoted]
    lead: str = ""
    title: str = ""
    sections: Sequence[str] = ()
    paired: Callable[[Mapping[str, int]], str] | None = None
    rest: Callable[[str, Mapping[str, int]], str] | None = None
    beside: Sequence[StoredChunk] = ()


class WriteAboutDocuments(Step[Material, Answer]):
    name = "generate"

    async def author(self, prompt: str, question: str) -> Author:
        """The model, and the room for what it reads, or why there is none."""
        try:
            async with asyncio.timeout(self.run.deadline.remaining()):
                model = await self.tools.models.chat("answer")
            frame = self._prompt(prompt, question, "")
        except ModelError as error:
            return Author(failure=error.reason)
        except TimeoutError:
            return Author(failure=worded("no time was left for the model"))
        room = model.prompt_budget - estimate_tokens(frame.system) - estimate_tokens(frame.user)
        return Author(model=model, room=max(0, room))

    async def act(self, given: Material, entry: StepRecord) -> Answer:
        model, failure = given.author.model, given.author.failure
        text, sources, ended = "", tuple[Source, ...](), Ended()
        if model and given.excerpts:
            sources = numbered([*distinct_chunks(given.excerpts).values(), *given.beside])[:MOST_SOURCES]
            await self.run.trace.sink.sources_chosen(sources)
            writer = _LedWriter(self, sources, given)
            try:
                prompt = self._prompt(given.prompt, given.question, self._passages(given, sources))
                ended = await stream_answer(model, prompt, writer, run=self.run)
                failure = ended.failure
                if given.rest and not failure:
                    await writer.append(await asyncio.to_thread(given.rest, writer.own, _markers(sources)))
            except ModelError as error:
                failure = error.reason
            text = writer.text
        if failure:
            entry.degrade(failure)
        if not text:
            quoted = await asyncio.to_thread(given.quoted)
            return await self.quote(quoted, entry)
        cited = cited_markers(text)
        name = model.name if model else ""
        entry.detail |= {"model": name, "cited": sorted(cited), "partial": bool(failure)}
        entry.summary = worded(
            "{characters} characters, {cited} of {total} passages cited",
            characters=len(text),
            cited=len(cited),
            total=len(sources),
        ) + worded(", by {name}", name=name)
        if failure:
            entry.summary += worded(", broken off")
        marked = tuple(replace(source, cited=source.marker in cited) for source in sources)
        cut = bool(failure) and ended.cut
        return Answer(decision="ANSWER", text=text, sources=marked, model=name, partial=bool(failure), cut=cut)

    async def quote(self, quoted: Quoted, entry: StepRecord, *, model: str = "") -> Answer:
        """The composed text, as it is. model: that found what is listed."""
        trace = self.run.trace
        await trace.sink.sources_chosen(quoted.sources)
        writer = AnswerWriter(trace, language=self.context.language)
        for line in quoted.text.splitlines(keepends=True):
            await writer.write(line)
        await writer.finish()
        entry.detail |= {"model": model, "cited": [source.marker for source in quoted.sources], "partial": False}
        entry.summary = counted("{count} line", "{count} lines", quoted.shown)
        if quoted.shown < quoted.count:
            entry.summary = worded("{lines} of {count}", lines=entry.summary, count=quoted.count)
        entry.summary += worded(", by {name}", name=model) if model else worded(", without a model")
        return Answer(decision="ANSWER", text=writer.text, sources=quoted.sources, model=model)

    def _passages(self, given: Material, sources: Sequence[Source]) -> str:
        markers, language = _markers(sources), self.context.language
        if given.paired:
            return given.paired(markers)
        quoted = [excerpt.quoted(markers[excerpt.chunk.chunk_id], language) for excerpt in given.excerpts]
        return quoted_passages(quoted, language, title=given.title, sections=given.sections)

    def _prompt(self, prompt: str, question: str, passages: str) -> Prompt:
        language = self.context.language
        return self.tools.prompts.render(
            prompt, language=language, language_name=NAMES[language], passages=passages, question=one_line(question)
        )


class WriteList(WriteAboutDocuments):
    """The list of what was found; `given.excerpts` are not read by a model any more."""

    async def act(self, given: Material, entry: StepRecord) -> Answer:
        if given.author.failure:
            entry.degrade(given.author.failure)
        model = given.author.model
        return await self.quote(await asyncio.to_thread(given.quoted), entry, model=model.name if model else "")


def _markers(sources: Sequence[Source]) -> dict[str, int]:
    return {source.chunk.chunk_id: source.marker for source in sources}


class _LedWriter(CitedWriter):
    """Says the site's own line before the model's first word, and what the model left out behind its last."""

    def __init__(self, step: WriteAboutDocuments, sources: Sequence[Source], given: Material) -> None:
        language = step.context.language
        super().__init__(step.run.trace, sources=sources, question=given.question, language=language)
        self._lead = f"{given.lead}\n\n" if given.lead else ""

    async def write(self, piece: str) -> None:
        if piece.strip() and self._lead:
            piece, self._lead = self._lead + piece.lstrip(), ""
        await super().write(piece)

    @property
    def own(self) -> str:
        """The model's text, without markers."""
        return without_markers(self.text)

    async def append(self, text: str) -> None:
        """Behind the finished text; it has its markers."""
        if text:
            await self._emit(f"\n\n{text}")
