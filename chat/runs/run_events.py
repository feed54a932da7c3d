"""From the workflow's events to the contract's: numbered, in order, written to the log as they happen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from chat.messages.data import source_data
from chat.runs.events import get_event_log
from ragsite.core.text import clean_json, clean_text
from retrieval.trace import StepRecord
from retrieval.values import Source


class WorkflowEvents:
    """The `EventSink` of one workflow. Once closed, it drops what a workflow that was left behind still says."""

    def __init__(self, events: RunEvents) -> None:
        self._events: RunEvents | None = events

    def close(self) -> None:
        self._events = None

    async def step_finished(self, step: StepRecord) -> None:
        if self._events:
            await self._events.step_finished(step)

    async def tool_called(self, tool: str, content: str, step: StepRecord) -> None:
        if self._events:
            await self._events.tool_called(tool, content, step)

    async def sources_chosen(self, sources: Sequence[Source]) -> None:
        if self._events:
            await self._events.sources_chosen(sources)

    async def chunk(self, content: str) -> None:
        if self._events:
            await self._events.chunk(content)


class RunEvents:
    """The events of one run, and the one writer of its message's log.

    `text` is what has been sent in chunks so far, `sources` what was sent before the first of them.
    """

    def __init__(self, message_id: UUID) -> None:
        self.message_id = str(message_id)
        self.sources: tuple[Source, ...] = ()
        self._pieces: list[str] = []
        self._sources_sent = False
        self._seq = 0
        self._order = asyncio.Lock()  # steps run side by side

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    async def emit(self, type_: str, **fields: Any) -> None:
        async with self._order:
            self._seq += 1
            event = {"type": type_, "seq": self._seq, "message_id": self.message_id, **fields}
            await get_event_log().append(self.message_id, event)

    async def step_finished(self, step: StepRecord) -> None:
        entry = clean_json(step.as_dict())
        await self.emit("reasoning", content=entry["summary"] or entry["name"].replace("_", " "), step=entry)

    async def tool_called(self, tool: str, content: str, step: StepRecord) -> None:
        await self.emit("tool_call", content=clean_text(content), tool=tool, step=clean_json(step.as_dict()))

    async def sources_chosen(self, sources: Sequence[Source]) -> None:
        """Readers are told once: a choice made after the first chunk shows in `done` alone."""
        if self._pieces:
            return
        self.sources, self._sources_sent = tuple(sources), True
        await self.emit("sources", sources=[source_data(source) for source in sources])

    async def chunk(self, content: str) -> None:
        content = clean_text(content)
        if not content:
            return
        if not self._sources_sent:
            await self.sources_chosen(())
        self._pieces.append(content)
        await self.emit("chunk", content=content)

    async def complete_text(self, text: str) -> bool:
        """Send what is missing of the whole text. False: what was sent is not its beginning, and stands as it is."""
        text, sent = clean_text(text), self.text
        if not text.startswith(sent):
            return False
        await self.chunk(text[len(sent) :])
        return True
