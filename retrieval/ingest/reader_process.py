"""`python -m retrieval.ingest.reader_process SOCKET PARENT`: reads files, each in a forked child with limits.

The parsers are loaded once, so that a small file costs a fork and not the start of an interpreter. The process serves
one worker, over a socket that it inherits, and dies with it; a child dies with this process.

    worker ─► {"task", "path", …}, and the write end of a pipe    fork ─► child: limits, read, answer into the pipe
    worker ─► `end`, having the whole answer, or enough of it     the child's process group is killed
    worker ◄─ the child's exit status

The answer begins with a line of JSON, `{"unreadable": reason}` where there is no other. Task "document": the document
without its chunks and parts and how many these are; then each of them on a line. "page": where texts stand on a page.
"picture": how many bytes follow, and those. Plain Python without Django.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import IO, Any

from ragsite.core.wording import wording_of
from ragsite.runtime.die_with_parent import die_with_parent
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest import pdf_page
from retrieval.ingest.chunking import ChunkSize
from retrieval.ingest.limits import MIB, ParseLimits
from retrieval.ingest.reading import read_document
from retrieval.text.analysis import analyze, warm_up
from retrieval.text.language import chinese_variant

MESSAGE_BYTES = 64 * 1024
READY, END, END_LOAD_CHINESE = b"ready", b"end", b"end, load Chinese"
ROWS = ("chunks", "parts")  # of a document: a line each
CPU_GRACE_S = 5  # between the signal that can be caught and the one that can't


def main(descriptor: str, parent: str) -> None:
    """Serve one worker until its socket closes. descriptor: the inherited socket; parent: the worker's process id."""
    die_with_parent(int(parent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # our worker decides
    analyze("books")
    pdf_page.warm_up()
    _freeze()
    with socket.socket(fileno=int(descriptor)) as worker:
        worker.sendall(READY)
        while _serve(worker):
            pass


def _serve(worker: socket.socket) -> bool:
    """One file. False: the worker is gone."""
    data, descriptors, _, _ = socket.recv_fds(worker, MESSAGE_BYTES, 1)
    if not data:
        return False
    (answer,) = descriptors
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        worker.close()
        os._exit(_read(json.loads(data), answer, parent))
    os.close(answer)
    with contextlib.suppress(OSError):  # the child does the same; it does not matter which comes first
        os.setpgid(child, child)
    end = worker.recv(MESSAGE_BYTES)
    with contextlib.suppress(ProcessLookupError, PermissionError):  # PermissionError: macOS, for a zombie
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not end:
        return False
    worker.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    if end == END_LOAD_CHINESE and not is_chinese_loaded():
        load_chinese()
    return True


def _read(request: Mapping[str, Any], answer: int, parent: int) -> int:
    """In the child. The exit status: 0 when it has answered."""
    try:
        die_with_parent(parent)
        os.setpgid(0, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # no warnings of parsers in the log
        _limit(**request["bounds"])
        with os.fdopen(answer, "wb") as output:
            try:
                TASKS[request["task"]](request, output)
            except DocumentUnreadableError as error:
                _line(output, {"unreadable": error.message, "wording": wording_of(error.message)})
    except BaseException:  # noqa: BLE001 - a forked child must never return into its parent's code
        return 1
    return 0


def _limit(*, memory_mib: int, cpu_s: int) -> None:
    """memory_mib: of address space, what this process has loaded included."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_mib * MIB, memory_mib * MIB))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + CPU_GRACE_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _document(request: Mapping[str, Any], output: IO[bytes]) -> None:
    document = read_document(
        Path(request["path"]),
        kind=request["kind"],
        limits=ParseLimits(**request["limits"]),
        size=ChunkSize(**request["size"]),
        max_chunks=request["max_chunks"],
        summary_tokens=request["summary_tokens"],
    )
    head = {field.name: getattr(document, field.name) for field in fields(document) if field.name not in ROWS}
    counts = {"chunk_count": len(document.chunks), "part_count": len(document.parts)}
    _line(output, {**head, **counts, "chinese_loaded": is_chinese_loaded()})
    rows: tuple[Any, ...] = (*document.chunks, *document.parts)
    for row in rows:
        _line(output, asdict(row))


def _page(request: Mapping[str, Any], output: IO[bytes]) -> None:
    try:
        view = pdf_page.page_view(Path(request["path"]), request["page"], request["quotes"])
    except LookupError:
        _line(output, {"missing": True})
    else:
        _line(output, view.as_dict())


def _picture(request: Mapping[str, Any], output: IO[bytes]) -> None:
    try:
        picture = pdf_page.page_picture(Path(request["path"]), request["page"], request["width"])
    except LookupError:
        _line(output, {"missing": True})
    else:
        _line(output, {"bytes": len(picture)})
        output.write(picture)


def _line(output: IO[bytes], data: Mapping[str, Any]) -> None:
    output.write(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace") + b"\n")


TASKS = {"document": _document, "page": _page, "picture": _picture}


def load_chinese() -> None:
    """The dictionaries of Chinese: half a second, and 50 MiB that a site without Chinese documents need not have."""
    warm_up()
    chinese_variant("圖書館")
    _freeze()


def is_chinese_loaded() -> bool:
    """Whether this process has the dictionaries of Chinese."""
    return "jieba" in sys.modules


def _freeze() -> None:
    """The garbage collector would write to the pages that children share with us."""
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    main(*sys.argv[1:])
