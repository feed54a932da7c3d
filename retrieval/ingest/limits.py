"""Bounds on what one file may cost while it is read."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

from ragsite.core.wording import worded
from retrieval.errors import DocumentUnreadableError

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """Of one file: pages or slides, chunks, MiB that an archive unpacks to, characters of text, cells of a workbook."""

    max_pages: int = 5000
    max_chunks: int = 50_000
    max_unpacked_mib: int = 400
    max_text_chars: int = 40_000_000
    max_cells: int = 5_000_000  # empty ones between filled ones included


def check_archive(path: Path, limits: ParseLimits) -> None:
    """Refuse an archive that unpacks to more than the limit, before it is unpacked. Raises DocumentUnreadableError."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise DocumentUnreadableError(worded("The file is damaged or was cut short; upload it again.")) from error
    if any(entry.flag_bits & 0x1 for entry in entries):
        raise DocumentUnreadableError(worded("The file is protected by a password; save it without one."))
    # Declared sizes can lie, but zipfile reads no more of an entry than it declares.
    if sum(entry.file_size for entry in entries) > limits.max_unpacked_mib * MIB or len(entries) > 20_000:
        most = limits.max_unpacked_mib
        raise DocumentUnreadableError(
            worded("The file unpacks to more than {max_unpacked_mib} MiB; split it.", max_unpacked_mib=most)
        )


def check_pages(count: int, limits: ParseLimits) -> None:
    """Raises DocumentUnreadableError for more pages or slides than the limit."""
    if count > (most := limits.max_pages):
        reason = worded("The file has {count} pages, {max_pages} are the limit; split it.", count=count, max_pages=most)
        raise DocumentUnreadableError(reason)


def check_length(chars: int, limits: ParseLimits) -> None:
    """Raises DocumentUnreadableError for more characters than the limit."""
    if chars > (most := limits.max_text_chars):
        reason = worded(
            "The file holds more than {max_text_chars:,} characters of text; split it.", max_text_chars=most
        )
        raise DocumentUnreadableError(reason)
