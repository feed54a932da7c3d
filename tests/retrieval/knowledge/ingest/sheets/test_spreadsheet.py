"""Workbooks: what is read of them, and what bounds the reading."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import openpyxl
import pytest
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.styles import Font, PatternFill

from retrieval.engine.errors import DocumentUnreadableError
from retrieval.engine.text.quoting import estimate_tokens
from retrieval.knowledge.ingest.blocks import ParsedDocument
from retrieval.knowledge.ingest.chunking import Chunker
from retrieval.knowledge.ingest.reading import parse_file
from retrieval.knowledge.ingest.sheets import excel
from retrieval.knowledge.ingest.sniff import kind_by_name
from tests.retrieval.knowledge.ingest.files import replaced, xlsx_bytes, zip_bytes, zip_entries

LOANS = [("Group", "Books"), ("Staff", 20), ("Students", 10)]
SHEET = "xl/worksheets/sheet1.xml"


def read(tmp_path: Path, data: bytes, *, max_cells: int = 100_000) -> ParsedDocument:
    """In this process, for speed; that the reader process does the same is tested for one file of each kind."""
    path = tmp_path / "a.xlsx"
    path.write_bytes(data)
    with patch.multiple(excel, MAX_CELLS=max_cells):
        return excel.parse_xlsx(path)


# ------------------------------------------------------------------------------------------------ workbooks
async def test_workbook_is_read_sheet_by_sheet(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(xlsx_bytes({"借阅": LOANS, "Fines": [("Per day", 1)]}, title="Rules"))
    document = parse_file(path, kind=kind_by_name("a.xlsx"))
    assert [(block.kind, block.text) for block in document.blocks] == [
        ("heading", "借阅"),
        ("table", "Group | Books\nGroup: Staff; Books: 20\nGroup: Students; Books: 10"),
        ("heading", "Fines"),
        ("table", "Per day | 1"),
    ]
    assert (document.title, document.page_count) == ("Rules", None)


def test_every_chunk_of_a_long_table_names_its_columns(tmp_path: Path) -> None:
    rows = [("Student number", "Books on loan"), *((1000 + n, n) for n in range(120))]
    chunker = Chunker(chunk_tokens=120, overlap_tokens=16, count_tokens=estimate_tokens)
    chunks = chunker.split(read(tmp_path, xlsx_bytes({"Loans": rows})))
    assert len(chunks) > 5
    assert all("Student number" in chunk.text and "Books on loan" in chunk.text for chunk in chunks)
    assert {chunk.heading for chunk in chunks} == {"Loans"}


def test_formula_gives_its_stored_result(tmp_path: Path) -> None:
    data = xlsx_bytes({"Sheet": [("Group", "Books"), ("Staff", "=10*2"), ("Guests", "=1/0")]})
    stored = {SHEET: (b"<f>10*2</f><v></v>", b"<f>10*2</f><v>20</v>")}
    lines = read(tmp_path, replaced(data, stored)).text.split("\n")
    assert lines[-2:] == ["Group: Staff; Books: 20", "Group: Guests"]


def test_hidden_sheets_stay_hidden(tmp_path: Path) -> None:
    data = xlsx_bytes({"Loans": LOANS, "Salaries": [("Name", "Euro")]}, hidden="Salaries")
    assert "Euro" not in read(tmp_path, data).text


def test_declared_size_of_a_sheet_is_not_believed(tmp_path: Path) -> None:
    data = replaced(xlsx_bytes({"Sheet": LOANS}), {SHEET: (b'ref="A1:B3"', b'ref="A1:XFD1048576"')})
    assert len(read(tmp_path, data, max_cells=20).blocks) == 2


@pytest.mark.parametrize("reference", ["XFD1", "A1048576", "A99999999999"])
def test_cell_far_away_costs_no_more_than_the_limit(tmp_path: Path, reference: str) -> None:
    row = reference.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    data = xlsx_bytes({"Sheet": [("lonely",)]})
    moved = {SHEET: (b'<row r="1"><c r="A1"', f'<row r="{row}"><c r="{reference}"'.encode())}
    with pytest.raises(DocumentUnreadableError, match="cells; split it"):
        read(tmp_path, replaced(data, moved), max_cells=10_000)


def test_entities_that_multiply_are_refused(tmp_path: Path) -> None:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 9))
    bomb = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "words">{levels}]><worksheet>&e8;</worksheet>'
    data = xlsx_bytes({"Sheet": LOANS})
    with pytest.raises(
        SyntaxError
    ):  # no entity is expanded; in a reader process the file counts as damaged
        read(tmp_path, zip_bytes(zip_entries(data) | {SHEET: bomb.encode()}))


# ------------------------------------------------------------------------------------------------ what cells show
@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (9, '#,##0.00 "CHF"', "9.00 CHF"),
        (42, "0000", "0042"),
        (17, '"KEY-"000', "KEY-017"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (1234.5, r"_-* #,##0.00\ [$kr-41D]_-", "1,234.50 kr"),
        (0.075, "0.0%", "7.5%"),
        (-5, "#,##0;[Red](#,##0)", "(5)"),
        (0, '0;-0;"none"', "none"),
        (5551234567, "(###) ###-####", "(555) 123-4567"),
        (1_500_000, '0.0,,"M"', "1.5M"),
        (2.25, "# ?/?", "2 1/4"),
        (12345.678, "0.00E+00", "1.23E+04"),
        (150, '[>=100]"high "0;"low "0', "high 150"),
        (99.995, "0.00", "100.00"),
        (1, '"yes";"yes";"no"', "yes"),
        (0.1 + 0.2, "General", "0.3"),
        (1e-9, "#,##0.00", "0.00"),
        (dt.timedelta(days=1), '[h]:mm "h"', "24:00 h"),
        (dt.timedelta(seconds=90), "[mm]:ss", "01:30"),
        (dt.datetime(2026, 4, 1), "dd.mm.yyyy", "2026-04-01"),
        (dt.datetime(2026, 4, 1, 18, 5), "yyyy-mm-dd hh:mm", "2026-04-01 18:05"),
        (dt.datetime(2026, 4, 1), "mmm yyyy", "2026-04"),
        (dt.time(6, 30), "h:mm AM/PM", "06:30"),
        ("7", '"Room "@', "Room 7"),
        ("0042", "@", "0042"),
        (True, "General", "TRUE"),
    ],
)
def test_a_cell_is_read_as_it_is_shown(
    tmp_path: Path, value: object, code: str, shown: str
) -> None:
    data = xlsx_bytes({"Sheet": [("Name", "Value"), ("one", (value, code))]})
    assert read(tmp_path, data).text.split("\n")[-1] == f"Name: one; Value: {shown}"


def test_a_format_that_hides_a_value_hides_it(tmp_path: Path) -> None:
    data = xlsx_bytes({"Sheet": [("Name", "Value"), ("one", (4711, ";;;")), ("two", (3, "0"))]})
    assert "4711" not in read(tmp_path, data).text


# ------------------------------------------------------------------------------------------------ sheets
def workbook(rows: Sequence[Sequence[object]]) -> tuple[openpyxl.Workbook, Any]:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Plan"
    for row in rows:
        sheet.append(row)
    return book, sheet


def saved(book: openpyxl.Workbook) -> bytes:
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


ZONES = [("Zone", "Ticket", "Price"), ("North", "Day", 9), (None, "Week", 31), ("South", "Day", 8)]


def test_merged_cells_belong_to_every_row_that_they_span(tmp_path: Path) -> None:
    book, sheet = workbook(ZONES)
    sheet.merge_cells("A2:A3")
    assert "Zone: North; Ticket: Week; Price: 31" in read(tmp_path, saved(book)).text


def test_a_title_over_all_columns_is_the_tables_caption(tmp_path: Path) -> None:
    book, sheet = workbook([("Prices of 2026",), *ZONES])
    sheet.merge_cells("A1:C1")
    document = read(tmp_path, saved(book))
    assert document.blocks[1].table is not None
    assert document.blocks[1].table.caption == "Prices of 2026"
    assert document.text.count("Prices of 2026") == 1


def test_a_head_of_two_rows_names_each_column(tmp_path: Path) -> None:
    book, sheet = workbook(
        [("Boat", "Winter", None), (None, "Week", "Day"), ("Raft", 33, 7), ("Punt", 38, 8)]
    )
    sheet.merge_cells("B1:C1")
    sheet.merge_cells("A1:A2")
    assert "Boat: Punt; Winter · Week: 38; Winter · Day: 8" in read(tmp_path, saved(book)).text


def test_tables_below_and_beside_each_other_keep_their_heads(tmp_path: Path) -> None:
    book, _ = workbook([
        ("Room", "Seats", None, "Office", "Phone"),
        ("Oak", 12, None, "Porter", 5512),
        ("Elm", 30, None, "Desk", 5513),
        (),
        ("Keeper", "Shift"),
        ("Ode", "early"),
        ("Brand", "late"),
    ])  # fmt: skip
    lines = read(tmp_path, saved(book)).text.split("\n")
    assert {
        "Room: Oak; Seats: 12",
        "Office: Desk; Phone: 5513",
        "Keeper: Brand; Shift: late",
    } <= set(lines)


def test_hidden_rows_and_columns_stay_hidden(tmp_path: Path) -> None:
    book, sheet = workbook(
        [("Name", "Salary", "Room"), ("Ode", 4711, "Oak"), ("Brand", 4712, "Elm")]
    )
    sheet.column_dimensions["B"].hidden = True
    sheet.row_dimensions[3].hidden = True
    assert read(tmp_path, saved(book)).text.split("\n")[-1] == "Name: Ode; Room: Oak"


def test_white_words_on_white_stay_hidden_and_on_colour_are_read(tmp_path: Path) -> None:
    book, sheet = workbook([("Name", "Room"), ("Ode", "Oak"), ("Secret", "Elm")])
    white = Font(color="FFFFFFFF")
    sheet["A3"].font = white
    sheet["A1"].font = white
    sheet["A1"].fill = PatternFill("solid", fgColor="FF112233")
    text = read(tmp_path, saved(book)).text
    assert "Secret" not in text
    assert "Name: Ode; Room: Oak" in text


def test_a_formula_without_a_stored_value_is_said(tmp_path: Path) -> None:
    document = read(tmp_path, xlsx_bytes({"Plan": [("Group", "Books"), ("Staff", "=10*2")]}))
    assert [str(what) for what in document.unread] == [
        "1 formula without a stored value (sheet Plan)"
    ]


def test_notes_of_cells_are_read(tmp_path: Path) -> None:
    book, sheet = workbook([("Month", "Guests"), ("May", 40), ("June", 55)])
    sheet["B3"].comment = Comment("counted twice", "Ode")
    document = read(tmp_path, saved(book))
    assert [block.text for block in document.blocks if block.kind == "note"] == [
        "B3: counted twice"
    ]


def test_a_chart_without_stored_figures_is_said(tmp_path: Path) -> None:
    book, sheet = workbook([("Month", "Guests"), ("May", 40), ("June", 55)])
    for place in (sheet, book.create_chartsheet("Plot"), book.create_chartsheet("Draft")):
        chart = BarChart()
        chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
        place.add_chart(chart)
    book["Draft"].sheet_state = "hidden"
    document = read(tmp_path, saved(book))
    assert [str(what) for what in document.unread] == [
        "1 chart (sheet Plan)",
        "1 chart (sheet Plot)",
    ]


def test_an_error_that_a_cell_shows_is_read_as_its_value(tmp_path: Path) -> None:
    rows = [
        ("Site", "Visits", "Share"),
        ("Harbour", 40, 0.5),
        ("Pier", "#N/A", "#DIV/0!"),
        ("Mole", 12, 0.25),
    ]
    text = read(tmp_path, xlsx_bytes({"Sheet": rows})).text
    assert text.split("\n")[-2:] == [
        "Site: Pier; Visits: #N/A; Share: #DIV/0!",
        "Site: Mole; Visits: 12; Share: 0.25",
    ]


def test_rows_keep_the_numbers_that_their_program_shows(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        xlsx_bytes({"Sheet": [("Prices",), (), ("Name", "Fee"), ("Ode", 4), ("Brand", 5)]}),
    )
    [table] = [block.table for block in document.blocks if block.table is not None]
    assert table.first_row == 4


# ------------------------------------------------------------------------------------------------ OpenDocument
def ods_bytes(rows: str, *, styles: str = "", attributes: str = "") -> bytes:
    """A sheet of these rows, written as `<r>` with cells `<c>`; its other parts are left out."""
    body = rows.replace("<r", "<table:table-row").replace("</r>", "</table:table-row>")
    body = body.replace("<c", "<table:table-cell").replace("</c>", "</table:table-cell>")
    names = " ".join(
        f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{prefix}:1.0"'
        for prefix in ("office", "table", "text", "style")
    )
    names += ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
    content = (
        f"<office:document-content {names}><office:automatic-styles>{styles}</office:automatic-styles>"
        f'<office:body><office:spreadsheet><table:table table:name="Plan" {attributes}>{body}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    media_type = b"application/vnd.oasis.opendocument.spreadsheet"
    return zip_bytes({"mimetype": media_type, "content.xml": content.encode()})


def read_ods(tmp_path: Path, data: bytes) -> ParsedDocument:
    path = tmp_path / "a.ods"
    path.write_bytes(data)
    return parse_file(path, kind=kind_by_name("a.ods"))


ODS_HEAD = (
    "<r><c><text:p>Zone</text:p></c><c><text:p>Ticket</text:p></c><c><text:p>Price</text:p></c></r>"
)


def test_an_ods_file_is_read_as_it_is_shown(tmp_path: Path) -> None:
    rows = (
        '<r><c table:number-rows-spanned="2"><text:p>North</text:p></c><c><text:p>Day</text:p></c>'
        '<c office:value-type="float" office:value="9"><text:p>9.00 CHF</text:p></c></r>'
        "<r><c/><c><text:p>Week</text:p></c><c><text:p>31.00 CHF</text:p></c></r>"
        '<r table:visibility="collapse"><c><text:p>Secret</text:p></c><c/><c/></r>'
        '<r table:number-rows-repeated="1048000"><c table:number-columns-repeated="16000"/></r>'
    )
    document = read_ods(tmp_path, ods_bytes(ODS_HEAD + rows))
    assert document.text.split("\n")[-2:] == [
        "Zone: North; Ticket: Day; Price: 9.00 CHF", "Zone: North; Ticket: Week; Price: 31.00 CHF",
    ]  # fmt: skip


def test_what_is_anchored_in_an_ods_files_cells_is_read_or_said(tmp_path: Path) -> None:
    row = (
        "<r><c><text:p>North</text:p></c><c><office:annotation><text:p>until May</text:p></office:annotation>"
        "<text:p>Day</text:p><draw:custom-shape><text:p>Prices rise in June</text:p></draw:custom-shape></c>"
        "<c><text:p>9</text:p><draw:frame><draw:image/></draw:frame>"
        "<draw:frame><draw:object/><draw:image/></draw:frame></c></r>"
    )
    document = read_ods(tmp_path, ods_bytes(ODS_HEAD + row))
    assert [block.text for block in document.blocks[2:]] == ["Prices rise in June", "B2: until May"]
    assert [str(what) for what in document.unread] == [
        "1 picture without text (sheet Plan)",
        "1 drawing (sheet Plan)",
    ]


def test_a_formula_of_an_ods_file_without_a_stored_value_is_said(tmp_path: Path) -> None:
    row = '<r><c><text:p>North</text:p></c><c><text:p>Day</text:p></c><c table:formula="of:=[.A1]"/></r>'
    document = read_ods(tmp_path, ods_bytes(ODS_HEAD + row))
    assert [str(what) for what in document.unread] == [
        "1 formula without a stored value (sheet Plan)"
    ]


def test_an_ods_file_of_repeated_cells_costs_no_more_than_the_limit(tmp_path: Path) -> None:
    row = '<r table:number-rows-repeated="1000000"><c table:number-columns-repeated="16000"><text:p>x</text:p></c></r>'
    with pytest.raises(DocumentUnreadableError, match="cells"):
        read_ods(tmp_path, ods_bytes(row))
