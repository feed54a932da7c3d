"""The process that reads files: what it gives, what ends it, and that nothing is read anywhere else."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest import reader
from retrieval.knowledge.ingest.chunk_size import ChunkSize
from retrieval.knowledge.ingest.read_document import ReadDocument
from retrieval.knowledge.ingest.reader import Bounds, read_file
from retrieval.knowledge.ingest.reading import read_document
from tests.processes import alive, descendants, wait_until
from tests.retrieval.knowledge.ingest.files import docx_bytes, pdf_bytes, pptx_bytes, xlsx_bytes

SIZE = ChunkSize(80, 10, "word_pieces")
TEXT = "# Loans\n\n" + "\n\n".join(
    f"第{n}条 Students may borrow {n} books for four weeks.\n借阅图书。" for n in range(40)
)
LONG = b"Students may borrow ten books. " * 400_000  # seconds of work


async def read(
    tmp_path: Path, data: bytes, name: str = "a.md", size: ChunkSize = SIZE, **numbers: Any
) -> ReadDocument:
    path = tmp_path / f"stored{Path(name).suffix}"
    path.write_bytes(data)
    with patch.multiple(reader, BOUNDS=Bounds(**numbers)):
        return await read_file(path, file_name=name, size=size)


def fork_servers() -> list[int]:
    return [pid for pid, command in descendants(os.getpid()).items() if "forkserver" in command]


async def test_document_comes_out_as_it_was_read(tmp_path: Path) -> None:
    read_there = await read(tmp_path, TEXT.encode())
    read_here = read_document(tmp_path / "stored.md", kind="markdown", size=SIZE)
    assert read_there == read_here
    assert len(read_there.chunks) > 5 and read_there.title == "Loans" and read_there.summary


async def test_reader_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    await read(tmp_path, b"One.")
    with pytest.raises(DocumentUnreadableError, match="was not read within 0 s"):
        await read(tmp_path, LONG, "long.txt", timeout_s=0.2)
    assert wait_until(lambda: not any(map(descendants, fork_servers())), within_s=20)
    assert (await read(tmp_path, b"Two.")).chunks[0].text == "Two."


async def test_reader_that_takes_too_much_memory_takes_only_itself_along(tmp_path: Path) -> None:
    with pytest.raises(DocumentUnreadableError, match="needs more memory"):
        await read(tmp_path, LONG, "heavy.txt", memory_mib=16)
    assert (await read(tmp_path, b"Two.")).chunks[0].text == "Two."


async def test_reader_that_answers_too_much_is_not_listened_to(tmp_path: Path) -> None:
    with pytest.raises(DocumentUnreadableError, match="larger than 0 MiB"):
        await read(tmp_path, TEXT.encode(), output_mib=0)
    assert (await read(tmp_path, b"Two.")).chunks[0].text == "Two."


async def test_processor_time_ends_a_reader_whose_worker_does_not(tmp_path: Path) -> None:
    with pytest.raises(DocumentUnreadableError, match="longer than 1 s"):
        await read(tmp_path, LONG * 3, "long.txt", cpu_s=1)


async def test_cancelled_reading_ends_its_process(tmp_path: Path) -> None:
    await read(tmp_path, b"One.")
    task = asyncio.create_task(read(tmp_path, LONG, "long.txt"))
    assert await asyncio.to_thread(
        wait_until, lambda: any(map(descendants, fork_servers())), within_s=10
    )
    children = [child for pid in fork_servers() for child in descendants(pid)]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert wait_until(lambda: not any(map(alive, children)), within_s=20)


async def test_reader_that_was_killed_meanwhile_is_replaced(tmp_path: Path) -> None:
    await read(tmp_path, b"One.")
    servers = fork_servers()
    for pid in servers:
        os.kill(pid, signal.SIGKILL)
    assert servers and wait_until(lambda: not any(map(alive, servers)), within_s=20)
    assert (await read(tmp_path, b"Two.")).chunks[0].text == "Two."


def test_readers_die_with_their_worker(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One.")
    script = (
        "import asyncio, sys, time\nfrom pathlib import Path\n"
        "from retrieval.knowledge.ingest.chunk_size import ChunkSize\n"
        "from retrieval.knowledge.ingest.reader import read_file\n"
        "read = read_file(Path(sys.argv[1]), file_name='a.txt', size=ChunkSize(80, 10))\n"
        "asyncio.run(read)\nprint('read', flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "a.txt")], stdout=subprocess.PIPE
    ) as worker:
        assert worker.stdout is not None and worker.stdout.readline() == b"read\n"
        readers = list(descendants(worker.pid))
        worker.kill()
    assert readers and wait_until(lambda: not any(map(alive, readers)), within_s=20)


LOADED_WHILE_READING = """
import sys
from pathlib import Path
import retrieval.knowledge.ingest.reader_process
from retrieval.knowledge.ingest.chunk_size import ChunkSize
from retrieval.knowledge.ingest.reading import read_document
from retrieval.knowledge.ingest.sniff import kind_by_name
before = set(sys.modules)
for path in Path(sys.argv[1]).iterdir():
    read_document(path, kind=kind_by_name(path.name), size=ChunkSize(80, 10, "word_pieces"))
packages = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(packages - sys.stdlib_module_names))
"""


def test_no_fork_loads_a_library_that_the_server_could_have_loaded_once(tmp_path: Path) -> None:
    files = {
        "a.md": TEXT.encode(),
        "a.html": b"<h1>Loans</h1><p>Four weeks.</p>",
        "a.docx": docx_bytes(),
        "a.xlsx": xlsx_bytes({"Loans": [["books", "weeks"], [10, 4]]}),
        "a.pptx": pptx_bytes(),
        "a.pdf": pdf_bytes(["Students may borrow ten books."]),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    command = [sys.executable, "-c", LOADED_WHILE_READING, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
