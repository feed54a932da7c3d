"""The worker's side of the reader process: nothing of a user's file is parsed anywhere else.

A reader process is started with the first file and kept for the next ones (`retrieval.ingest.reader_process`). Each
file is read in a child of it, which has hard limits: on processor time, address space, and the size of its answer; and
on time by the clock, for one that waits.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ragsite.core.wording import Sentence, worded
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.chunking import ChunkSize, TextChunk
from retrieval.ingest.limits import MIB, ParseLimits
from retrieval.ingest.parts import DocumentPart, ReadDocument
from retrieval.ingest.sniff import kind_by_name

LIMITS = ParseLimits()
PARSE_CPU_S = 300  # processor time for one file, chunks and summary included: the same file on every day
PARSE_TIMEOUT_S = 1200.0  # by the clock: a busy machine gives a process a quarter of a processor
PARSE_MEMORY_MIB = 2048  # address space of the process that reads a file
PARSE_OUTPUT_MIB = 256  # what reading one file may give

PROJECT_DIR = Path(__file__).resolve().parents[2]
MODULE = "retrieval.ingest.reader_process"
START_TIMEOUT_S = 60.0  # loading the parsers on a busy machine
END_TIMEOUT_S = 10.0  # from a child's answer to its end
PIECE_BYTES = 256 * 1024
# The process reads files from strangers, so it gets none of the site's secrets.
ENVIRONMENT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "HOME")
DAMAGED = worded("Reading the file failed: it is damaged, or needs more memory than is allowed.")


class ReaderGoneError(Exception):
    """The reader process has died; the file may be read by another."""


async def read_file(path: Path, *, file_name: str, size: ChunkSize) -> ReadDocument:
    """Parse, cut and summarise a file in a process of its own.

    Raises DocumentUnreadableError, UnsupportedFileError, FileNotFoundError, ReaderGoneError.
    """
    kind = kind_by_name(file_name)
    if not await asyncio.to_thread(path.exists):
        raise FileNotFoundError(path)
    request = {
        "task": "document",
        "path": str(path),
        "kind": kind,
        "limits": asdict(LIMITS),
        "size": asdict(size),
        "bounds": {"memory_mib": PARSE_MEMORY_MIB, "cpu_s": PARSE_CPU_S},
    }
    answer = await ask_reader(request, timeout_s=PARSE_TIMEOUT_S, max_bytes=PARSE_OUTPUT_MIB * MIB)
    return await asyncio.to_thread(_document, answer)


async def reader_warm_up(count: int = 1) -> None:
    """Have reader processes ready before the first file; one that does not start is no matter before that."""
    with contextlib.suppress(ReaderGoneError, OSError):
        _idle.extend([await _idle_reader() for _ in range(count)])


async def ask_reader(request: Mapping[str, Any], *, timeout_s: float, max_bytes: int) -> bytes:
    """What a child of a reader process answers.

    Raises DocumentUnreadableError; LookupError where the file has no such page; ReaderGoneError.
    """
    try:
        return await _ask(request, timeout_s, max_bytes)
    except ReaderGoneError:  # it may have died while it had nothing to do
        return await _ask(request, timeout_s, max_bytes)


async def _ask(request: Mapping[str, Any], timeout_s: float, max_bytes: int) -> bytes:
    reader = await _idle_reader()
    try:
        answer, status = await asyncio.to_thread(reader.read, request, timeout_s, max_bytes)
    except BaseException:  # cancelled, too slow, too much, or gone: the file must not be read on
        reader.close()
        raise
    _idle.append(reader)
    if status == -signal.SIGXCPU:
        raise DocumentUnreadableError(
            worded(
                "Reading the file took longer than {timeout_s:.0f} s; split it or save it more simply.",
                timeout_s=request["bounds"]["cpu_s"],
            )
        )
    line, _, rest = answer.partition(b"\n")
    head: dict[str, Any] = json.loads(line) if b"\n" in answer else {}
    if "unreadable" in head:
        raise DocumentUnreadableError(Sentence(head["unreadable"], head["wording"]))
    if "missing" in head:
        raise LookupError
    if len(rest) != head.get("bytes"):  # the child died before its end
        raise DocumentUnreadableError(DAMAGED)
    return rest


class _Reader:
    """One reader process. One file at a time.

    Start it in a thread that lives as long as it should: Linux takes that thread's end for the death of the parent.
    """

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                [sys.executable, "-m", MODULE, str(theirs.fileno()), str(self._owner)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd=PROJECT_DIR,
                env={name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
                | {"OPENBLAS_NUM_THREADS": "1"},  # a process that forks must have no other thread
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # so that its children can be ended with it
            )

    @property
    def is_usable(self) -> bool:
        """False: it has died, or belongs to the process that we were forked from."""
        return self._owner == os.getpid() and self._process.poll() is None

    def wait_ready(self) -> None:
        """Raises ReaderGoneError."""
        self._received(START_TIMEOUT_S)

    def read(self, request: Mapping[str, Any], timeout_s: float, max_bytes: int) -> tuple[bytes, int]:
        """The child's whole answer and its exit status. Raises DocumentUnreadableError, ReaderGoneError."""
        deadline = time.monotonic() + timeout_s
        ours, theirs = os.pipe()
        with open(ours, "rb", buffering=0) as pipe:  # noqa: PTH123 - a descriptor
            try:
                socket.send_fds(self._socket, [json.dumps(request).encode()], [theirs])
            except OSError as error:
                raise ReaderGoneError from error
            finally:
                os.close(theirs)
            answer = _drained(pipe.fileno(), deadline, max_bytes)
        return answer, int(self._received(END_TIMEOUT_S))

    def close(self) -> None:
        """End it and its child; one that belongs to the process that we were forked from lives on."""
        if self._owner == os.getpid():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._socket.close()

    def _received(self, within_s: float) -> bytes:
        self._socket.settimeout(within_s)
        try:
            data = self._socket.recv(PIECE_BYTES)
        except OSError as error:
            raise ReaderGoneError from error
        if not data:
            raise ReaderGoneError
        return data


