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

SUMMARY_TOKENS = 160  # of a document's summary, by which hierarchical search finds it
MAX_PAGES = 5000  # of one document
MAX_CHUNKS = 50_000  # of one document
PARSE_CPU_S = 300  # processor time for one file, chunks and summary included: the same file on every day
PARSE_TIMEOUT_S = 1200.0  # by the clock: a busy machine gives a process a quarter of a processor
PARSE_MEMORY_MIB = 2048  # address space of the process that reads a file
PARSE_OUTPUT_MIB = 256  # what reading one file may give
MAX_UNPACKED_MIB = 400  # what an Office file may unpack to
MAX_TEXT_CHARS = 40_000_000  # of one document
MAX_CELLS = 5_000_000  # of one workbook, empty ones between filled ones included

PROJECT_DIR = Path(__file__).resolve().parents[2]
MODULE = "retrieval.ingest.reader_process"
READY, END, END_LOAD_CHINESE = b"ready", b"end", b"end, load Chinese"  # as there
START_TIMEOUT_S = 60.0  # loading the parsers on a busy machine
END_TIMEOUT_S = 10.0
PIECE_BYTES = 256 * 1024
# The process reads files from strangers, so it gets none of the site's secrets.
ENVIRONMENT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "HOME")
DAMAGED = worded("Reading the file failed: it is damaged, or needs more memory than is allowed.")


class ReaderGoneError(Exception):
    """The reader process has died; the file may be read by another."""


def parse_limits() -> ParseLimits:
    """The constants of this module, for the child that reads."""
    return ParseLimits(
        max_pages=MAX_PAGES,
        max_unpacked_mib=MAX_UNPACKED_MIB,
        max_text_chars=MAX_TEXT_CHARS,
        max_cells=MAX_CELLS,
    )


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
        "limits": asdict(parse_limits()),
        "size": asdict(size),
        "max_chunks": MAX_CHUNKS,
        "summary_tokens": SUMMARY_TOKENS,
        "bounds": {"memory_mib": PARSE_MEMORY_MIB, "cpu_s": PARSE_CPU_S},
    }
    answer = await ask_reader(request, timeout_s=PARSE_TIMEOUT_S, max_bytes=PARSE_OUTPUT_MIB * MIB)
    return await asyncio.to_thread(_document, answer)


async def reader_warm_up(count: int = 1) -> None:
    """Have reader processes ready before the first file; one that does not start is no matter before that."""
    with contextlib.suppress(ReaderGoneError, OSError):
        _idle.extend([await _idle_reader() for _ in range(count)])


async def ask_reader(request: Mapping[str, Any], *, timeout_s: float, max_bytes: int) -> bytes:
    """What a child of a reader process answers. Raises DocumentUnreadableError, ReaderGoneError."""
    try:
        return await _ask(request, timeout_s, max_bytes)
    except ReaderGoneError:  # it may have died while it had nothing to do
        return await _ask(request, timeout_s, max_bytes)


