"""Go on with an answer that broke off: from the same passages, behind the text that its reader has.

A model that is asked to go on often says the last words again, or begins a word anew that was cut in half. The joint
takes out what is there already, and puts the blank or the line's end that belongs between the two parts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval.engine.ports import Prompt
from retrieval.engine.steps.answer import written_answer
from retrieval.engine.steps.retrieve import fit, position_strategy, positions
from retrieval.engine.steps.step import Deps, step
from retrieval.engine.steps.writing import AnswerWriter, author_of, write_by_model
from retrieval.engine.text.markers import without_citations
from retrieval.engine.text.quoting import neutralise, one_line, quote_history, quote_source
from retrieval.engine.text.sentences import split_sentences
from retrieval.engine.trace import degrade, reason_text
from retrieval.engine.values import Answer, Question, ScoredChunk, Source

SHOWN_CHARS = 6000  # of the end of the beginning that the model is given
OVERLAP_CHARS = 400  # of that end, which a model may say again
SURE_CHARS = 24  # of what it writes, before it is known that it says nothing again
LEAST_OVERLAP = 8  # characters that are no chance
EAST_ASIAN_FROM = "\u2e80"
_LAST_WORD = re.compile(r"[^\W\d_]{2,40}\Z")
_FIRST_WORD = re.compile(r"[^\W\d_]{2,60}")
_NEW_LINE = re.compile(r"(?:[-*+]|\d{1,3}[.)])[ \t]|#{1,6} |\|")
_STOPS = tuple(".!?。！？…")


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """An answer that is not complete. text: what its reader has. sources: what it was written from, uncut."""

    question: Question
    text: str
    sources: tuple[Source, ...]
    reason: str = ""


@step("generate")
async def write_on(deps: Deps, begun: Begun) -> Answer:
    """The whole answer: the beginning, and what the model adds. Without a model the beginning, `partial`."""
    author = await author_of(deps, lambda: _prompt(deps, begun, ""))
    writer = ContinuedWriter(deps, begun)
    ended = await write_by_model(
        deps, author, lambda: _prompt(deps, begun, _passages(deps, begun, tokens=author.room or 0)), writer
    )
    if reason := ended.failure or ("" if len(writer.text) > len(begun.text) else "empty_answer"):
        ended = replace(ended, failure=reason_text(reason))
        degrade(reason)
    return written_answer(writer.text, begun.sources, ended, reason=begun.reason)


def _passages(deps: Deps, begun: Begun, *, tokens: int) -> str:
    """As many as the beginning leaves room for in the window."""
    candidates = [ScoredChunk(chunk=source.chunk, scores=source.scores) for source in begun.sources]
    selection = fit(candidates, tokens=tokens) if tokens else []
    places = positions(len(selection), position_strategy(deps, begun.question))
    sources = [begun.sources[place - 1] for place in places]
    return "\n\n".join(quote_source(source.marker, source.chunk) for source in sources)


def _prompt(deps: Deps, begun: Begun, passages: str) -> Prompt:
    return deps.prompt(
        "continue",
        history=quote_history(begun.question.history),
        passages=passages,
        answer=neutralise(without_citations(begun.text)[-SHOWN_CHARS:]),
        question=one_line(begun.question.text),
    )


class ContinuedWriter(AnswerWriter):
    """Writes behind the beginning. `text` is the whole answer."""

    def __init__(self, deps: Deps, begun: Begun) -> None:
        super().__init__(deps, sources=begun.sources, question=begun.question.text)
        self.text = begun.text
        self._joint = Joint(begun.text)
        self._cited.begin(begun.text, sentence=open_sentence(begun.text))

    async def write(self, piece: str) -> None:
        if text := self._joint.feed(piece):
            await super().write(text)

    async def finish(self, *, whole: bool = True) -> None:
        if text := self._joint.finish():
            await super().write(text)
        if self._joint.joined:  # else nothing came, and nothing is cited anew
            await super().finish(whole=whole)


class Joint:
    """Takes pieces of the rest and gives back what belongs behind the beginning."""

    def __init__(self, begun: str) -> None:
        self._end = without_citations(begun)[-OVERLAP_CHARS:]
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
    lengths = range(min(len(bare), len(text)), LEAST_OVERLAP - 1, -1)
    if repetition := next((length for length in lengths if bare.endswith(text[:length])), 0):
        return text[repetition:].lstrip() if gap else text[repetition:]
    word = _LAST_WORD.search(bare) if bare == end else None
    first = _FIRST_WORD.match(text)
    if word and first and word[0][-1] < EAST_ASIAN_FROM and first[0].startswith(word[0]):
        return text[len(word[0]) :]  # the word that was cut in half, or said twice
    if gap:
        return text
    if _NEW_LINE.match(text):
        return "\n" + text
    if text != rest:
        return rest
    touching = bare[-1:] < EAST_ASIAN_FROM and text[:1] < EAST_ASIAN_FROM and text[:1].isalnum()
    return f" {text}" if bare and touching and bare[-1] not in "([{\"'-/" else text


def open_sentence(text: str) -> str:
    """The sentence that the text breaks off in; empty where it ends with one."""
    last_line = without_citations(text.rsplit("\n", 1)[-1])
    sentences: Sequence[str] = split_sentences(last_line)
    return sentences[-1] if sentences and not last_line.rstrip().endswith(_STOPS) else ""
