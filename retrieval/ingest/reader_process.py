"""`python -m retrieval.ingest.reader_process SOCKET PARENT`: reads files, each in a forked child with limits.

The parsers are loaded once, so that a small file costs a fork and not the start of an interpreter. The process serves
one worker, over a socket that it inherits, and dies with it; a child dies with this process.

    worker ─► {"task", "path", …}, and the write end of a pipe    fork ─► child: limits, read, answer into the pipe
    worker ◄─ the child's exit status

The answer begins with a line of JSON: `{"bytes": n}`, and the n bytes follow; or `{"unreadable": reason}`, or
`{"missing": true}` for a page that is not there. Plain Python without Django.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ragsite.core.wording import wording_of
from ragsite.runtime.die_with_parent import die_with_parent
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest import pdf_page
from retrieval.ingest.chunking import ChunkSize
from retrieval.ingest.limits import MIB, ParseLimits
from retrieval.ingest.reading import read_document
from retrieval.text.analysis import warm_up
from retrieval.text.language import chinese_variant

MESSAGE_BYTES = 64 * 1024
CPU_GRACE_S = 5  # between the signal that can be caught and the one that can't
FAILED = 1  # exit status of a child


def main(descriptor: str, parent: str) -> None:
    """Serve one worker until its socket closes. descriptor: the inherited socket; parent: the worker's process id."""
    die_with_parent(int(parent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # our worker decides
    # What each child would load anew; the garbage collector would write to the pages that they share with us.
    warm_up()
    chinese_variant("圖書館")
    pdf_page.warm_up()
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(descriptor)) as worker:
        worker.sendall(b"ready")
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
    _, wait_status = os.waitpid(child, 0)
    status = os.waitstatus_to_exitcode(wait_status)
    worker.sendall(str(status).encode())
    return True


def _read(request: Mapping[str, Any], answer: int, parent: int) -> int:
    """In the child. The exit status."""
    try:
        die_with_parent(parent)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # no warnings of parsers in the log
        _limit(**request["bounds"])
        head, content = _answered(request)
        with os.fdopen(answer, "wb") as output:
            output.write(json.dumps(head, ensure_ascii=False).encode("utf-8", "replace") + b"\n" + content)
    except BaseException:  # noqa: BLE001 - a forked child must never return into its parent's code
        return FAILED
    return 0


def _answered(request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    try:
        content = TASKS[request["task"]](request)
    except DocumentUnreadableError as error:
        return {"unreadable": error.message, "wording": wording_of(error.message)}, b""
    except pdf_page.NoPageError:
        return {"missing": True}, b""
    return {"bytes": len(content)}, content


def _document(request: Mapping[str, Any]) -> bytes:
    document = read_document(
        Path(request["path"]),
        kind=request["kind"],
        limits=ParseLimits(**request["limits"]),
        size=ChunkSize(**request["size"]),
    )
    return json.dumps(asdict(document), ensure_ascii=False).encode("utf-8", "replace")


def _picture(request: Mapping[str, Any]) -> bytes:
    return pdf_page.page_picture(Path(request["path"]), request["page"], request["width"])


TASKS = {"document": _document, "picture": _picture}


def _limit(*, memory_mib: int, cpu_s: int) -> None:
    """memory_mib: of address space, what this process has loaded included."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_mib * MIB, memory_mib * MIB))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + CPU_GRACE_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main(*sys.argv[1:])
