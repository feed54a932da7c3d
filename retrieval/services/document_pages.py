"""Pages of stored PDF files as people see them: where a quoted text stands, by what the ingest kept, and pictures.

Pictures are drawn by the reader processes, few at a time: somebody waits for them, and each takes up to a second of a
processor.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ragsite.core.errors import NotFoundError, UnavailableError
from ragsite.core.wording import worded
from retrieval.ingest.limits import MIB
from retrieval.ingest.parts import boxes_between
from retrieval.ingest.reader import ReaderGoneError, ask_reader
from retrieval.ingest.sniff import MEDIA_TYPES
from retrieval.models import Document, DocumentPart
from retrieval.services.document_content import letters_of, text_between

AT_ONCE = 2
TIMEOUT_S = 15.0  # of one page
MEMORY_MIB = 1024  # address space of the process that draws it
MOST_MIB = 32  # of a picture
LEAST_MATCH = 12  # letters of a quotation that goes over two pages: less is chance
GONE = worded("The file of this document is gone.")
NO_PAGE = worded("The file has no such page.")
BUSY = worded("Too many pages are being drawn at the moment; try again shortly.")
_room: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}


def page_read(document: Document, number: int, *, quotes: Sequence[str]) -> dict[str, Any]:
    """{page, page_count, width, height, boxes: [{left, top, width, height}]}: where these texts stand on the page.

    White space makes no difference; of a text that begins or ends on another page, the part on this one is found.
    number: from 1; width, height: in points; boxes: shares of the page. Raises NotFoundError.
    """
    _path(document)
    part = DocumentPart.objects.filter(document=document, number=number).first()
    if part is None or not (part.width and part.height):
        raise NotFoundError(NO_PAGE)
    text = text_between(document.pk, part.char_start, part.char_end)
    places = [place for quote in quotes if (place := _found(text, quote))]
    boxes = [box for start, end in places for box in boxes_between(part.lines, start, end)]
    return {
        "page": number,
        "page_count": document.page_count or document.parts.count(),
        "width": part.width,
        "height": part.height,
        "boxes": [
            {"left": left, "top": top, "width": right - left, "height": bottom - top}
            for left, top, right, bottom in boxes
        ],
    }


def _found(text: str, quote: str) -> tuple[int, int] | None:
    """Where the quotation stands in the text, or as much of its beginning or end as does."""
    places = [at for at, character in enumerate(text) if character.isalnum()]
    letters, sought = letters_of(text), letters_of(quote)
    if sought not in letters:
        least = range(len(sought) - 1, LEAST_MATCH - 1, -1)
        parts = (part for length in least for part in (sought[:length], sought[-length:]))
        sought = next((part for part in parts if part in letters), "")
    if not sought:
        return None
    at = letters.index(sought)
    return places[at], places[at + len(sought) - 1] + 1


async def page_draw(document: Document, number: int, *, width: int) -> bytes:
    """The page as PNG, `width` pixels wide. Raises NotFoundError, DocumentUnreadableError, UnavailableError."""
    path = _path(document)
    if not await asyncio.to_thread(path.exists):
        raise NotFoundError(GONE)
    request = {"task": "picture", "path": str(path), "page": number, "width": width}
    bounds = {"memory_mib": MEMORY_MIB, "cpu_s": math.ceil(TIMEOUT_S) + 1}
    async with _one_of_few():
        try:
            return await ask_reader({**request, "bounds": bounds}, timeout_s=TIMEOUT_S, max_bytes=MOST_MIB * MIB)
        except LookupError as error:
            raise NotFoundError(NO_PAGE) from error
        except ReaderGoneError as error:
            raise UnavailableError(worded("The page could not be drawn; try again.")) from error


def _path(document: Document) -> Path:
    """Raises NotFoundError."""
    if document.media_type != MEDIA_TYPES["pdf"]:
        raise NotFoundError(worded("Only PDF files have pages that can be shown."))
    if not document.file:
        raise NotFoundError(GONE)
    return Path(document.file.path)


@asynccontextmanager
async def _one_of_few() -> AsyncIterator[None]:
    """Raises UnavailableError for one that waited longer than a page may take."""
    loop = asyncio.get_running_loop()
    for other in [other for other in _room if other.is_closed()]:
        del _room[other]
    room = _room.setdefault(loop, asyncio.Semaphore(AT_ONCE))
    try:
        await asyncio.wait_for(room.acquire(), TIMEOUT_S)
    except TimeoutError as error:
        raise UnavailableError(BUSY) from error
    try:
        yield
    finally:
        room.release()
