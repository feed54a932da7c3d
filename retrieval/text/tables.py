"""Rows of Markdown's tables, and rows as text that can be understood without the head: `Name: Mei; Books: 10`.

Spreadsheets and CSV files are read, searched and cited in this form, and shown as the table that they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

MOST_COLUMNS = 200  # of a table that is shown as one
CELL_END = "; "
NAME_END = ": "
HEAD_END = " | "
_CELL_BORDER = re.compile(r"(?<!\\)\|")


def head_line(columns: Sequence[str]) -> str:
    return HEAD_END.join(filter(None, columns))


def labelled_row(columns: Sequence[str], cells: Sequence[str]) -> str:
    """Empty cells are left out; a cell of a column without a name stands alone."""
    pairs = [
        f"{columns[at]}{NAME_END}{cell}" if at < len(columns) and columns[at] else cell
        for at, cell in enumerate(cells)
        if cell
    ]
    return CELL_END.join(pairs)


def cells_of(line: str, columns: Sequence[str]) -> list[str]:
    """The cells of a labelled row, one for each column; what has no name belongs to the cell before it."""
    cells = [""] * len(columns)
    at = -1
    for piece in line.split(CELL_END):
        later = enumerate(columns[at + 1 :], start=at + 1)
        named = next((column for column, name in later if name and piece.startswith(name + NAME_END)), None)
        if named is None:
            cells[max(at, 0)] += (CELL_END if cells[max(at, 0)] else "") + piece
        else:
            at = named
            cells[at] = piece[len(columns[at]) + len(NAME_END) :]
    return cells


def labelled_lines(lines: Sequence[str]) -> frozenset[int]:
    """Which lines are rows: they begin with a name that another one begins with, or that the head line holds."""
    firsts = [_first_name(line) for line in lines]
    count = Counter(firsts)
    head = set(lines[0].split(HEAD_END)) if lines and HEAD_END in lines[0] else set()
    return frozenset(at for at, name in enumerate(firsts) if name and (count[name] > 1 or name in head))


def _first_name(line: str) -> str:
    name, end, _ = line.lstrip().partition(NAME_END)
    return name if end else ""


# ------------------------------------------------------------------------------------------------ of Markdown
def is_row(line: str) -> bool:
    """Whether a line looks like a row of a table."""
    return line.lstrip().startswith("|")


def is_delimiter_row(line: str) -> bool:
    """`|---|:--:|`: what stands between a table's head and its rows."""
    return "--" in line and not line.strip().strip("|:- \t")


def row_cells(line: str) -> list[str]:
    """`| a | b \\| c |` → ["a", "b | c"]."""
    row = line.strip().removeprefix("|")
    cells = [cell.strip().replace("\\|", "|") for cell in _CELL_BORDER.split(row)]
    return cells[:-1] if len(cells) > 1 and not cells[-1] else cells
