"""Is there room on the disk, and was it the lack of room that made a call fail."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from pathlib import Path

from django.conf import settings

from ragsite.core.errors import StorageFullError

MIB = 1024 * 1024
MIN_FREE_MIB = 64  # with less room than this nothing new is taken in
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
POSTGRES_FULL = "53100"  # disk_full


def free_mib() -> float:
    """What is left on the disk of the data, or of the uploads where that is another one."""
    there = (  # a folder is made with its first file
        next(place for place in (folder, *folder.parents) if place.exists())
        for folder in (Path(settings.DATA_DIR), Path(settings.MEDIA_ROOT))
    )
    return min(shutil.disk_usage(folder).free for folder in there) / MIB


def is_full(*, room_mib: float = 0.0) -> bool:
    """Less than the room that is kept free is left, or would be after so many MiB more."""
    return free_mib() - room_mib < MIN_FREE_MIB


def check_room(size_bytes: int) -> None:
    """Raises StorageFullError unless there is room for a file of this size."""
    if is_full(room_mib=size_bytes / MIB):
        raise StorageFullError


def is_lack_of_room(error: BaseException | None) -> bool:
    """Whether this error, or what it was raised from, says that a disk is full: that of the files or the database's."""
    while error is not None:
        if isinstance(error, StorageFullError) or (
            isinstance(error, OSError) and error.errno in NO_SPACE
        ):
            return True
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            return True
        if getattr(error, "sqlstate", None) == POSTGRES_FULL:
            return True
        error = error.__cause__
    return False
