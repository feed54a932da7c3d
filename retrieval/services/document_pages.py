"""Pages of stored PDF files as people see them: pictures, and where a quoted text stands. Read by the reader processes.

Few at a time: a page is asked for by a reader who waits, and each takes up to a second of a processor.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async

from ragsite.core.errors import NotFoundError, UnavailableError
from ragsite.core.wording import worded
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.limits import MIB
from retrieval.ingest.reader import DAMAGED, ReaderGoneError, ask_reader
from retrieval.ingest.sniff import MEDIA_TYPES
from retrieval.models import Document, DocumentPart

AT_ONCE = 2
TIMEOUT_S = 15.0  # of one page
MEMORY_MIB = 1024  # address space of the process that draws it
MOST_MIB = 32  # of a picture
DRAWN_AS = "2"  # to be changed with the look of the pictures: browsers keep them
BUSY = worded("Too many pages are being drawn at the moment; try again shortly.")
_room: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}


async def page_read(document: Document, number: int, *, quotes: Sequence[str]) -> dict[str, Any]:
    """`retrieval.ingest.pdf_page.PageView` as a dict. number: from 1.

    Without quotations the ingest knows the answer, and the file stays closed.

    Raises NotFoundError, also for a file without pages, DocumentUnreadableError, UnavailableError.
    """
    if not quotes and (known := await sync_to_async(_page_kept)(document, number)):
        return known
    head, _ = await _asked(document, {"task": "page", "page": number, "quotes": list(quotes)})
    return head


def picture_tag(document: Document, number: int, *, width: int) -> str:
    """Strong ETag of `page_draw`'s picture: the same as long as it is drawn the same way."""
    drawn = f"{document.content_hash}.{number}.{width}.{DRAWN_AS}"
    return f'"{hashlib.sha256(drawn.encode()).hexdigest()[:32]}"'


async def page_draw(document: Document, number: int, *, width: int) -> bytes:
    """The page as PNG, `width` pixels wide. Raises as `page_read`."""
    head, picture = await _asked(document, {"task": "picture", "page": number, "width": width})
    if len(picture) != head["bytes"]:
        raise DocumentUnreadableError(DAMAGED)
    return picture


def _page_kept(document: Document, number: int) -> dict[str, Any] | None:
    """What was kept of a page when the file was read; nothing of what an earlier version read."""
    part = DocumentPart.objects.filter(document=document, number=number).first()
    if part is None or not (part.width and part.height and document.file):
        return None
    count = document.page_count or document.parts.count()
    return {"page": number, "page_count": count, "width": part.width, "height": part.height, "boxes": []}


async def _asked(document: Document, request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    if document.media_type != MEDIA_TYPES["pdf"]:
        raise NotFoundError(worded("Only PDF files have pages that can be shown."))
    path = Path(document.file.path) if document.file else None
    if path is None or not await asyncio.to_thread(path.exists):
        raise NotFoundError(worded("The file of this document is gone."))
    bounds = {"memory_mib": MEMORY_MIB, "cpu_s": math.ceil(TIMEOUT_S) + 1}
    async with _one_of_few():
        try:
            answer = await ask_reader(
                {**request, "path": str(path), "bounds": bounds}, timeout_s=TIMEOUT_S, max_bytes=MOST_MIB * MIB
            )
        except ReaderGoneError as error:
            raise UnavailableError(worded("The page could not be drawn; try again.")) from error
    line, _, rest = answer.partition(b"\n")
    head = json.loads(line)
    if head.get("missing"):
        raise NotFoundError(worded("The file has no such page."))
    return head, rest


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
