"""A document as people read it, part by part, with its chunks as an overlay; and where a text of it stands.

The text is put together of the chunks, which hold all of it; a part of the document (`DocumentPart`) says where its
blocks and lines are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from ragsite.core.errors import NotFoundError
from ragsite.core.messages import worded
from retrieval.engine.values import StoredChunk
from retrieval.knowledge.ingest.parts import boxes_between
from retrieval.knowledge.ingest.sniff import MEDIA_TYPES
from retrieval.knowledge.selectors import as_uuid
from retrieval.knowledge.services.document_html import blocks_html
from retrieval.models import Chunk, Document, DocumentPart

MARKDOWN = MEDIA_TYPES["markdown"]
MOST_SPANS = 20  # of one source
LEAST_MATCH = 12  # letters of a quotation that goes over two pages: less is chance
NO_PART = worded("The document has no such part.")


def content_read(
    *, document: Document, part: int | None = None, chunk: str = "", quote: str = ""
) -> dict[str, Any]:
    """One part: that number (from 1), else the one with the quoted text near that chunk, else the one with the chunk.

    {part, part_count, page, width, height, html, chunks: [{id, seq, page, start, end, boxes}], marks}; places are of
    the document's text, marks the boxes of the quotations, one a line, on a page. Raises NotFoundError.
    """
    place = 0 if part is not None else _place(document, chunk, quote)
    parts = (
        document.parts.filter(number=part)
        if part is not None
        else document.parts.filter(char_end__gt=place)
    )
    row = parts.order_by("number").first()
    if row is None:
        raise NotFoundError(NO_PART)
    chunks = _chunks_between(document.pk, row.char_start, row.char_end)
    text = _joined(chunks, row.char_start, row.char_end)
    markdown = document.media_type == MARKDOWN
    return {
        "part": row.number,
        "part_count": document.parts.count(),
        "page": row.page,
        "width": row.width,
        "height": row.height,
        "html": blocks_html(text, row.blocks, start=row.char_start, markdown=markdown),
        "chunks": [
            _chunk(one, before, row) for before, one in zip([None, *chunks], chunks, strict=False)
        ],
        "marks": [
            box
            for start, end in filter(None, (_found(text, line) for line in quote.split("\n")))
            for box in boxes_between(row.lines, start, end)
        ],
    }


def page_spans(chunk: StoredChunk, start: int, end: int) -> list[dict[str, Any]]:
    """`{page, boxes, start, end}` where `chunk.text[start:end]` stands, page by page; boxes as far as known."""
    spans = []
    offset = chunk.char_start
    key = as_uuid(chunk.document_id)
    if key and chunk.page and start < end:
        parts = DocumentPart.objects.filter(
            document=key, char_start__lt=offset + end, char_end__gt=offset + start
        )
        for part in parts.order_by("number")[:MOST_SPANS]:
            begin = max(offset + start, part.char_start)
            finish = min(offset + end, part.char_end)
            sides = boxes_between(part.lines, begin - part.char_start, finish - part.char_start)
            boxes = [[round(side, 4) for side in box] for box in sides]
            page = part.page or chunk.page
            spans.append(
                {"page": page, "boxes": boxes, "start": begin - offset, "end": finish - offset}
            )
    return spans or [{"page": chunk.page, "boxes": [], "start": start, "end": end}]


# ------------------------------------------------------------------------------------------------ which part
def _place(document: Document, chunk_id: str, quote: str) -> int:
    """Where the quoted text begins that stands in this chunk or near it, else the chunk; 0 where there is no such."""
    key = as_uuid(chunk_id)
    chunk = document.chunks.filter(pk=key).first() if key else None
    if chunk is None:
        return 0
    near = (
        document.chunks.filter(seq__gte=max(0, chunk.seq - 2), seq__lte=chunk.seq + 2)
        if quote
        else ()
    )
    for row in sorted(near, key=lambda row: abs(row.seq - chunk.seq)):
        for line in quote.split("\n"):
            if found := _found(row.text, line, least=len(line)):
                return row.char_start + found[0]
    before = document.chunks.filter(seq=chunk.seq - 1).values_list("char_end", flat=True).first()
    return max(chunk.char_start, min(before or 0, chunk.char_end - 1))


def letters_of(text: str) -> str:
    """Letters and digits alone, in small letters; one character for each."""
    return "".join(character.lower()[:1] for character in text if character.isalnum())


def _found(text: str, quote: str, *, least: int = LEAST_MATCH) -> tuple[int, int] | None:
    """Where the quotation stands in the text, or what does of its beginning or end: at least so many letters."""
    places = [at for at, character in enumerate(text) if character.isalnum()]
    letters = letters_of(text)
    sought = letters_of(quote)
    if sought not in letters:
        lengths = range(len(sought) - 1, least - 1, -1)
        parts = (part for length in lengths for part in (sought[:length], sought[-length:]))
        sought = next((part for part in parts if part in letters), "")
    if not sought:
        return None
    at = letters.index(sought)
    return places[at], places[at + len(sought) - 1] + 1


# ------------------------------------------------------------------------------------------------ what is in it
def _chunks_between(document_id: UUID, start: int, end: int) -> list[Chunk]:
    rows = Chunk.objects.filter(
        document=document_id, char_start__lt=max(end, start + 1), char_end__gt=start
    )
    return list(rows.order_by("seq"))


def _joined(chunks: Sequence[Chunk], start: int, end: int) -> str:
    """The document's text between two places, of chunks that may overlap; what no chunk holds is white space."""
    pieces: list[str] = []
    at = start
    for chunk in chunks:
        if chunk.char_start > at:
            pieces.append("\n" * (min(chunk.char_start, end) - at))
            at = min(chunk.char_start, end)
        piece = (
            chunk.text[at - chunk.char_start : end - chunk.char_start]
            if chunk.char_end > at
            else ""
        )
        pieces.append(piece)
        at += len(piece)
    return "".join(pieces)


def _chunk(chunk: Chunk, before: Chunk | None, part: DocumentPart) -> dict[str, Any]:
    """start: where it says something that the one before it has not said."""
    start = max(chunk.char_start, before.char_end) if before else chunk.char_start
    boxes = boxes_between(part.lines, start - part.char_start, chunk.char_end - part.char_start)
    place = {"page": chunk.page, "start": start, "end": chunk.char_end, "boxes": boxes}
    return {"id": str(chunk.pk), "seq": chunk.seq, **place}