_idle: deque[_Reader] = deque()


async def _idle_reader() -> _Reader:
    while _idle:
        reader = _idle.pop()
        if reader.is_usable:
            return reader
        reader.close()
    reader = _Reader()  # in this thread, whose end is its end
    try:
        await asyncio.to_thread(reader.wait_ready)
    except BaseException:
        reader.close()
        raise
    return reader


@atexit.register
def readers_close() -> None:
    """End the reader processes of this process that have nothing to do."""
    while _idle:
        _idle.pop().close()


def _drained(descriptor: int, deadline: float, max_bytes: int) -> bytes:
    """What comes until the other side is closed. Raises DocumentUnreadableError where that is not waited for."""
    answer = bytearray()
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    begun = time.monotonic()
    while True:
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not poll.poll(left_s * 1000):
            raise DocumentUnreadableError(
                worded(
                    "Reading the file was not done after {timeout_s:.0f} s: the machine was busy; read it again later.",
                    timeout_s=deadline - begun,
                )
            )
        piece = os.read(descriptor, PIECE_BYTES)
        if not piece:
            return bytes(answer)
        answer += piece
        if len(answer) > max_bytes:
            raise DocumentUnreadableError(
                worded("The text taken from the file is larger than {limit} MiB; split it.", limit=max_bytes // MIB)
            )


def _document(answer: bytes) -> ReadDocument:
    fields: dict[str, Any] = json.loads(answer)
    chunks = tuple(TextChunk(**chunk) for chunk in fields.pop("chunks"))
    parts = tuple(
        DocumentPart(**{**part, "blocks": tuple(part["blocks"]), "lines": tuple(part["lines"])})
        for part in fields.pop("parts")
    )
    return ReadDocument(**fields, chunks=chunks, parts=parts)
