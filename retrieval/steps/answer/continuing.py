"""Go on with an answer that broke off: from the same passages, behind the text that its reader has.

A model that is asked to go on often says the last words again, or begins a word anew that was cut in half. The joint
takes out what is there already, and puts the blank or the line's end that belongs between the two parts.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragsite.core.wording import worded
from retrieval.errors import ModelError
from retrieval.ports import ChatModel, Prompt
from retrieval.steps.answer.generate import CitedWriter, Ended, stream_answer
from retrieval.steps.cite.markers import cited_markers, without_markers
from retrieval.steps.retrieve.compress import compress_passages
from retrieval.steps.step import Step
from retrieval.text.answer_language import NAMES, Language
from retrieval.text.quoting import neutralise, one_line, quote_source
from retrieval.text.sentences import split_sentences
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import StepRecord, Trace
from retrieval.values import Answer, Question, ScoredChunk, Source

SHOWN_CHARS = 6000  # of the end of the beginning that the model is given
OVERLAP_CHARS = 400  # of that end, which a model may say again
SURE_CHARS = 24  # of what it writes, before it is known that it says nothing again
LEAST_OVERLAP = 8  # characters that are no chance
EAST_ASIAN_FROM = "\u2e80"
_LAST_WORD = re.compile(r"[^\W\d_]{2,40}\Z")
_FIRST_WORD = re.compile(r"[^\W\d_]{2,60}")
_NEW_LINE = re.compile(r"(?:[-*+]|\d{1,3}[.)])[ \t]|#{1,6} |\|")
_LAST_MARKER = re.compile(r"\[\d{1,3}\]\Z")
MARKER_CHARS = 12  # of a text's end: a marker and the white space behind it
_STOPS = ".!?。！？…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """An answer that is not complete. text: what its reader has. sources: what it was written from, uncut.

    taken: the citations that `without_open_citations` took from the end of the text; put back where nothing is added.
    """

    question: Question
    text: str
    sources: tuple[Source, ...]
    reason: str = ""
    taken: str = ""


class Continue(Step[Begun, Answer]):
    """The whole answer: the beginning, and what the model adds. Without a model the beginning, `partial`."""

    name = "generate"

    async def act(self, given: Begun, entry: StepRecord) -> Answer:
        ended, name, text = Ended(), "", given.text
        try:
            async with asyncio.timeout(self.run.deadline.remaining()):
                model = await self.tools.models.chat("answer")
            writer = ContinuedWriter(self.run.trace, begun=given, language=self.context.language)
            prompt = await asyncio.to_thread(self._prompt, given, model)
            name, ended = model.name, await stream_answer(model, prompt, writer, run=self.run)
            text = writer.text
        except ModelError as error:
            ended = Ended(error.reason)
        except TimeoutError:
            ended = Ended(worded("no time was left for the model"))
        added = len(text) - len(given.text)
        text = text if added else text + given.taken
        cited = cited_markers(text)
        if not added and not ended.failure:
            ended = Ended(worded("the model gave an empty answer"))
        if ended.failure:
            entry.degrade(ended.failure)
        entry.detail |= {"model": name, "cited": sorted(cited), "partial": bool(ended.failure), "continued": True}
        entry.summary = worded("{characters} characters added, by {name}", characters=added, name=name)
        if ended.failure:
            entry.summary += worded(", broken off")
        return Answer(
            decision="ANSWER",
            text=text,
            sources=tuple(replace(source, cited=source.marker in cited) for source in given.sources),
            model=name,
            partial=bool(ended.failure),
            cut=bool(ended.failure) and ended.cut,
            reason=given.reason,
        )

    def _prompt(self, given: Begun, model: ChatModel) -> Prompt:
        """Passages are cut to what the beginning leaves of the window; each keeps its number."""
        frame = self._rendered(given, "")
        room = model.prompt_budget - estimate_tokens(frame.system) - estimate_tokens(frame.user)
        passages = [ScoredChunk(chunk=source.chunk, scores=source.scores) for source in given.sources]
        excerpts = compress_passages(given.question.text, passages, tokens=max(0, room))
        kept = {excerpt.candidate.chunk_id: excerpt.candidate.chunk for excerpt in excerpts}
        quoted: list[str] = []
        for source in given.sources:
            if source.chunk.chunk_id in kept:
                text = quote_source(source.marker, kept[source.chunk.chunk_id])
                room -= estimate_tokens(text) + 2
                if room >= 0:
                    quoted.append(text)
        return self._rendered(given, "\n\n".join(quoted))

    def _rendered(self, given: Begun, passages: str) -> Prompt:
        language = self.context.language
        return self.tools.prompts.render(
            "continue",
            language=language,
            language_name=NAMES[language],
            history=self.history(given.question),
            passages=passages,
            answer=neutralise(without_markers(given.text)[-SHOWN_CHARS:]),
            question=one_line(given.question.text),
        )


class ContinuedWriter(CitedWriter):
    """Writes behind the beginning. `text` is the whole answer."""

    def __init__(self, trace: Trace, *, begun: Begun, language: Language) -> None:
        super().__init__(trace, sources=begun.sources, question=begun.question.text, language=language)
        self.text = begun.text
        self._joint = Joint(begun.text)
        self._cited.begin(begun.text, sentence=open_sentence(begun.text))

    async def write(self, piece: str) -> None:
        if text := self._joint.feed(piece):
            await super().write(text)

    async def finish(self) -> None:
        if text := self._joint.finish():
            await super().write(text)
        if self._joint.joined:  # else nothing came, and nothing is cited anew
            await super().finish()


class Joint:
    """Takes pieces of the rest and gives back what belongs behind the beginning."""

    def __init__(self, begun: str) -> None:
        self._end = without_markers(begun)[-OVERLAP_CHARS:]
        self._gap = not begun or begun[-1].isspace()
        self._held = ""
        self.joined = False

    def feed(self, piece: str) -> str:
        if self.joined:
            return piece
        self._held += piece
        plain = self._held.strip()
        if len(plain) < SURE_CHARS or (plain in self._end and len(plain) < OVERLAP_CHARS):
            return ""
        return self.finish()

    def finish(self) -> str:
        """What was held back, joined."""
        if self.joined or not self._held.strip():
            return ""
        self.joined = True
        return joint(self._end, self._held, gap=self._gap)


def joint(end: str, rest: str, *, gap: bool) -> str:
    """`rest` without what `end` ends in already, and with the blank or line's end between them. gap: there is one."""
    bare = end.rstrip()
    text = rest.lstrip()
    said = _said_again(bare, text)
    if said:
        return text[said:].lstrip() if gap else text[said:]
    word, first = _LAST_WORD.search(bare) if bare == end else None, _FIRST_WORD.match(text)
    if word and first and word[0][-1] < EAST_ASIAN_FROM and first[0].startswith(word[0]):
        return text[len(word[0]) :]  # the word that was cut in half, or said twice
    if gap:
        return text
    if _NEW_LINE.match(text):
        return "\n" + text
    if text != rest:
        return rest[: len(rest) - len(text)] + text
    touching = bare[-1:] < EAST_ASIAN_FROM and text[:1] < EAST_ASIAN_FROM and text[:1].isalnum()
    return f" {text}" if bare and touching and bare[-1] not in "([{\"'-/" else text


def _said_again(end: str, text: str) -> int:
    """Characters at the beginning of `text` that `end` ends in."""
    for length in range(min(len(end), len(text)), LEAST_OVERLAP - 1, -1):
        if end.endswith(text[:length]):
            return length
    return 0


def without_open_citations(text: str) -> tuple[str, str]:
    """The text without the citations that end it, and these, where it breaks off in a sentence.

    They were set as if the sentence ended there; the whole one gets its own, behind its last word.
    """
    if text.rstrip() != text.rstrip(" \t"):  # it breaks off between two lines
        return text, ""
    bare = text
    while marker := _LAST_MARKER.search(bare[-MARKER_CHARS:].rstrip()):
        bare = bare.rstrip()[: -len(marker[0])].rstrip(" \t")
    return (bare, text[len(bare) :]) if bare != text and open_sentence(bare) else (text, "")


def open_sentence(text: str) -> str:
    """The sentence that the text breaks off in; empty where it ends with one."""
    last_line = without_markers(text.rsplit("\n", 1)[-1])
    sentences: Sequence[str] = split_sentences(last_line)
    if not sentences or last_line.rstrip().endswith(tuple(_STOPS)):
        return ""
    return sentences[-1]
