"""A folder of the workers' machine, below one that the operator names. No link is followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.conf import settings

from ragsite.core.errors import PermissionDeniedError, TooLargeError
from ragsite.core.messages import Sentence, worded
from retrieval.knowledge.sync.source import (
    TOO_LARGE,
    PartAwayError,
    SourceAwayError,
    SourceEntry,
    SourceReader,
)

UNREADABLE = worded("The file cannot be read.")


class FolderSource(SourceReader):
    def entries(self, known: Mapping[str, str]) -> Iterator[SourceEntry]:
        root = folder_of(self.address)
        away: list[OSError] = []
        for folder, subfolders, names in os.walk(root, onerror=away.append):
            subfolders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                key = path.relative_to(root).as_posix()
                try:
                    found = path.lstat()
                except FileNotFoundError:
                    continue
                except OSError:
                    yield SourceEntry(key, name=name, problem=SourceAwayError(UNREADABLE))
                    continue
                if stat.S_ISREG(found.st_mode):
                    yield SourceEntry(
                        key, f"{found.st_mtime_ns}-{found.st_size}", name, found.st_size
                    )
        folders = {Path(error.filename).relative_to(root).as_posix() for error in away}
        if "." in folders:
            raise SourceAwayError(worded("The folder cannot be read; is it mounted?")) from away[0]
        if folders:
            raise PartAwayError(folders) from away[0]

    def read(self, entry: SourceEntry, most_bytes: int) -> bytes:
        root = folder_of(self.address)
        path = root / entry.key
        try:
            if not path.resolve().is_relative_to(root):
                raise PermissionDeniedError
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
                data = file.read(most_bytes + 1)
        except OSError as error:
            raise SourceAwayError(UNREADABLE) from error
        if len(data) > most_bytes:
            raise TooLargeError(TOO_LARGE)
        return data


def folder_of(address: str) -> Path:
    """As it lies on the disk. Raises PermissionDeniedError where the operator names no folder above it."""
    folder = Path(address).resolve()
    if not any(
        folder.is_relative_to(Path(root).resolve()) for root in settings.SITE.source_folders
    ):
        raise PermissionDeniedError(_allowed())
    return folder


def _allowed() -> Sentence:
    roots = settings.SITE.source_folders
    if not roots:
        return worded(
            "No folder may be read on this site: the operator lists them in RAGSITE_SOURCE_FOLDERS."
        )
    return worded(
        "Only these folders may be read: {folders} (set on the server).",
        folders=", ".join(map(str, roots)),
    )
