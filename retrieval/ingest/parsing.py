"""One file in, its blocks out: checks what it really is, then hands it to the parser of its kind.

Text formats are read here. PDF and Office files go through native code that hostile files can crash, hang or bloat, so
they are read in a process of their own with a time and a memory limit.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from ragsite.rag_settings import IngestSettings
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.blocks import Block, ParsedDocument
from retrieval.ingest.html import parse_html
from retrieval.ingest.limits import ParseLimits, check_length
from retrieval.ingest.markdown import parse_markdown
from retrieval.ingest.sniff import FileKind, check_content, kind_by_name
from retrieval.ingest.text import parse_csv, parse_text

TEXT_PARSERS: dict[FileKind, Callable[[bytes], ParsedDocument]] = {
    "text": parse_text,
    "markdown": parse_markdown,
    "html": parse_html,
    "csv": parse_csv,
}
UNREADABLE = 3  # exit status of the reader process when it printed the reason
PROJECT_DIR = Path(__file__).resolve().parents[2]


def parse_limits(settings: IngestSettings) -> ParseLimits:
    return ParseLimits(
        max_pages=settings.max_pages,
        max_unpacked_mib=settings.max_unpacked_mib,
        max_text_chars=settings.max_text_chars,
        max_cells=settings.max_cells,
    )


async def parse_file(path: Path, *, file_name: str, settings: IngestSettings) -> ParsedDocument:
    """The document's blocks. Raises DocumentUnreadableError, UnsupportedFileError."""
    kind = kind_by_name(file_name)
    await asyncio.to_thread(check_content, path, kind)
    limits = parse_limits(settings)
    if kind in TEXT_PARSERS:
        document = await asyncio.wait_for(
            asyncio.to_thread(_parse_text_file, path, kind, limits), settings.parse_timeout_s
        )
    else:
        document = await _read_in_process(path, kind, settings)
    if not any(block.text.strip() for block in document.blocks):
        raise DocumentUnreadableError("The file holds no text.")
    return document


def _parse_text_file(path: Path, kind: FileKind, limits: ParseLimits) -> ParsedDocument:
    check_length(path.stat().st_size // 4, limits)
    document = TEXT_PARSERS[kind](path.read_bytes())
    check_length(sum(len(block.text) for block in document.blocks), limits)
    return document


async def _read_in_process(path: Path, kind: FileKind, settings: IngestSettings) -> ParsedDocument:
    limits = json.dumps({**asdict(parse_limits(settings)), "memory_mib": settings.parse_memory_mib})
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "retrieval.ingest.reader_process", kind, str(path), limits, str(os.getpid()),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        cwd=PROJECT_DIR, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = await asyncio.wait_for(process.communicate(), settings.parse_timeout_s)
    except TimeoutError as error:
        raise DocumentUnreadableError(
            f"Reading the file took longer than {settings.parse_timeout_s:.0f} s; split it or save it more simply."
        ) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == UNREADABLE:
        raise DocumentUnreadableError(output.decode())
    if process.returncode != 0:
        raise DocumentUnreadableError("Reading the file failed: it is damaged, or needs more memory than is allowed.")
    return await asyncio.to_thread(_document_from_json, output)


def document_as_json(document: ParsedDocument) -> str:
    """The form in which the reader process prints it."""
    return json.dumps({**asdict(document), "blocks": [asdict(block) for block in document.blocks]})


def _document_from_json(data: bytes) -> ParsedDocument:
    fields = json.loads(data)
    return ParsedDocument(**{**fields, "blocks": tuple(Block(**block) for block in fields["blocks"])})
