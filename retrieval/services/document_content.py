"""A document as people read it, part by part, with its chunks as an overlay; and where a text of it stands.

The text is put together of the chunks, which hold all of it; a part of the document (`DocumentPart`) says where its
blocks and lines are. What was read before there were parts is shown in runs of chunks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ragsite.core.errors import NotFoundError
from ragsite.core.wording import worded
from retrieval.ingest.chunking import HEADING_JOIN
from retrieval.ingest.parts import Box, boxes_between
from retrieval.ingest.sniff import MEDIA_TYPES
from retrieval.models import Chunk, Document, DocumentPart
from retrieval.selectors import as_uuid
from retrieval.text.document_html import Block, blocks_html
from retrieval.text.markdown import document_blocks

CHUNKS_A_PART = 8  # of a document without parts
MARKDOWN = MEDIA_TYPES["markdown"]
MOST_SPANS = 20  # of one source
_BLANK = re.compile(r"\n[ \t]*\n\s*")
NO_PART = worded("The document has no such part.")


@dataclass(frozen=True, slots=True)
class PageSpan:
    """A stretch of a document's text on one page. boxes: shares of the page, (left, top, right, bottom)."""

    start: int
    end: int
    page: int | None
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    number: int
    start: int
    end: int
    stored: DocumentPart | None = None


def content_read(*, document: Document, part: int | None = None, chunk: str = "", quote: str = "") -> dict[str, Any]:
    """One part: that number (from 1), else the one with the quoted text near that chunk, else the one with the chunk.

    {part, part_count, page, width, height, html, chunks: [{id, seq, page, start, end, boxes}]}; places are of the
    document's text. Raises NotFoundError.
    """
    parts = _Parts(document)
    shown = parts.get(part) if part is not None else parts.find(chunk, quote)
    if shown is None:
        raise NotFoundError(NO_PART)
    chunks = _chunks_between(document.pk, shown.start, shown.end)
    text = _joined(chunks, shown.start, shown.end)
    stored = shown.stored
    blocks: Sequence[Block] = stored.blocks if stored else _guessed_blocks(text, chunks, document)
    return {
        "part": shown.number,
        "part_count": parts.count,
        "page": stored.page if stored else None,
        "width": stored.width if stored else None,
        "height": stored.height if stored else None,
        "html": blocks_html(text, blocks, start=shown.start, markdown=document.media_type == MARKDOWN),
        "chunks": [_chunk(row, before, shown) for before, row in zip([None, *chunks], chunks, strict=False)],
    }


def page_spans(*, document_id: UUID | str, start: int, end: int) -> list[PageSpan]:
    """The stretch start … end of a document's text, page by page; one without a page where it has none."""
    if (key := as_uuid(str(document_id))) is None or end <= start:
        return []
    parts = DocumentPart.objects.filter(document=key, char_start__lt=end, char_end__gt=start).order_by("number")
    spans = []
    for part in parts[:MOST_SPANS]:
        begin, finish = max(start, part.char_start), min(end, part.char_end)
        boxes = boxes_between(part.lines, begin - part.char_start, finish - part.char_start)
        spans.append(PageSpan(begin, finish, part.page, tuple(boxes)))
    return spans


