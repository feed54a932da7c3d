"""Uploaded files lie in the folder `uploads`, or in a bucket of S3 (`s3_uploads`): Django's storage says where."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from django.core.files.storage import FileSystemStorage
from django.db.models.fields.files import FieldFile

from ragsite.core.errors import UnavailableError
from ragsite.core.messages import worded

COPIED_BYTES = 1024 * 1024  # at once


class UploadsAwayError(UnavailableError, OSError):
    """The store of the files can't be reached or used. It says nothing of whether a file is there."""

    message = worded("The uploaded files are not reachable at the moment; try again shortly.")


@asynccontextmanager
async def local_copy(file: FieldFile) -> AsyncIterator[Path]:
    """A path on this machine that a reader may open, for a `with` block: the file itself, or a copy of it.

    Raises FileNotFoundError, ValueError for a row that names no file, UploadsAwayError, OSError.
    """
    if isinstance(file.storage, FileSystemStorage):
        path = Path(file.path)
        if not await asyncio.to_thread(path.is_file):
            raise FileNotFoundError(path)
        yield path
        return
    copy = await asyncio.to_thread(_fetched, file)
    try:
        yield Path(copy.name)
    finally:
        await asyncio.to_thread(copy.close)


def _fetched(file: FieldFile) -> IO[Any]:
    """A file for a while, which goes when it is closed."""
    copy = tempfile.NamedTemporaryFile(  # noqa: SIM115 -- the caller closes it
        prefix="ragsite-upload-", suffix=PurePosixPath(str(file.name)).suffix
    )
    try:
        with file.storage.open(str(file.name)) as content:
            shutil.copyfileobj(content, copy, COPIED_BYTES)
        copy.flush()
    except BaseException:
        copy.close()
        raise
    return copy
