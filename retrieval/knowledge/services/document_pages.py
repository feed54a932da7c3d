"""Pages of stored PDF files, and pictures, as pictures.

They are drawn by processes that read files, few at a time: somebody waits for them, and each takes up to a second of a
processor.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ragsite.core.errors import NotFoundError, UnavailableError
from ragsite.core.messages import worded
from ragsite.core.uploads import local_copy
from retrieval.knowledge.ingest.images.pictures import picture_page
from retrieval.knowledge.ingest.pdf.page import page_picture
from retrieval.knowledge.ingest.reader import Bounds, in_fork
from retrieval.knowledge.ingest.sniff import MEDIA_TYPES, PICTURES
from retrieval.models import Document

AT_ONCE = 2
TIMEOUT_S = 15.0  # of one page
GONE = worded("The file of this document is gone.")
NO_PAGE = worded("The file has no such page.")
BUSY = worded("Too many pages are being drawn at the moment; try again shortly.")
DRAWN = {
    MEDIA_TYPES["pdf"]: page_picture,
    **dict.fromkeys((MEDIA_TYPES[kind] for kind in PICTURES), picture_page),
}
_room = asyncio.Semaphore(AT_ONCE)


async def page_draw(document: Document, number: int, *, width: int) -> bytes:
    """The page as PNG, `width` pixels wide. Raises NotFoundError, DocumentUnreadableError, UnavailableError."""
    draw = DRAWN.get(document.media_type)
    if draw is None:
        raise NotFoundError(worded("Only PDF files and pictures have pages that can be shown."))
    if not document.file:
        raise NotFoundError(GONE)
    bounds = Bounds(
        cpu_s=math.ceil(TIMEOUT_S) + 1, timeout_s=TIMEOUT_S, memory_mib=1024, output_mib=32
    )
    async with _one_of_few():
        try:
            async with local_copy(document.file) as path:
                return await in_fork(draw, path, number, width, bounds=bounds)
        except FileNotFoundError as error:
            raise NotFoundError(GONE) from error
        except LookupError as error:
            raise NotFoundError(NO_PAGE) from error


@asynccontextmanager
async def _one_of_few() -> AsyncIterator[None]:
    """Raises UnavailableError for one that waited longer than a page may take."""
    try:
        await asyncio.wait_for(_room.acquire(), TIMEOUT_S)
    except TimeoutError as error:
        raise UnavailableError(BUSY) from error
    try:
        yield
    finally:
        _room.release()
