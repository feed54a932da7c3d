"""Tables as people make them, written to files of several kinds, with questions that one row of each answers."""

from __future__ import annotations

import csv
import html
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import docx
import openpyxl
import pptx
from pptx.util import Inches

CONVERSION_S = 300  # of all files of a kind, by LibreOffice


class Cell(NamedTuple):
    """rows, columns: that it spans. number_format: of a number in a workbook. inner: rows of a table in it."""

    text: str | float
    rows: int = 1
    columns: int = 1
    number_format: str = ""
    inner: Sequence[Sequence[str]] = ()


class Question(NamedTuple):
    """kind: of file that is asked. row: what names the row of the value. named_value: what a row says of it."""

    kind: str
    text: str
    row: str
    named_value: str


@dataclass(frozen=True, slots=True)
class Table:
    """head: how many rows name the columns."""

    name: str
    caption: str
    rows: Sequence[Sequence[Cell | str | float]]
    questions: Sequence[Question]
    head: int = 1
    beside: Sequence[Sequence[str]] = field(default=())  # another table on its right
    below: Sequence[Sequence[str]] = field(default=())  # another one after an empty row

    @property
    def cells(self) -> list[list[Cell]]:
        return [
            [cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in self.rows
        ]

    @property
    def width(self) -> int:
        return sum(cell.columns for cell in self.cells[0])


def placed(table: Table) -> Iterator[tuple[int, int, Cell]]:
    """(row, column, cell), from 0."""
    taken: set[tuple[int, int]] = set()
    for row, cells in enumerate(table.cells):
        column = 0
        for cell in cells:
            while (row, column) in taken:
                column += 1
            yield row, column, cell
            taken |= {
                (row + down, column + right)
                for down in range(cell.rows)
                for right in range(cell.columns)
            }
            column += cell.columns


# ------------------------------------------------------------------------------------------------ writers
def write_docx(table: Table, path: Path) -> None:
    document = docx.Document()
    document.add_paragraph(table.caption)
    grid = document.add_table(rows=len(table.rows), cols=table.width)
    grid.style = "Table Grid"
    for row, column, cell in placed(table):
        target = grid.cell(row, column)
        if cell.rows > 1 or cell.columns > 1:
            target = target.merge(grid.cell(row + cell.rows - 1, column + cell.columns - 1))
        target.text = str(cell.text)
        if cell.inner:
            inner = target.add_table(rows=len(cell.inner), cols=len(cell.inner[0]))
            for at, line in enumerate(cell.inner):
                for across, text in enumerate(line):
                    inner.cell(at, across).text = text
    document.save(str(path))


def write_html(table: Table, path: Path) -> None:
    lines = []
    for number, cells in enumerate(table.cells):
        tag = "th" if number < table.head else "td"
        written = [
            f"<{tag} rowspan={cell.rows} colspan={cell.columns}>{html.escape(str(cell.text))}"
            f"{_inner_html(cell.inner)}</{tag}>"
            for cell in cells
        ]
        lines.append(f"<tr>{''.join(written)}</tr>")
    page = f"<!doctype html><meta charset=utf-8><p>{html.escape(table.caption)}</p><table>{''.join(lines)}</table>"
    path.write_text(page, encoding="utf-8")


def _inner_html(rows: Sequence[Sequence[str]]) -> str:
    lines = ["".join(f"<td>{html.escape(text)}</td>" for text in row) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>" if rows else ""


def write_pptx(table: Table, path: Path) -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = table.caption
    shape = slide.shapes.add_table(
        len(table.rows), table.width, Inches(1), Inches(2), Inches(8), Inches(3)
    )
    for row, column, cell in placed(table):
        target = shape.table.cell(row, column)
        if cell.rows > 1 or cell.columns > 1:
            target.merge(shape.table.cell(row + cell.rows - 1, column + cell.columns - 1))
        target.text = str(cell.text)
    presentation.save(str(path))


def write_xlsx(table: Table, path: Path) -> None:
    workbook = openpyxl.Workbook()
    sheet: Any = workbook.active
    sheet.title = table.name
    sheet.cell(1, 1, table.caption)
    first = 3
    for row, column, cell in placed(table):
        target = sheet.cell(first + row, 1 + column, cell.text)
        if cell.number_format:
            target.number_format = cell.number_format
        if cell.rows > 1 or cell.columns > 1:
            sheet.merge_cells(
                start_row=first + row,
                start_column=1 + column,
                end_row=first + row + cell.rows - 1,
                end_column=column + cell.columns,
            )
    for number, line in enumerate(table.beside):
        for across, text in enumerate(line):
            sheet.cell(first + number, table.width + 2 + across, text)
    for number, line in enumerate(table.below):
        for across, text in enumerate(line):
            sheet.cell(first + len(table.rows) + 1 + number, 1 + across, text)
    workbook.save(path)


def write_csv(table: Table, path: Path) -> None:
    """As a German Excel writes it, with a title line."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow([table.caption])
        writer.writerow([])
        writer.writerows([[cell.text for cell in row] for row in table.cells])
        if table.below:
            writer.writerow([])
            writer.writerows(table.below)


def convert(sources: Sequence[Path], kind: str, folder: Path) -> None:
    """With LibreOffice, in one go."""
    command = [
        "soffice",
        "--headless",
        "--convert-to",
        kind,
        "--outdir",
        str(folder),
        *map(str, sources),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=CONVERSION_S)


WRITERS = {
    "docx": write_docx,
    "html": write_html,
    "pptx": write_pptx,
    "xlsx": write_xlsx,
    "csv": write_csv,
}
SAVED_AGAIN = ("docx", "pptx", "xlsx")
PDF = "pdf"


def write_files(tables: Sequence[Table], folder: Path) -> list[Question]:
    """The questions whose files could be written: PDFs need LibreOffice, which, where it is installed, saves the other
    Office files once more, as it does."""
    has_office = shutil.which("soffice") is not None
    kinds = [kind for kind in (*WRITERS, PDF) if has_office or kind != PDF]
    with tempfile.TemporaryDirectory() as first:
        for kind in kinds:
            asked = [
                table
                for table in tables
                if any(question.kind == kind for question in table.questions)
            ]
            written = "docx" if kind == PDF else kind
            again = has_office and kind in (*SAVED_AGAIN, PDF)
            target = Path(first) if again else folder
            paths = [target / f"{table.name}-{kind}.{written}" for table in asked]
            for table, path in zip(asked, paths, strict=True):
                WRITERS[written](table, path)
            if again:
                convert(paths, kind, folder)
    return [question for table in tables for question in table.questions if question.kind in kinds]
