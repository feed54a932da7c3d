"""CSV files and their kin, whatever stands between their cells."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from retrieval.engine.errors import DocumentUnreadableError
from retrieval.engine.text.statements import cells_of
from retrieval.knowledge.ingest.sheets import delimited
from retrieval.knowledge.ingest.sheets.delimited import parse_csv


def lines(text: str, encoding: str = "utf-8") -> list[str]:
    return parse_csv(text.encode(encoding)).text.split("\n")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_any_delimiter_in_use_is_found(delimiter: str) -> None:
    rows = [("Name", "Phone", "Room"), ("Porter", "555-0191", "Oak"), ("Nurse", "555-0134", "Elm")]
    text = "\n".join(map(delimiter.join, rows))
    assert lines(text)[1:] == [
        "Name: Porter; Phone: 555-0191; Room: Oak",
        "Name: Nurse; Phone: 555-0134; Room: Elm",
    ]


def test_a_line_that_names_the_delimiter_is_no_row() -> None:
    assert lines("sep=;\r\nName;Phone\r\nPorter;555\r\n", "utf-16") == [
        "Name | Phone",
        "Name: Porter; Phone: 555",
    ]


def test_a_column_of_sentences_stays_whole() -> None:
    sentences = [
        "Notice",
        "The kiosk, near gate 3, is closed; back in May",
        "The lift, near gate 5, works; call 311",
    ]
    assert lines("\n".join(sentences)) == sentences


def test_decimal_commas_do_not_part_cells() -> None:
    text = "Item;Price;Weight\nBolt;0,12;1,5\nDrill;3,95;2,25\nGlue;11,50;0,75\n"
    assert lines(text)[2] == "Item: Drill; Price: 3,95; Weight: 2,25"


def test_quoted_cells_hold_delimiters_and_line_ends() -> None:
    text = 'Item,Remark\n"Drill\n8 mm","old, sold"\nBolt,new\nGlue,"dry, cool"\n'
    assert lines(text)[1:] == [
        "Item: Drill 8 mm; Remark: old, sold",
        "Item: Bolt; Remark: new",
        "Item: Glue; Remark: dry, cool",
    ]


def test_words_of_a_cell_are_not_taken_for_another_column() -> None:
    columns = ("Item", "Remark", "Price")
    cells = ["Anchor", "old; Price: 1, sold", "95"]
    line = lines('Item,Remark,Price\nAnchor,"old; Price: 1, sold",95\nBuoy,new,40\n')[1]
    assert line == 'Item: Anchor; Remark: "old; Price: 1, sold"; Price: 95'
    assert cells_of(line, columns) == cells


def test_lines_above_the_head_are_the_tables_caption() -> None:
    document = parse_csv(
        b"Stock of the harbour\nas of May\n\nItem;Store;Count\nRope;Hall 2;40\nBuoy;Hall 3;7\n"
    )
    assert document.text.split("\n")[-1] == "Item: Buoy; Store: Hall 3; Count: 7"
    assert "Stock of the harbour" in document.text


def test_too_many_cells_are_refused() -> None:
    with (
        patch.multiple(delimited, MAX_CELLS=100),
        pytest.raises(DocumentUnreadableError, match="cells"),
    ):
        parse_csv(b"a,b\n" * 100)
