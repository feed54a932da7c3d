"""Notes: the model reads a document part by part, several parts at once, and notes what each says; notes of notes until
they fit one prompt (map and reduce).

Each part fits `num_ctx`. A note that its own passages do not bear out is dropped (`align`), so that none can carry an
invention into the answer; each of the others keeps the chunk that it came from. Calls and time are bounded: what was
not read is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ragsite.core.wording import counted, worded
from retrieval.errors import ModelError
from retrieval.steps.cite.align import align
from retrieval.steps.document.excerpts import Excerpt, fit_one_prompt, numbered, packed, quoted_passages
from retrieval.steps.document.sections import STATEMENT_CHARS
from retrieval.steps.schemas import POINT_CHARS, DocumentNote, DocumentNotes, shaped
from retrieval.steps.step import Step
from retrieval.text.quoting import one_line
from retrieval.text.sentences import split_sentences
from retrieval.time_left import ends_within
from retrieval.trace import StepRecord

PART_TOKENS = 2400  # of one call: a part of it takes a model of 8 billion parameters some seconds
MOST_CALLS = 60  # of one answer
MOST_FIRST_CALLS = 48  # of them, those that read the document itself
MOST_ROUNDS = 4  # of noting: three rounds turn 2,000 parts into one
NOTES_OF_PART = 6  # that one call may make
ITEMS_OF_PART = 24  # entries of a list: a table has many
SHRINK = 3  # of so many notes one is made in the next round
GIVE_UP = 3  # calls that fail one after the other, from the first on: this model can't do it
LEAST_TIME_S = 1.0  # for a call to be begun
CUT_MARGIN = 3  # characters below the limit of a note's length from which it counts as cut
_SENTENCE_END = tuple(".!?。！？；;")
LEADS_OF_PART = 2  # sentences that stand for a part that the model could not read

NotesPrompt = Literal["document_notes", "document_items"]


@dataclass(frozen=True, slots=True)
class ToNote:
    """`tokens`: that the notes may have together, or 0: the first round's notes are all that is wanted.
    sections: of the document; question: what the notes are for."""

    excerpts: Sequence[Excerpt]
    sections: int
    question: str
    tokens: int
    title: str
    prompt: NotesPrompt = "document_notes"


@dataclass(frozen=True, slots=True)
class Noted:
    """`read`: sections that were read, from the first on. failure: why the model noted nothing at all."""

    notes: tuple[Excerpt, ...]
    read: int
    failure: str = ""


class TakeNotes(Step[ToNote, Noted]):
    name = "compress"

    async def act(self, given: ToNote, entry: StepRecord) -> Noted:
        try:
            room = await self._room(given)
        except ModelError as error:
            entry.degrade(error.reason)
            return Noted((), 0, error.reason)
        calls, dropped, unread = 0, 0, 0
        excerpts, read = list(given.excerpts), given.sections
        for number in range(MOST_ROUNDS):
            if number and (not given.tokens or fit_one_prompt(excerpts, given.tokens)):
                break
            parts = packed(excerpts, room)
            most = MOST_FIRST_CALLS if number == 0 else MOST_CALLS - calls
            done = await _Round(self, given, entry, first=number == 0, sections=given.sections).run(parts[:most])
            calls += len(done.parts)
            dropped += done.dropped
            unread += done.failed
            if number == 0:
                if done.failure:
                    entry.degrade(done.failure)
                    entry.summary = worded("the model could not read the document")
                    return Noted((), 0, done.failure)
                if len(done.parts) < len(parts):
                    following = parts[len(done.parts)][0].section
                    read = max(1, following)
                excerpts = done.notes
            elif not done.parts or done.failure:
                break  # the notes of the round before stand
            else:
                excerpts = done.notes
        entry.summary = worded(
            "{notes} from {sections} in {calls}",
            notes=counted("{count} note", "{count} notes", len(excerpts)),
            sections=counted("{count} section", "{count} sections", read),
            calls=counted("{count} call", "{count} calls", calls),
        )
        entry.detail |= {"read": read, "sections": given.sections, "calls": calls, "not_borne_out": dropped}
        if unread:
            entry.degrade(
                counted(
                    "{count} part could not be read by the model; its first sentences stand for it",
                    "{count} parts could not be read by the model; their first sentences stand for them",
                    unread,
                )
            )
        return Noted(tuple(excerpts), read)

    async def _room(self, given: ToNote) -> int:
        """Tokens of one part. Raises ModelError."""
        model = await self.tools.models.chat("fast")
        frame = self.tools.prompts.render(
            given.prompt, language=self.context.language, passages="", question=one_line(given.question)
        )
        # An estimate for the frame is enough: parts are far shorter than what most models read.
        return max(300, min(PART_TOKENS, model.prompt_budget - (len(frame.system) + len(frame.user)) // 2 - 100))


@dataclass(slots=True)
class _Done:
    """`parts`: for each that was begun, in order, its notes. failed: parts that the model could not read."""

    parts: list[list[Excerpt]]
    dropped: int = 0
    failed: int = 0
    failure: str = ""

    @property
    def notes(self) -> list[Excerpt]:
        return [note for part in self.parts for note in part]


class _Round:
    """All parts once, as many at a time as the site asks its model server at once."""

    def __init__(self, step: TakeNotes, given: ToNote, entry: StepRecord, *, first: bool, sections: int) -> None:
        self._step, self._given, self._entry, self._first, self._sections = step, given, entry, first, sections
        self._results: dict[int, list[Excerpt]] = {}
        self._dropped = self._failed = self._read = 0
        self._reason = ""
        self._stop = False

    async def run(self, parts: Sequence[list[Excerpt]]) -> _Done:
        queue = iter(enumerate(parts))
        await self._tell()  # the first part takes a model as long as any

        async def work() -> None:
            for at, part in queue:
                if self._stop or self._time() < LEAST_TIME_S:
                    self._stop = True
                    return
                await self._note(at, part)
                self._read = max(self._read, part[-1].section + 1)
                await self._tell()

        async with asyncio.TaskGroup() as group:
            for _ in range(min(len(parts), self._step.settings.ollama.max_concurrency)):
                group.create_task(work())
        begun = 0
        while begun in self._results:
            begun += 1
        failure = ""
        if not begun or self._failed == len(self._results):
            failure = self._reason or worded("no time was left for the model")
        return _Done([self._results[at] for at in range(begun)], self._dropped, self._failed, failure)

    def _time(self) -> float:
        """Seconds for one call; time for the writing is kept."""
        limit_s = self._step.settings.ollama.structured_timeout_s
        return self._step.run.deadline.share(limit_s, optional=False, writing=False)

    async def _note(self, at: int, part: list[Excerpt]) -> None:
        given, step, limit_s = self._given, self._step, self._time()
        language = step.context.language
        listing = given.prompt == "document_items"
        most = (ITEMS_OF_PART if listing else NOTES_OF_PART) if self._first else max(1, -(-len(part) // SHRINK))
        # One for each passage, or a small model copies the first one and is done.
        least = 0 if listing else min(len(part), most)
        schema = shaped(DocumentNotes, notes={"minItems": least, "maxItems": most})
        try:
            with ends_within(limit_s):
                async with asyncio.timeout(limit_s):
                    reply = await step.complete(
                        given.prompt,
                        schema,
                        passages=quoted_passages(
                            [one.quoted(number, language) for number, one in enumerate(part, start=1)],
                            language,
                            title=given.title,
                        ),
                        question=one_line(given.question),
                    )
        except ModelError as error:
            self._reason = error.reason
        except TimeoutError:
            self._reason = worded("no result within {timeout_s:.1f} s", timeout_s=limit_s)
        else:
            told = _whole_points(reply.notes)
            kept = await asyncio.to_thread(_borne_out, told, part, given.question)
            self._dropped += len(reply.notes) - len(kept)
            if kept and self._first and not listing:
                kept = await asyncio.to_thread(_with_leads, kept, part)
            self._results[at] = kept
            if kept or listing:
                return
            self._reason = worded("its notes were not borne out by what it read")
        self._failed += 1
        self._results[at] = [] if given.prompt == "document_items" else _leads(part)
        if self._failed >= GIVE_UP and self._failed == len(self._results):
            self._stop = True

    async def _tell(self) -> None:
        if not self._first:
            return
        text = worded("Read {read} of {total} sections", read=self._read, total=self._sections)
        self._entry.summary = text
        await self._step.run.trace.sink.tool_called("read", text, self._entry)


def _borne_out(told: Sequence[tuple[int, str]], part: Sequence[Excerpt], question: str) -> list[Excerpt]:
    """The notes that a passage of the part says, in the passages' order, each with its excerpt's place."""
    sources = tuple(
        replace(source, marker=number)
        for number, one in enumerate(part, start=1)
        for source in numbered([replace(one.chunk, heading=one.heading, text=one.text)])
    )
    kept: dict[str, tuple[int, Excerpt]] = {}
    for passage, point in told:
        markers = align(point, sources, question=question, hints=(passage,))
        if markers:
            chosen = passage if passage in markers else markers[0]
            kept.setdefault(point, (chosen, replace(part[chosen - 1], text=point)))
    return [excerpt for _, excerpt in sorted(kept.values(), key=lambda pair: pair[0])]


def _whole_points(notes: Sequence[DocumentNote]) -> list[tuple[int, str]]:
    """Passage and point of each note, without the end that the length limit cut off, and without a note that only goes
    on where the one before was cut: a model that copies a passage does both."""
    told: list[tuple[int, str]] = []
    cut = False
    for note in notes:
        text = " ".join(note.point.split())
        goes_on = cut and text[:1].islower()
        cut = len(text) >= POINT_CHARS - CUT_MARGIN and not text.endswith(_SENTENCE_END)
        if cut:
            sentences = split_sentences(text)[:-1]
            text = text[: text.rindex(sentences[-1]) + len(sentences[-1])] if sentences else ""
        if text and not goes_on:
            told.append((note.passage, text))
    return told


def _with_leads(kept: Sequence[Excerpt], part: Sequence[Excerpt]) -> list[Excerpt]:
    """The notes, and the first sentence of each passage of which none was made, in the document's order."""
    noted = {(one.section, one.chunk.chunk_id) for one in kept}
    added = [
        replace(one, text=lead[0][:STATEMENT_CHARS])
        for one in part
        if (one.section, one.chunk.chunk_id) not in noted and (lead := split_sentences(one.text))
    ]
    places = {(one.section, one.chunk.chunk_id): at for at, one in enumerate(part)}
    return sorted([*kept, *added], key=lambda one: places[one.section, one.chunk.chunk_id])


def _leads(part: Sequence[Excerpt]) -> list[Excerpt]:
    step = max(1, len(part) // LEADS_OF_PART)
    return [
        replace(one, text=lead[0][:STATEMENT_CHARS]) for one in part[::step] if (lead := split_sentences(one.text))
    ][:LEADS_OF_PART]
