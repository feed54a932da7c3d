"""Streaming: how a model's answer reaches its reader, piece by piece. What has been sent is the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelCutError, ModelError
from retrieval.engine.ports import ChatModel, Prompt
from retrieval.engine.reasons import Reason, reason_of
from retrieval.engine.steps.answer.verdict_token import Verdict, VerdictReader
from retrieval.engine.steps.grounding.alignment import Aligner
from retrieval.engine.steps.grounding.citation_stream import CitedStream
from retrieval.engine.steps.grounding.claims import brackets_of
from retrieval.engine.text.fences import Unwrapper
from retrieval.engine.text.phrases import ScriptKeeper
from retrieval.engine.text.quoting import estimate_tokens
from retrieval.engine.values import AnswerSource

MAX_PIECES_AFTER_VERDICT = 40  # pieces behind a verdict: a reply that ends by itself leaves its connection open for the next


class AnswerWriter:
    """Emits a model's answer, a Chinese one in the script of the answer's language. Each sentence gets the citations of
    the passages that support it, when it is complete; the model's own markers are a hint (`steps.grounding`).

    text: what has been emitted. may_refuse: the reply may be a verdict in place of an answer; sources go to the reader
    before the first word of an answer, not at all where the model refuses.
    """

    def __init__(
        self,
        deps: Deps,
        *,
        sources: Sequence[AnswerSource],
        question: str,
        may_refuse: bool = False,
    ) -> None:
        self.text = ""
        self.aligner = Aligner(sources, question=question, models=deps.models)
        self._trace = deps.trace
        self._sources = tuple(sources)
        self._may_refuse = may_refuse
        self._language = deps.language
        self._begin()

    def _begin(self) -> None:
        self._reader = VerdictReader() if self._may_refuse else None
        self._unwrapper = Unwrapper()
        self._script = ScriptKeeper(self._language)
        self._cited = CitedStream(self.aligner, brackets=brackets_of(self._sources))

    @property
    def verdict(self) -> Verdict | None:
        """Where there is one, nothing more is to be read of the reply."""
        return self._reader.verdict if self._reader else None

    async def write(self, piece: str) -> None:
        """A piece of the model's reply."""
        text = self._reader.feed(piece) if self._reader else piece
        if text := self._unwrapper.feed(text):
            await self._emit(await self._cited.feed(self._script.feed(text)))

    async def withdraw(self) -> None:
        """What was written so far were a model's thoughts."""
        if self.text:
            await self._trace.withdraw_chunks()
        self.text = ""
        self._begin()

    async def finish(self, *, whole: bool = True) -> None:
        rest = self._reader.finish(whole=whole) if self._reader else ""
        if not self.verdict:
            rest = self._unwrapper.feed(rest) + self._unwrapper.finish()
            last = await self._cited.feed(self._script.feed(rest) + self._script.finish())
            await self._emit(last + await self._cited.finish(whole=whole))

    async def _emit(self, content: str) -> None:
        content = content if self.text else content.lstrip()
        if content and not self.text and self._reader:
            await self._trace.choose_sources(self._sources)
        if content:
            self.text += content
            await self._trace.emit_chunk(content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """An answer's writer. room: tokens that passages may have; None: no model reads them, for the reason in
    `failure`."""

    model: ChatModel | None = None
    room: int | None = None
    failure: Reason | None = None


async def author_of(deps: Deps, frame: Callable[[], Prompt]) -> Author:
    """frame: the prompt without passages. Never raises a ModelError."""
    try:
        async with asyncio.timeout(deps.deadline.remaining()):
            model = await deps.models.chat("answer")
        prompt = frame()
    except ModelError as error:
        return Author(failure=reason_of(error))
    except TimeoutError:
        return Author(failure=Reason("no_time_left"))
    return Author(
        model=model,
        room=max(0, model.prompt_budget - estimate_tokens(prompt.system + prompt.user)),
    )


@dataclass(frozen=True, slots=True)
class StreamOutcome:
    """How a model's writing ended. failure: why it failed or broke off, None where it is whole. cut: it reached its
    length limit. model: its name; "" where none wrote."""

    failure: Reason | None = None
    cut: bool = False
    model: str = ""


async def write_by_model(
    deps: Deps,
    author: Author,
    prompt: Callable[[], Prompt],
    writer: AnswerWriter,
) -> StreamOutcome:
    """Write the model's answer. Never raises a ModelError.

    Cancelling closes the model's connection. At the deadline the answer ends where it is.
    """
    if author.model is None:
        return StreamOutcome(author.failure)
    failure: Reason | None = None
    cut = False
    behind_verdict = 0
    try:
        stream: AsyncGenerator[str | None, None] = author.model.stream(prompt())
        async with (
            asyncio.timeout(deps.deadline.remaining()),
            aclosing(stream) as pieces,
        ):
            async for piece in pieces:
                await (writer.withdraw() if piece is None else writer.write(piece))
                behind_verdict += writer.verdict is not None
                if behind_verdict > MAX_PIECES_AFTER_VERDICT:
                    break
    except ModelError as error:
        failure = reason_of(error)
        cut = isinstance(error, ModelCutError)
    except TimeoutError:
        failure = Reason("time_was_over")
    await writer.finish(whole=not failure)
    if not writer.text and not writer.verdict:
        failure = failure or Reason("empty_answer")
    return StreamOutcome(failure, cut, author.model.name)
