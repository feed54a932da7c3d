"""An answer that is held back until the passage that a statement cites supports that statement.

Source: seed 002 §8.3.4: the answer is checked before it is given out. Waiting for the whole of it would cost its
reader the stream, so it is released at the first statement that its passage supports. One that never gets so far is
kept, and judged as a whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Self

from retrieval.steps.cite.claims import claims_of
from retrieval.steps.cite.support import support
from retrieval.trace import EventSink, StepRecord, Trace
from retrieval.values import Source

MIN_NEW_CHARS = 24  # that a stream must have grown by before it is looked at again


class HeldAnswer:
    """While it is entered, the trace's text and sources come here; `released` once they have gone on to the reader.

    Everything else passes through. The time to the first token is that at which the reader gets it.
    """

    def __init__(self, trace: Trace, *, question: str, least: float) -> None:
        """`least`: the grounding score, 0..1, from which a statement is supported; 0: nothing is held back."""
        self.released = least <= 0
        self._trace = trace
        self._inner: EventSink = trace.sink
        self._question = question
        self._least = least
        self._sources: tuple[Source, ...] | None = None
        self._text = ""
        self._looked_at = 0
        self._is_written = False  # what follows is quoted by the site, and bears out nothing

    async def __aenter__(self) -> Self:
        self._trace.sink = self
        return self

    async def __aexit__(self, *_: object) -> None:
        self._trace.sink = self._inner

    async def release(self) -> None:
        """Let the reader have it, as it stands."""
        if self.released:
            return
        self.released = True
        if self._sources is not None:
            await self._inner.sources_chosen(self._sources)
        if self._text:
            self._trace.first_token_ms = self._trace.now_ms()
            await self._inner.chunk(self._text)

    # -------------------------------------------------------------------------------------------- EventSink
    async def step_finished(self, step: StepRecord) -> None:
        self._is_written = self._is_written or step.name == "generate"
        await self._inner.step_finished(step)

    async def tool_called(self, tool: str, content: str, step: StepRecord) -> None:
        await self._inner.tool_called(tool, content, step)

    async def sources_chosen(self, sources: Sequence[Source]) -> None:
        self._sources = tuple(sources)
        if self.released:
            await self._inner.sources_chosen(sources)

    async def chunk(self, content: str) -> None:
        if self.released:
            await self._inner.chunk(content)
            return
        self._text += content
        self._trace.first_token_ms = None  # nobody has seen it yet
        is_due = "]" in self._text[self._looked_at :] and len(self._text) - self._looked_at >= MIN_NEW_CHARS
        if is_due and not self._is_written:
            self._looked_at = len(self._text)
            scores = await asyncio.to_thread(grounding_scores, self._text, self._sources or (), self._question)
            if any(score >= self._least for score in scores):
                await self.release()


def grounding_scores(text: str, sources: Sequence[Source], question: str) -> list[float]:
    """How far each statement with citations is supported by what it cites, 0..1; what can't be checked is left out."""
    passages = {source.marker: source.chunk for source in sources}
    scores: list[float] = []
    for claim in claims_of(text):
        cited = [passages[marker] for marker in claim.markers if marker in passages]
        if cited:
            score = support(claim.text, cited, question=question).score
            scores += [] if score is None else [score]
    return scores
