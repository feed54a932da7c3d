"""Where the tables of a grid begin and end, and which rows name their columns."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest import tables
from retrieval.knowledge.ingest.blocks import table_block
from retrieval.knowledge.ingest.tables import SpannedCell, TableRow, grid_of, tables_of

Cells = Sequence[Sequence[str]]


def texts(*rows: Sequence[str], expects_head: bool = True) -> list[str]:
    width = max(map(len, rows))
    grid = [
        TableRow((*row, *[""] * (width - len(row))), number) for number, row in enumerate(rows, 1)
    ]
    return [table.text for table in tables_of(grid, expects_head=expects_head)]


def test_a_row_is_written_with_the_names_of_its_columns() -> None:
    assert texts(("Berth", "Fee"), ("A4", "310"), ("A5", "")) == [
        "Berth | Fee\nBerth: A4; Fee: 310\nBerth: A5"
    ]


def test_an_empty_row_begins_a_table_with_its_own_head() -> None:
    assert texts(
        ("Hall", "Chairs"), ("Blue", "90"), (), ("Janitor", "Phone"), ("Ferro", "4410")
    ) == [
        "Hall | Chairs\nHall: Blue; Chairs: 90",
        "Janitor | Phone\nJanitor: Ferro; Phone: 4410",
    ]


def test_rows_after_an_empty_one_keep_the_head_that_they_stand_under() -> None:
    assert (
        texts(("Zone", "Fare"), ("North", "3.50"), (), ("South", "2.75"))[1]
        == "Zone | Fare\nZone: South; Fare: 2.75"
    )


def test_names_below_figures_begin_another_table() -> None:
    rows = [
        ("Hall", "Chairs", "Rent"),
        ("Blue", "90", "40"),
        ("Janitor", "Phone", "Floor"),
        ("Ferro", "4410", "2"),
    ]
    assert texts(*rows)[1] == "Janitor | Phone | Floor\nJanitor: Ferro; Phone: 4410; Floor: 2"


def test_one_word_below_figures_is_a_cell() -> None:
    assert len(texts(("Hall", "Chairs"), ("Blue", "90"), ("Red", "closed"), ("Green", "30"))) == 1


def test_tables_beside_each_other_have_their_own_heads() -> None:
    rows = [
        ("Boat", "Fee", "", "Tutor", "Phone"),
        ("Canoe", "11", "", "Ada", "4411"),
        ("Kayak", "9", "", "Bo", "4412"),
    ]
    assert texts(*rows) == [
        "Boat | Fee\nBoat: Canoe; Fee: 11\nBoat: Kayak; Fee: 9",
        "Tutor | Phone\nTutor: Ada; Phone: 4411\nTutor: Bo; Phone: 4412",
    ]


@pytest.mark.parametrize(
    "head",
    [
        [("Boat", "Summer", "", "Winter", ""), ("", "Day", "Week", "Day", "Week")],
        [("Boat", "Summer", "Summer", "Winter", "Winter"), ("Boat", "Day", "Week", "Day", "Week")],
    ],
)
def test_a_head_of_two_rows_names_each_column_from_the_top(head: Cells) -> None:
    [text] = texts(*head, ("Canoe", "11", "52", "7", "33"))
    assert text.endswith(
        "Boat: Canoe; Summer · Day: 11; Summer · Week: 52; Winter · Day: 7; Winter · Week: 33"
    )


def test_a_line_above_a_table_is_its_caption() -> None:
    assert texts(("Fees of 2026",), ("Boat", "Fee"), ("Canoe", "11")) == [
        "Fees of 2026\nBoat | Fee\nBoat: Canoe; Fee: 11"
    ]


@pytest.mark.parametrize(("name", "cell"), [("2024", "14"), ("9:00", "Choir")])
def test_years_and_hours_name_columns(name: str, cell: str) -> None:
    assert texts(("Branch", name), ("Oslo", cell))[0].endswith(f"Branch: Oslo; {name}: {cell}")


def test_rows_of_values_have_no_head() -> None:
    assert texts(("North", "Single", "3.50 CHF"), ("South", "Day", "7.20 CHF")) == [
        "North | Single | 3.50 CHF\nSouth | Day | 7.20 CHF"
    ]


def test_a_form_of_words_has_no_head() -> None:
    assert texts(("Name", "Wanda"), ("Boat", "Laser"), expects_head=False) == [
        "Name | Wanda\nBoat | Laser"
    ]


def test_a_row_knows_its_number_in_the_program() -> None:
    grid = [
        TableRow(("Zone", "Fare"), 3),
        TableRow(("North", "4"), 4),
        TableRow(("", ""), 5),
        TableRow(("South", "5"), 6),
    ]
    assert [table.first_row for table in tables_of(grid)] == [4, 6]


def test_a_repeated_head_is_no_row() -> None:
    grid = [
        TableRow(("Zone", "Fare"), is_head=True),
        TableRow(("North", "4")),
        TableRow(("Zone", "Fare"), is_head=True),
        TableRow(("S", "5")),
    ]
    assert [table.text for table in tables_of(grid)] == [
        "Zone | Fare\nZone: North; Fare: 4",
        "Zone | Fare\nZone: S; Fare: 5",
    ]


def test_a_spanning_cell_stands_in_every_row_and_column_that_it_spans() -> None:
    rows = grid_of([
        [SpannedCell("Winter", rows=2), SpannedCell("Adult"), SpannedCell("11")],
        [SpannedCell("Child"), SpannedCell("5")],
        [SpannedCell("Summer"), SpannedCell("free", columns=2)],
    ])  # fmt: skip
    assert [row.cells for row in rows] == [
        ("Winter", "Adult", "11"),
        ("Winter", "Child", "5"),
        ("Summer", "free", "free"),
    ]


def test_a_cell_over_the_whole_width_names_the_rows_below_it() -> None:
    boats = [SpannedCell("Boat"), SpannedCell("Fee")]
    rows = grid_of(
        [boats, [SpannedCell("Lake", columns=2)], [SpannedCell("Canoe"), SpannedCell("11")]]
    )
    assert [table.text for table in tables_of(rows)] == ["Lake\nBoat | Fee\nBoat: Canoe; Fee: 11"]


def test_spans_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_GRID_CELLS", 1000)
    with pytest.raises(DocumentUnreadableError, match="more than 1,000 cells"):
        grid_of([[SpannedCell("x", rows=60_000, columns=60_000)]] * 10)


def test_a_grid_of_one_column_is_text() -> None:
    [table] = tables_of(
        [TableRow(("Notice",)), TableRow(("The kiosk, near gate 3, is closed; until May",))]
    )
    block = table_block(table)
    assert (block.kind, block.text) == (
        "paragraph",
        "Notice\nThe kiosk, near gate 3, is closed; until May",
    )
