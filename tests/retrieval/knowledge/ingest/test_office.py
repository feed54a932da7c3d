"""Workbooks and presentations: what is read of them, and what bounds the reading."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from retrieval.engine.errors import DocumentUnreadableError
from retrieval.engine.text.quoting import estimate_tokens
from retrieval.knowledge.ingest import office
from retrieval.knowledge.ingest.blocks import ParsedDocument
from retrieval.knowledge.ingest.chunking import Chunker
from retrieval.knowledge.ingest.reading import parse_file
from retrieval.knowledge.ingest.sniff import kind_by_name
from tests.retrieval.knowledge.ingest.files import pptx_bytes, replaced, xlsx_bytes, zip_bytes, zip_entries

LOANS = [("Group", "Books"), ("Staff", 20), ("Students", 10)]
SHEET = "xl/worksheets/sheet1.xml"


def read(tmp_path: Path, data: bytes, *, max_cells: int = 100_000) -> ParsedDocument:
    """In this process, for speed; that the reader process does the same is tested for one file of each kind."""
    path = tmp_path / "a.xlsx"
    path.write_bytes(data)
    with patch.multiple(office, MAX_CELLS=max_cells):
        return office.parse_xlsx(path)


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
    with pytest.raises(DocumentUnreadableError, match="more than 10,000 cells"):
        read(tmp_path, replaced(data, moved), max_cells=10_000)


def test_entities_that_multiply_are_refused(tmp_path: Path) -> None:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 9))
    bomb = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "words">{levels}]><worksheet>&e8;</worksheet>'
    data = xlsx_bytes({"Sheet": LOANS})
    with pytest.raises(SyntaxError):  # no entity is expanded; in a reader process the file counts as damaged
        read(tmp_path, zip_bytes(zip_entries(data) | {SHEET: bomb.encode()}))


# ------------------------------------------------------------------------------------------------ presentations
async def test_slides_are_pages_under_their_titles(tmp_path: Path) -> None:
    path = tmp_path / "a.pptx"
    path.write_bytes(pptx_bytes())
    document = parse_file(path, kind=kind_by_name("a.pptx"))
    assert [(block.page, block.kind, block.text) for block in document.blocks] == [
        (1, "heading", "Library rules"),
        (1, "paragraph", "Ten books.\n每逾期一天罚款一元。"),
        (1, "paragraph", "Notes: Mention the fines."),
        (2, "heading", "Loans"),
        (2, "table", "Group | Books | Weeks\nGroup: Staff; Books: unlimited; Weeks: unlimited"),
        (3, "heading", "Opening hours"),
        (3, "paragraph", "Nine to five."),
    ]
    assert (document.title, document.page_count) == ("Library rules", 3)
