"""What the benchmarks share: a table, and `--json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

Row = Mapping[str, object]


def show(rows: Sequence[Row], *, as_json: bool, notes: Sequence[str] = ()) -> None:
    """rows: the same keys in each; numbers are rounded to what can be told apart."""
    if as_json:
        print(json.dumps({"rows": list(rows), "notes": list(notes)}, ensure_ascii=False, indent=2))
        return
    names = list(rows[0]) if rows else []
    columns = [[name, *(_cell(row.get(name)) for row in rows)] for name in names]
    texts = [any(isinstance(row.get(name), str) for row in rows) for name in names]
    widths = [max(map(len, column)) for column in columns]
    for line in zip(*columns, strict=True):
        cells = zip(line, widths, texts, strict=True)
        print(
            "  ".join(
                cell.ljust(width) if text else cell.rjust(width) for cell, width, text in cells
            )
        )
    for note in notes:
        print(note)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"
