"""The events of one answer, as they are written to its log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from chat.messages.answer_serializers import StepSerializer
from chat.messages.sources import source_data
from chat.runs.event_log import Event, get_event_log
from chat.runs.recorded import Recorded
from ragsite.core.api.rendering import rendered
from ragsite.core.localized import localized
from ragsite.core.text import clean_json, clean_text
from retrieval.engine.steps.answer.continuation import PartialAnswer
from retrieval.engine.trace import EventSink, StepRecord
from retrieval.engine.values import Answer, AnswerSource

CHUNK_EVERY_S = (
    0.04  # what is written meanwhile is one chunk: nobody reads finer, and each event has its price
)


class AnswerEvents(EventSink):
    """The events of one answer: numbered from 1, in order, written to the log as they happen. Its only writer.

    It is the `EventSink` of the answer's workflow until it is closed. The site's own sentences are in the language that
    is active in the run, which is that of the asker's pages. `text` is what has been written so far, `sources`
    what was sent before the first chunk. The first piece of text is sent at once; what is written within CHUNK_EVERY_S
    of a chunk is the next one, and goes out before any other event. Until the answer has begun, events are kept.
    """

    def __init__(self, message_id: UUID) -> None:
        self.message_id = str(message_id)
        self.sources: tuple[AnswerSource, ...] = ()
        self.text = ""
        self._sent_chars = 0
        self._pause: asyncio.Task[None] | None = None
        self._sources_sent = False
        self._closed = False
        self._seq = 0
        self._writer = ""
        self._early: list[Event] | None = []  # None: the answer has begun
        self._order = asyncio.Lock()  # steps run side by side

    async def start(self, started: Event) -> None:
        """Write the first event, and behind it what the workflow has sent already."""
        async with self._order:
            early = self._early or []
            self._early = None
            for event in (started, *early):
                await self._write(event)

    async def emit(self, event: Event | None = None) -> None:
        """Write the text that was not sent yet, then this event; it gets its `seq` and `message_id` here."""
        async with self._order:
            if content := self.text[self._sent_chars :]:
                self._sent_chars = len(self.text)
                await self._write({"type": "chunk", "content": content})
            if event:
                await self._write(event)

    async def _write(self, event: Event) -> None:
        if self._early is not None:
            self._early.append(event)
            return
        self._seq += 1
        numbered = {"type": event["type"], "seq": self._seq, "message_id": self.message_id}
        await get_event_log().append(self.message_id, numbered | event, writer=self._writer)

    def join(self, shown: Recorded, sources: Sequence[AnswerSource], *, writer: str) -> None:
        """Go on with a log that a run began which died; its readers notice nothing. writer: who has claimed it."""
        self._early = None
        self._writer = writer
        self._seq = shown.seq
        self.text = shown.text
        self._sent_chars = len(shown.text)
        self.sources = tuple(sources)
        self._sources_sent = bool(shown.sources)

    async def begin(self, begun: PartialAnswer) -> None:
        """Send what is there already: the chunks put together are the answer, whenever a reader joined."""
        await self._send_sources(begun.sources)
        self.text = begun.text
        await self.emit()

    def close(self) -> None:
        """From now on drop what the workflow sends: it may have been left behind."""
        self._closed = True
        if self._pause:
            self._pause.cancel()

    async def step_finished(self, step: StepRecord) -> None:
        if not self._closed:
            entry = _step_data(step)
            content = entry["summary"] or entry["name"].replace("_", " ")
            await self.emit({"type": "reasoning", "content": content, "step": entry})

    async def tool_called(self, tool: str, content: str, step: StepRecord) -> None:
        if not self._closed:
            entry = _step_data(step)
            content = clean_text(localized(content))
            await self.emit({"type": "tool_call", "content": content, "tool": tool, "step": entry})

    async def sources_chosen(self, sources: Sequence[AnswerSource]) -> None:
        if not self._closed:
            await self._send_sources(sources)

    async def chunk(self, content: str) -> None:
        if self._closed or not (content := clean_text(content)):
            return
        if not self._sources_sent:
            await self._send_sources(())
        self.text += content
        if self._pause is None:
            await self.emit()
            self._pause = asyncio.create_task(self._send_after_pause())

    async def withdrawn(self) -> None:
        if not self._closed:
            self.text = ""
            self._sent_chars = 0
            await self.emit({"type": "withdrawn"})

    async def _send_after_pause(self) -> None:
        await asyncio.sleep(CHUNK_EVERY_S)  # nowhere else is it cancelled
        self._pause = None
        await self.emit()

    async def complete(self, answer: Answer) -> bool:
        """Send what is missing of the whole answer. False: the chunks are not its beginning, and stand as they are."""
        text = clean_text(answer.text)
        if answer.sources and not self.text and _markers(answer.sources) != _markers(self.sources):
            await self._send_sources(answer.sources)
        if not text.startswith(self.text):
            return False
        if text and not self._sources_sent:
            await self._send_sources(())
        self.text = text
        await self.emit()
        return True

    async def _send_sources(self, sources: Sequence[AnswerSource]) -> None:
        """Readers get them before the text: a choice made after the first chunk shows in `done` alone."""
        if not self.text:
            self.sources = tuple(sources)
            self._sources_sent = True
            await self.emit(
                {"type": "sources", "sources": [source_data(source) for source in sources]}
            )


def _step_data(step: StepRecord) -> dict[str, Any]:
    """In the active language."""
    entry: dict[str, Any] = clean_json(localized(rendered(StepSerializer, step.as_dict())))
    return entry


def _markers(sources: Sequence[AnswerSource]) -> list[int]:
    return [source.marker for source in sources]