async def _ask(request: Mapping[str, Any], timeout_s: float, max_bytes: int) -> bytes:
    reader = await _idle_reader()
    try:
        answer = await asyncio.to_thread(reader.read, request, timeout_s=timeout_s, max_bytes=max_bytes)
    except DocumentUnreadableError:
        _idle.append(reader)
        raise
    except BaseException:  # cancelled, or gone: the file must not be read on
        reader.close()
        raise
    _idle.append(reader)
    return answer


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
                start_new_session=True,
            )

    @property
    def is_usable(self) -> bool:
        """False: it has died, or belongs to the process that we were forked from."""
        return self._owner == os.getpid() and self._process.poll() is None

    def wait_ready(self) -> None:
        """Raises ReaderGoneError."""
        self._socket.settimeout(START_TIMEOUT_S)
        self._received(READY)

    def read(self, request: Mapping[str, Any], *, timeout_s: float, max_bytes: int) -> bytes:
        """The child's whole answer. Raises DocumentUnreadableError, ReaderGoneError."""
        deadline = time.monotonic() + timeout_s
        ours, theirs = os.pipe()
        with open(ours, "rb", buffering=0) as pipe:  # noqa: PTH123 - a descriptor
            try:
                socket.send_fds(self._socket, [json.dumps(request).encode()], [theirs])
            except OSError as error:
                raise ReaderGoneError from error
            finally:
                os.close(theirs)
            answer, refusal = _drained(pipe.fileno(), deadline, max_bytes)
        head = _head(answer) if not refusal else {}
        status = self._end(load_chinese=bool(head.get("chinese_loaded")))
        if refusal or status == -signal.SIGXCPU:
            raise DocumentUnreadableError(refusal or _too_slow(request["bounds"]["cpu_s"]))
        if "unreadable" in head:
            raise DocumentUnreadableError(Sentence(head["unreadable"], head["wording"]))
        if not head:
            raise DocumentUnreadableError(DAMAGED)
        return answer

    def close(self) -> None:
        """End it, and with it the child that it may have."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._process.kill()
        self._process.wait()
        self._socket.close()

    def give_up(self) -> None:
        """Let go of one that is not usable; one that belongs to the process that we were forked from lives on."""
        if self._owner == os.getpid():
            self.close()
        else:
            self._socket.close()

    def _end(self, *, load_chinese: bool) -> int:
        """The child's exit status."""
        self._socket.settimeout(END_TIMEOUT_S)
        try:
            self._socket.sendall(END_LOAD_CHINESE if load_chinese else END)
        except OSError as error:
            raise ReaderGoneError from error
        return int(self._received())

    def _received(self, expected: bytes = b"") -> bytes:
        try:
            data = self._socket.recv(PIECE_BYTES)
        except OSError as error:
            raise ReaderGoneError from error
        if not data or (expected and data != expected):
            raise ReaderGoneError
        return data


_idle: deque[_Reader] = deque()


async def _idle_reader() -> _Reader:
    while _idle:
        reader = _idle.pop()
        if reader.is_usable:
            return reader
        reader.give_up()
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
        reader = _idle.pop()
        if reader.is_usable:
            reader.close()


def _drained(descriptor: int, deadline: float, max_bytes: int) -> tuple[bytes, str]:
    """What comes until the other side is closed, or the reason why that was not waited for."""
    answer = bytearray()
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    begun = time.monotonic()
    while True:
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not poll.poll(left_s * 1000):
            return b"", worded(
                "Reading the file was not done after {timeout_s:.0f} s: the machine was busy; read it again later.",
                timeout_s=deadline - begun,
            )
        piece = os.read(descriptor, PIECE_BYTES)
        if not piece:
            return bytes(answer), ""
        answer += piece
        if len(answer) > max_bytes:
            return b"", worded(
                "The text taken from the file is larger than {limit} MiB; split it.", limit=max_bytes // MIB
            )


def _head(answer: bytes) -> dict[str, Any]:
    """The first line; nothing where the child died before it was written to its end."""
    line, end, _ = answer.partition(b"\n")
    return dict(json.loads(line)) if end else {}


def _too_slow(cpu_s: float) -> str:
    return worded(
        "Reading the file took longer than {timeout_s:.0f} s; split it or save it more simply.", timeout_s=cpu_s
    )


def _document(answer: bytes) -> ReadDocument:
    head, *lines = answer.splitlines()
    fields = json.loads(head)
    chunks, parts = fields.pop("chunk_count"), fields.pop("part_count")
    if answer.count(b"\n") != chunks + parts + 1:  # the child died before its end
        raise DocumentUnreadableError(DAMAGED)
    del fields["chinese_loaded"]
    return ReadDocument(
        **fields,
        chunks=tuple(TextChunk(**json.loads(line)) for line in lines[:chunks]),
        parts=tuple(_part(json.loads(line)) for line in lines[chunks:]),
    )


def _part(fields: dict[str, Any]) -> DocumentPart:
    return DocumentPart(**{**fields, "blocks": tuple(fields["blocks"]), "lines": tuple(fields["lines"])})
