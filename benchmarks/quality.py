"""Retrieval quality over all labelled sets of a folder: nDCG@10 of each leg and of hybrid search.

    python -m benchmarks.quality FOLDER [--sets a,b] [--limit N] [--stages dense,bm25,hybrid]
                                        [--traditional] [--json]

The baseline of hybrid search is the better of its legs. `--traditional` asks Chinese sets in Traditional characters as
well: the documents stay as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from benchmarks.tables import show

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
METRIC = "ndcg@10"


def evaluate(folder: Path, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    from django.core.management import call_command

    out = StringIO()
    more = ["--limit", str(options.limit)] if options.limit else []
    more += ["--stages", options.stages, "--json", "--no-decisions"]
    call_command("evaluate", str(folder), *more, stdout=out)
    return dict(json.loads(out.getvalue())["stages"])


@contextmanager
def in_traditional(folder: Path) -> Iterator[Path]:
    """The set with its questions in Traditional characters."""
    import opencc

    convert = opencc.OpenCC("s2t").convert
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / f"{folder.name} (Traditional)"
        copy.mkdir()
        for name in ("corpus.jsonl", "qrels.tsv"):
            (copy / name).symlink_to((folder / name).resolve())
        lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines if line.strip()]
        turned = [json.dumps({**row, "text": convert(row["text"])}) for row in rows]
        (copy / "queries.jsonl").write_text("\n".join(turned), encoding="utf-8")
        yield copy


def row(name: str, stages: dict[str, dict[str, float]]) -> dict[str, object]:
    values: dict[str, object] = {
        "set": name,
        **{stage: result[METRIC] * 100 for stage, result in stages.items()},
    }
    legs = [stages[leg][METRIC] for leg in ("dense", "bm25") if leg in stages]
    if legs and "hybrid" in stages:
        values["over better leg"] = (stages["hybrid"][METRIC] - max(legs)) * 100
        values["hybrid p50 ms"] = stages["hybrid"]["p50_ms"]
    return values


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", default="")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--stages", default="dense,bm25,hybrid")
    parser.add_argument("--traditional", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    import django

    django.setup()
    wanted = set(filter(None, options.sets.split(",")))
    rows = []
    for folder in sorted(path.parent for path in options.folder.glob("*/queries.jsonl")):
        if wanted and folder.name not in wanted:
            continue
        rows.append(row(folder.name, evaluate(folder, options)))
        if options.traditional and folder.name.endswith("_zh"):
            with in_traditional(folder) as copy:
                rows.append(row(copy.name, evaluate(copy, options)))
    show(
        rows,
        as_json=options.json,
        notes=["nDCG@10 in points; latency without embedding the question."],
    )


if __name__ == "__main__":
    main()
