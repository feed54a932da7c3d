"""Ingest: which share of the time is neither embedding nor writing to the index.

    python -m benchmarks.ingest [--documents 40] [--paragraphs 30] [--memory-after 100,1000] [--json]

Made Markdown files go through `manage.py ingest` on a fresh site in a temporary folder, with the model server that the
environment names, else with the model-free embedder; embedding and writing are timed where the ingest calls them. With
--memory-after the resident memory of this process, and of Milvus Lite, is read whenever so many documents are in (from
/proc, so on Linux).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from benchmarks.support.tables import show

NEEDED = ("embed", "index")  # the work that no ingest can do without
WORDS_PER_PARAGRAPH = 80


def write_files(folder: Path, documents: int, paragraphs: int) -> None:
    words = random.Random(0)
    for number in range(documents):
        parts = [f"# Document {number}"]
        for part in range(paragraphs):
            if part % 5 == 0:
                parts.append(f"## Section {part // 5}")
            parts.append(
                " ".join(f"word{int(words.paretovariate(0.6)) % 20_000}" for _ in range(WORDS_PER_PARAGRAPH)) + "."
            )
        (folder / f"document-{number}.md").write_text("\n\n".join(parts), encoding="utf-8")


def run(files: Path, read_memory_after: Sequence[int]) -> tuple[dict[str, float], int, float, list[str]]:
    """Seconds per stage and of all, chunks made, seconds with start-up, a line for each reading of the memory."""
    import django
    from django.core.management import call_command

    django.setup()
    from ragsite.runtime.milvus_lite import ensure_server
    from retrieval.engine.search.milvus.index import MilvusIndex
    from retrieval.knowledge.services import ingest
    from retrieval.models import Chunk

    stages: dict[str, float] = defaultdict(float)
    ingest.vectors_of = _timed(ingest.vectors_of, stages, "embed")
    setattr(MilvusIndex, "upsert", _timed(MilvusIndex.upsert, stages, "index"))  # noqa: B010 - mypy refuses the plain form
    ingest._work = _timed(ingest._work, stages, "total")
    call_command("migrate", verbosity=0)
    paths = sorted(map(str, files.iterdir()))
    begun = time.perf_counter()
    memory = []
    with redirect_stderr(StringIO()), ensure_server(os.environ["RAGSITE_DATA_DIR"]):  # stderr: its progress bar
        done = 0
        for upto in sorted({*(count for count in read_memory_after if count < len(paths)), len(paths)}):
            call_command("ingest", *paths[done:upto], collection="benchmark", stdout=StringIO())
            done = upto
            if read_memory_after:
                memory.append(f"after {done} documents: {_memory()}")
    elapsed = time.perf_counter() - begun
    return stages, Chunk.objects.count(), elapsed, memory


def _timed(work: Any, stages: dict[str, float], stage: str) -> Any:
    async def timed(*given: Any, **named: Any) -> Any:
        begun = time.perf_counter()
        try:
            return await work(*given, **named)
        finally:
            stages[stage] += time.perf_counter() - begun

    return timed


def _memory() -> str:
    state = json.loads((Path(os.environ["RAGSITE_DATA_DIR"]) / "run" / "milvus.json").read_text())
    return f"{_resident_mib(os.getpid())} MiB, and {_resident_mib(state['server_pid'])} MiB in Milvus Lite"


def _resident_mib(pid: int) -> int:
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--paragraphs", type=int, default=30)
    parser.add_argument("--memory-after", default="", help="numbers of documents, parted by commas")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ragsite-benchmark-") as folder:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "ragsite.settings", "RAGSITE_DATA_DIR": folder, "DATABASE_URL": ""}
        files = Path(folder) / "files"
        files.mkdir()
        write_files(files, options.documents, options.paragraphs)
        counts = [int(count) for count in options.memory_after.split(",") if count]
        stages, chunks, elapsed, memory = run(files, counts)
    total = stages.pop("total")
    needed = sum(stages[name] for name in NEEDED)
    stages["bookkeeping"] = total - sum(stages.values())
    rows = [{"stage": name, "s": seconds, "share": seconds / total} for name, seconds in stages.items()]
    rows.append({"stage": "over embed + index", "s": total - needed, "share": (total - needed) / needed})
    notes = [
        f"{options.documents} documents, {chunks} chunks, {chunks / total:.0f} chunks/s; {elapsed:.1f} s with start-up"
    ]
    show(rows, as_json=options.json, notes=notes + memory)


if __name__ == "__main__":
    main()
