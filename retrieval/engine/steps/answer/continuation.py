"""Continuation of an answer that broke off: from the same passages, behind the text that its reader has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval.engine.deps import Deps
from retrieval.engine.ports import Prompt
from retrieval.engine.reasons import Reason
from retrieval.engine.steps.answer.generate import written_answer
from retrieval.engine.steps.answer.joint import OverlapStripper
from retrieval.engine.steps.answer.streaming import (
    AnswerWriter,
    author_of,
    write_by_model,
)
from retrieval.engine.steps.context.order import fit, position_strategy, positions
from retrieval.engine.steps.step import step
from retrieval.engine.text.markers import without_citations
from retrieval.engine.text.quoting import (
    neutralise,
    one_line,
    quote_history,
    quote_source,
)
from retrieval.engine.text.sentences import split_sentences
from retrieval.engine.trace import degrade
from retrieval.engine.values import Answer, AnswerSource, Question, ScoredChunk

SHOWN_CHARS = 6000  # of the end of the beginning that the model is given
_STOPS = tuple(".!?。！？…")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialAnswer:
    """An answer that is not complete. text: what its reader has. sources: what it was written from, uncut."""

    question: Question
    text: str
    sources: tuple[AnswerSource, ...]


@step("generate")
async def write_rest(deps: Deps, begun: PartialAnswer) -> Answer:
    """The whole answer: the beginning, and what the model adds. Without a model the beginning, `partial`."""
    author = await author_of(deps, lambda: _prompt(deps, begun, ""))
    writer = ContinuedWriter(deps, begun)
    ended = await write_by_model(
        deps,
        author,
        lambda: _prompt(deps, begun, _passages(deps, begun, tokens=author.room or 0)),
        writer,
    )
    failure = ended.failure
    if failure is None and len(writer.text) <= len(begun.text):
        failure = Reason("empty_answer")
    if failure:
        degrade(failure)
    return written_answer(writer.text, begun.sources, replace(ended, failure=failure))


def _passages(deps: Deps, begun: PartialAnswer, *, tokens: int) -> str:
    """As many as the beginning leaves room for in the window."""
    candidates = [ScoredChunk(chunk=source.chunk, scores=source.scores) for source in begun.sources]
    selection = fit(candidates, tokens=tokens) if tokens else []
    places = positions(len(selection), position_strategy(deps, begun.question))
    sources = [begun.sources[place - 1] for place in places]
    return "\n\n".join(quote_source(source.marker, source.chunk) for source in sources)


def _prompt(deps: Deps, begun: PartialAnswer, passages: str) -> Prompt:
    return deps.writing_prompt(
        "continue",
        history=quote_history(begun.question.history),
        passages=passages,
        answer=neutralise(without_citations(begun.text)[-SHOWN_CHARS:]),
        question=one_line(begun.question.text),
    )


class ContinuedWriter(AnswerWriter):
    """Writes behind the beginning. `text` is the whole answer."""

    def __init__(self, deps: Deps, begun: PartialAnswer) -> None:
        super().__init__(deps, sources=begun.sources, question=begun.question.text)
        self.text = begun.text
        self._joint = OverlapStripper(begun.text)
        self._cited.begin(begun.text, sentence=open_sentence(begun.text))

    async def write(self, piece: str) -> None:
        if text := self._joint.feed(piece):
            await super().write(text)

    async def finish(self, *, whole: bool = True) -> None:
        if text := self._joint.finish():
            await super().write(text)
        if self._joint.joined:  # else nothing came, and nothing more is cited
            await super().finish(whole=whole)


def open_sentence(text: str) -> str:
    """The sentence that the text breaks off in; empty where it ends with one."""
    last_line = without_citations(text.rsplit("\n", 1)[-1])
    sentences: Sequence[str] = split_sentences(last_line)
    return sentences[-1] if sentences and not last_line.rstrip().endswith(_STOPS) else ""
