"""Files of users are parsed in processes of their own: no parser runs anywhere else.

The first file starts Python's fork server, which loads the parsers; each file is read in a fork of it, with the limits
of `confinement`, and with limits on the size of its answer and on time by the clock.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from ragsite.core.messages import Sentence, say, worded, wording_of
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest import confinement
from retrieval.knowledge.ingest.chunk_size import ChunkSize
from retrieval.knowledge.ingest.confinement import MIB
from retrieval.knowledge.ingest.read_document import ReadDocument, ReadPart, TextChunk
from retrieval.knowledge.ingest.sniff import FileKind, kind_by_name

PARSERS = "retrieval.knowledge.ingest.reader_process"  # what the fork server loads
DAMAGED = worded("Reading the file failed: it is damaged, or needs more memory than is allowed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Of one fork. memory_mib: of address space, what it has loaded included; output_mib: of its answer."""

    cpu_s: int = 60  # processor time: the same file on every day
    timeout_s: float = (
        1200.0  # by the clock: a busy machine gives a process a quarter of a processor
    )
    memory_mib: int = 1280  # a quarter of it is what was loaded before
    output_mib: int = 256


BOUNDS = Bounds()  # of reading a file, chunks and summary included


async def read_file(path: Path, *, file_name: str, size: ChunkSize) -> ReadDocument:
    """Parse, cut and summarise a file.

    Raises DocumentUnreadableError, UnsupportedFileError, FileNotFoundError.
    """
    kind = kind_by_name(file_name)
    if not await asyncio.to_thread(path.exists):
        raise FileNotFoundError(path)
    return await asyncio.to_thread(_loaded, await in_fork(_read, path, kind, size, bounds=BOUNDS))


def reader_warm_up() -> None:
    """Have the parsers loaded before the first file."""
    confinement.set_preload(PARSERS)
    forkserver.ensure_running()


async def in_fork(function: Callable[..., bytes], *arguments: Any, bounds: Bounds) -> bytes:
    """What a function of a file gives in a process of its own. Raises DocumentUnreadableError, LookupError."""
    starting = asyncio.ensure_future(asyncio.to_thread(_started, function, arguments, bounds))
    try:
        process, connection = await asyncio.shield(starting)
    except asyncio.CancelledError:  # the thread goes on, and so would its fork
        await asyncio.to_thread(confinement.end, (await starting)[0])
        raise
    try:
        async with asyncio.timeout(bounds.timeout_s):
            head, content = await asyncio.to_thread(_received, connection, bounds)
    except TimeoutError as error:
        late = worded(
            "The file was not read within {timeout_s:.0f} s, because the machine was busy. Read it again later.",
            timeout_s=bounds.timeout_s,
        )
        raise DocumentUnreadableError(late) from error
    except OSError as error:
        large = worded(
            "The text taken from the file is larger than {limit} MiB; split it.",
            limit=bounds.output_mib,
        )
        raise DocumentUnreadableError(large) from error
    except EOFError as error:  # it died before its end
        await asyncio.to_thread(process.join)
        slow = worded(
            "Reading the file took longer than {timeout_s:.0f} s; split it or save it more simply.",
            timeout_s=bounds.cpu_s,
        )
        raise DocumentUnreadableError(
            slow if process.exitcode == -signal.SIGXCPU else DAMAGED
        ) from error
    finally:
        await asyncio.to_thread(confinement.end, process)
    if "unreadable" in head:
        raise DocumentUnreadableError(Sentence(head["unreadable"], head["wording"]))
    if "missing" in head:
        raise LookupError
    return content


def _started(
    function: Callable[..., bytes], arguments: tuple[Any, ...], bounds: Bounds
) -> tuple[ForkServerProcess, Connection]:
    confinement.set_preload(PARSERS)
    return confinement.start(_fork, bounds, function, arguments)


def _received(connection: Connection, bounds: Bounds) -> tuple[dict[str, Any], bytes]:
    """As bytes: a fork that a hostile file took over must not choose what is unpickled here.

    Raises EOFError where it ends before; OSError where more comes than may.
    """
    with connection:
        head: dict[str, Any] = json.loads(connection.recv_bytes(MIB))
        return head, connection.recv_bytes(bounds.output_mib * MIB)


def _loaded(content: bytes) -> ReadDocument:
    fields: dict[str, Any] = json.loads(content)
    chunks = tuple(TextChunk(**chunk) for chunk in fields.pop("chunks"))
    parts = tuple(
        ReadPart(**{**part, "blocks": tuple(part["blocks"]), "lines": tuple(part["lines"])})
        for part in fields.pop("parts")
    )
    unread = tuple(Sentence(say(wording), wording) for wording in fields.pop("unread"))
    return ReadDocument(**fields, chunks=chunks, parts=parts, unread=unread)


# ------------------------------------------------------------------------------------------------ in the fork
def _fork(
    connection: Connection,
    bounds: Bounds,
    function: Callable[..., bytes],
    arguments: tuple[Any, ...],
) -> None:
    confinement.confine(memory_mib=bounds.memory_mib, cpu_s=bounds.cpu_s)
    head: dict[str, Any] = {}
    content = b""
    try:
        content = function(*arguments)
    except DocumentUnreadableError as error:
        head = {"unreadable": error.message, "wording": wording_of(error.message)}
    except LookupError as error:
        if type(error) is not LookupError:  # of a parser that stumbled over a damaged file
            raise
        head = {"missing": True}
    connection.send_bytes(json.dumps(head, ensure_ascii=False).encode("utf-8", "replace"))
    connection.send_bytes(content)


def _read(path: Path, kind: FileKind, size: ChunkSize) -> bytes:
    from retrieval.knowledge.ingest.reading import (
        read_document,
    )  # the parsers are loaded nowhere else

    document = read_document(path, kind=kind, size=size)
    fields = asdict(replace(document, unread=())) | {
        "unread": [sentence.wording for sentence in document.unread]
    }
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace")
