"""Ingest: which share of the time is neither embedding nor writing to the index.

    python -m benchmarks.ingest [--documents 40] [--paragraphs 30] [--json]

Made Markdown files go through `manage.py ingest` on a fresh site in a temporary folder, with the model server that the
environment names, else with the model-free embedder. Each stage's time is what the ingest itself notes down.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections import Counter
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from benchmarks.tables import show

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


def run(files: Path) -> tuple[dict[str, float], int, float]:
    """Seconds per stage, chunks made, seconds in all."""
    import django
    from django.core.management import call_command

    django.setup()
    from retrieval.models import Chunk, IngestJob

    call_command("migrate", verbosity=0)
    begun = time.perf_counter()
    with redirect_stderr(StringIO()):  # its progress bar
        call_command("ingest", str(files), collection="benchmark", stdout=StringIO())
    elapsed = time.perf_counter() - begun
    stages: Counter[str] = Counter()
    for timings in IngestJob.objects.values_list("timings_ms", flat=True):
        stages.update(timings)
    return {stage: ms / 1000 for stage, ms in stages.items()}, Chunk.objects.count(), elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--paragraphs", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ragsite-benchmark-") as folder:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "ragsite.settings", "RAGSITE_DATA_DIR": folder, "DATABASE_URL": ""}
        files = Path(folder) / "files"
        files.mkdir()
        write_files(files, options.documents, options.paragraphs)
        stages, chunks, elapsed = run(files)
    total = stages.pop("total")
    needed = sum(stages[name] for name in NEEDED)
    stages["bookkeeping"] = total - sum(stages.values())
    rows = [{"stage": name, "s": seconds, "share": seconds / total} for name, seconds in stages.items()]
    rows.append({"stage": "over embed + index", "s": total - needed, "share": (total - needed) / needed})
    notes = [
        f"{options.documents} documents, {chunks} chunks, {chunks / total:.0f} chunks/s; {elapsed:.1f} s with start-up"
    ]
    show(rows, as_json=options.json, notes=notes)


if __name__ == "__main__":
    main()