# ------------------------------------------------------------------------------------------------ which part
class _Parts:
    """The parts of one document, stored or not."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._stored = DocumentPart.objects.filter(document=document)
        self._is_stored = self._stored.exists()
        rows = self._stored.count() if self._is_stored else -(-document.chunks.count() // CHUNKS_A_PART)
        self.count = rows

    def get(self, number: int) -> _Part | None:
        if not 1 <= number <= self.count:
            return None
        if self._is_stored:
            row = self._stored.filter(number=number).first()
            return _Part(number, row.char_start, row.char_end, row) if row else None
        first = (number - 1) * CHUNKS_A_PART
        rows = self._document.chunks.order_by("seq")[first : first + CHUNKS_A_PART]
        places = list(rows.values_list("char_start", "char_end"))
        before = self._document.chunks.filter(seq__lt=first).order_by("-seq").values_list("char_end", flat=True).first()
        return _Part(number, max(places[0][0], before or 0), places[-1][1]) if places else None

    def find(self, chunk_id: str, quote: str) -> _Part | None:
        key = as_uuid(chunk_id)
        chunk = self._document.chunks.filter(pk=key).first() if key else None
        if chunk is None:
            return self.get(1)
        if texts := [text for line in quote.split("\n") if (text := letters_of(line))]:
            near = self._document.chunks.filter(seq__gte=max(0, chunk.seq - 2), seq__lte=chunk.seq + 2)
            for row in sorted(near, key=lambda row: abs(row.seq - chunk.seq)):
                if (at := _place_of(row.text, texts)) is not None:
                    return self._at(row.char_start + at, row.seq)
        before = self._document.chunks.filter(seq=chunk.seq - 1).values_list("char_end", flat=True).first()
        return self._at(max(chunk.char_start, min(before or 0, chunk.char_end - 1)), chunk.seq)

    def _at(self, place: int, seq: int) -> _Part | None:
        if not self._is_stored:
            return self.get(seq // CHUNKS_A_PART + 1)
        row = self._stored.filter(char_end__gt=place).order_by("number").first()
        return _Part(row.number, row.char_start, row.char_end, row) if row else self.get(1)


def letters_of(text: str) -> str:
    """Letters and digits alone, in small letters; one character for each."""
    return "".join(character.lower()[:1] for character in text if character.isalnum())


def _place_of(text: str, quotes: Sequence[str]) -> int | None:
    """Where the first quotation that the text holds begins in it, by letters and digits alone."""
    places = [at for at, character in enumerate(text) if character.isalnum()]
    letters = letters_of(text)
    for quote in quotes:
        if (found := letters.find(quote)) >= 0:
            return places[found]
    return None


# ------------------------------------------------------------------------------------------------ what is in it
def _chunks_between(document_id: UUID, start: int, end: int) -> list[Chunk]:
    rows = Chunk.objects.filter(document=document_id, char_start__lt=max(end, start + 1), char_end__gt=start)
    return list(rows.order_by("seq"))


def text_between(document_id: UUID, start: int, end: int) -> str:
    """The document's text between two places."""
    return _joined(_chunks_between(document_id, start, end), start, end)


def _joined(chunks: Sequence[Chunk], start: int, end: int) -> str:
    """The document's text between two places, of chunks that may overlap; what no chunk holds is white space."""
    pieces: list[str] = []
    at = start
    for chunk in chunks:
        if chunk.char_start > at:
            pieces.append("\n" * (min(chunk.char_start, end) - at))
            at = min(chunk.char_start, end)
        piece = chunk.text[at - chunk.char_start : end - chunk.char_start] if chunk.char_end > at else ""
        pieces.append(piece)
        at += len(piece)
    return "".join(pieces)


def _chunk(chunk: Chunk, before: Chunk | None, part: _Part) -> dict[str, Any]:
    """start: where it says something that the one before it has not said."""
    start = max(chunk.char_start, before.char_end) if before else chunk.char_start
    lines = part.stored.lines if part.stored else []
    boxes = boxes_between(lines, start - part.start, chunk.char_end - part.start)
    place = {"page": chunk.page, "start": start, "end": chunk.char_end, "boxes": boxes}
    return {"id": str(chunk.pk), "seq": chunk.seq, **place}


def _guessed_blocks(text: str, chunks: Sequence[Chunk], document: Document) -> list[Block]:
    """Of what was read before blocks were kept."""
    if document.media_type == MARKDOWN:
        kinds = {"heading": "heading", "table": "table", "code": "code"}
        return [
            (block.start, block.end, kinds.get(block.kind, "paragraph"), block.level) for block in document_blocks(text)
        ]
    labels = {label: at for row in chunks for at, label in enumerate(row.heading.split(HEADING_JOIN), 1)}
    blocks: list[Block] = []
    at = 0
    for end, following in [*((match.start(), match.end()) for match in _BLANK.finditer(text)), (len(text), len(text))]:
        words = text[at:end]
        if words.strip():
            level = labels.get(" ".join(words.split()), 0)
            is_table = "\n" in words and all(" | " in line for line in words.split("\n"))
            blocks.append((at, end, "heading" if level else "table" if is_table else "paragraph", level))
        at = following
    return blocks
