"""One page of a PDF as a picture.

As `document`, it runs in a process of its own (`reader`): pdfium parses strangers' files and is not thread-safe.
"""

from __future__ import annotations

import io
from pathlib import Path

import pypdfium2

from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.pdf.document import BROKEN

MAX_PIXELS = 16_000_000  # of a picture: pages may be metres long
COMPRESSION = 3  # of PNG, 1–9: more costs three times as long for a tenth of the bytes


def page_picture(path: Path, number: int, width: int) -> bytes:
    """The page as PNG, `width` pixels wide. number: from 1.

    Raises DocumentUnreadableError; LookupError where the file has no such page.
    """
    try:
        with pypdfium2.PdfDocument(path) as document:
            if not 1 <= number <= len(document):
                raise LookupError
            page = document[number - 1]
            points, height = page.get_size()
            if min(points, height) <= 0:
                raise DocumentUnreadableError(BROKEN)
            scale = min(width / points, (MAX_PIXELS / (points * height)) ** 0.5)
            image = page.render(scale=scale).to_pil()
            picture = io.BytesIO()
    except pypdfium2.PdfiumError as error:
        raise DocumentUnreadableError(BROKEN) from error
    image.save(picture, "PNG", compress_level=COMPRESSION)
    return picture.getvalue()
