"""A table's rows as text, and back."""

from __future__ import annotations

import pytest

from retrieval.text.labelled_rows import cells_of, labelled_row

COLUMNS = ("Name", "Fee", "", "Open: from")


@pytest.mark.parametrize(
    "cells",
    [
        ["Mei", "5", "", "Monday"],
        ["", "5", "", ""],
        ["Mei; Lea", "5: five", "", "at 8: sharp"],
        ["<b>Mei</b>", "", "", ""],
    ],
)
def test_what_is_written_as_a_row_is_read_back(cells: list[str]) -> None:
    assert cells_of(labelled_row(COLUMNS, cells), COLUMNS) == cells


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("Name: Mei; 5; Fee: 7", ["Mei; 5", "7", "", ""]),  # a cell without a name belongs to the one before it
        ("Fee: 7; Name: Mei", ["", "7; Name: Mei", "", ""]),  # a name that stands before is a word of the cell
        ("no row at all", ["no row at all", "", "", ""]),
        ("", ["", "", "", ""]),
    ],
)
def test_what_is_no_whole_row_loses_no_word(line: str, cells: list[str]) -> None:
    assert cells_of(line, COLUMNS) == cells
