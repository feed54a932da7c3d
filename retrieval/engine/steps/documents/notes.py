"""Notes: where documents do not fit one prompt, the model notes what each part says, and writes from the notes (map and
reduce).

A note that its own passages do not support is dropped (`align`), so that none can carry an invention into the answer;
each of the others keeps the chunk that it came from. Where the model made no note, the first sentences stand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel

from ragsite.core.messages import worded
from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelOutputError
from retrieval.engine.path_details import CompressDetails
from retrieval.engine.providers.reply_form import limited, shaped
from retrieval.engine.steps.documents.excerpts import Excerpt
from retrieval.engine.steps.documents.parts import (
    MOST_SOURCES,
    Readings,
    fit_one_prompt,
    parts_of,
    quoted_passages,
    read_parts,
)
from retrieval.engine.steps.grounding.alignment import align
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import one_line
from retrieval.engine.trace import note
from retrieval.engine.values import AnswerSource, Scores

NOTES_OF_PART = 6  # at most
POINT_CHARS = 200  # of a note
CUT_MARGIN = 3  # characters below the limit of a note's length from which it was cut
PassageNumber = Annotated[int, limited(minimum=1, maximum=999)]


class DocumentNote(BaseModel):
    passage: PassageNumber
    point: Annotated[str, limited(minLength=3, maxLength=POINT_CHARS)]


class DocumentNotes(BaseModel):
    """What a part of a document says, in the order of the passages; two or three hundred tokens."""

    notes: list[DocumentNote]


@step("compress")
async def take_notes(
    deps: Deps, excerpts: Sequence[Excerpt], question: str, *, room: int
) -> tuple[list[Excerpt], Readings[list[Excerpt]]]:
    """Notes that fit `room` tokens together, thinned out evenly where they do not; and what was read."""
    parts = parts_of(excerpts, room)
    most = max(1, min(NOTES_OF_PART, MOST_SOURCES // len(parts)))

    async def read(part: Sequence[Excerpt]) -> list[Excerpt]:
        # One for each passage, or a small model copies the first one and is done.
        schema = shaped(
            DocumentNotes,
            notes={"minItems": min(len(part), most), "maxItems": most},
        )
        passages = quoted_passages(part, range(1, len(part) + 1), deps.language)
        reply = await deps.complete(
            "document_notes", schema, passages=passages, question=one_line(question)
        )
        points: list[tuple[int, str]] = []
        for made in reply.notes:
            point = " ".join(made.point.split())
            if len(point) < POINT_CHARS - CUT_MARGIN:  # a longer one was cut
                points.append((made.passage, point))
        if selection := await asyncio.to_thread(_borne_out, points, part, question):
            return selection
        raise ModelOutputError(worded("its notes were not supported by what it read"))

    readings = await read_parts(deps, parts, read)
    notes: list[Excerpt] = []
    for part, made in readings.parts:
        notes += made or _first_statements(part)[:most]
    note(
        "notes_taken",
        CompressDetails(notes=len(notes), read=readings.read, calls=len(readings.parts)),
    )
    every = 1
    while not fit_one_prompt(notes[::every], room) and every < len(notes):
        every += 1
    return notes[::every], readings


def _first_statements(part: Sequence[Excerpt]) -> list[Excerpt]:
    """The first sentence of each excerpt."""
    first: list[Excerpt] = []
    for excerpt in part:
        first += excerpt.statements[:1]
    return first


def _borne_out(
    points: Sequence[tuple[int, str]], part: Sequence[Excerpt], question: str
) -> list[Excerpt]:
    """The notes that a passage of the part says, in the passages' order."""
    sources: list[AnswerSource] = []
    for number, excerpt in enumerate(part, start=1):
        chunk = replace(excerpt.chunk, heading=excerpt.heading, text=excerpt.text)
        sources.append(AnswerSource(marker=number, chunk=chunk, scores=Scores()))
    selection: dict[str, int] = {}
    for passage, point in points:
        if markers := align(point, sources, question=question, hints=(passage,)):
            selection.setdefault(point, passage if passage in markers else markers[0])
    in_order = sorted(selection.items(), key=lambda item: item[1])
    return [replace(part[number - 1], text=point) for point, number in in_order]
