"""What `openpyxl` does not tell when it reads row by row: merged and hidden cells, notes, text boxes, charts."""

from __future__ import annotations

import posixpath
import zipfile

from lxml import etree
from openpyxl.utils.cell import coordinate_to_tuple, range_boundaries

from ragsite.core.messages import worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import Block, table_block
from retrieval.knowledge.ingest.sheets.charts import chart_table
from retrieval.knowledge.ingest.sheets.sheet import MAX_COLUMNS, MAX_MERGED, MAX_NOTES, Sheet

PARSER = {"resolve_entities": False, "no_network": True, "huge_tree": False}
RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
RELATION_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
NEXT_THREAD = "{http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments}"
EMBEDDED = ("oleObject", "package")
CHARTS = ("chart", "chartEx")


def xml_part(archive: zipfile.ZipFile, part: str) -> etree._Element | None:
    """The root of a part; None where it is missing."""
    try:
        data = archive.read(part)
    except KeyError:
        return None
    return etree.fromstring(data, etree.XMLParser(**PARSER))


def _relations(archive: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Id → (last word of its type, part that it leads to), of those within the archive."""
    folder, name = posixpath.split(part)
    root = xml_part(archive, f"{folder}/_rels/{name}.rels")
    relations: dict[str, tuple[str, str]] = {}
    for relation in root.iter(RELATION) if root is not None else ():
        if relation.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", "")))
            kind = relation.get("Type", "").rpartition("/")[2]
            relations[relation.get("Id", "")] = (kind, target.lstrip("/"))
    return relations


def sheet_parts(archive: zipfile.ZipFile) -> dict[str, str]:
    """Of the visible ones, title → part."""
    books = [part for kind, part in _relations(archive, "/").values() if kind == "officeDocument"]
    book = books[0] if books else "xl/workbook.xml"
    root = xml_part(archive, book)
    relations = _relations(archive, book)
    parts: dict[str, str] = {}
    for sheet in root.iter("{*}sheet") if root is not None else ():
        relation = relations.get(sheet.get(RELATION_ID, ""))
        if relation is not None and sheet.get("state", "visible") == "visible":
            parts[sheet.get("name", "")] = relation[1]
    return parts


def read_layout(archive: zipfile.ZipFile, part: str, sheet: Sheet) -> None:
    """Merged cells, hidden rows and columns, and formulas without a stored value."""
    with archive.open(part) as source:
        number = 0
        told = 0  # hidden columns
        for _, element in etree.iterparse(source, events=("end",), **PARSER):
            match etree.QName(element).localname:
                case "c":
                    has_formula = element.find("{*}f") is not None
                    value = element.find("{*}v")
                    sheet.not_stored += (
                        has_formula
                        and (value is None or not value.text)
                        and element.get("t") != "str"
                    )
                case "row":
                    number = int(element.get("r", number + 1))
                    if _is_on(element.get("hidden")) or element.get("ht") == "0":
                        sheet.hidden_rows.add(number)
                    element.clear()
                case "col":
                    if _is_on(element.get("hidden")) or element.get("width") == "0":
                        last = min(int(element.get("max", "0")), MAX_COLUMNS)
                        columns = range(int(element.get("min", "0")), last + 1)
                        told += len(columns)
                        if told > MAX_COLUMNS:  # each has at most one width
                            raise DocumentUnreadableError(
                                worded("This workbook is damaged: its columns overlap.")
                            )
                        sheet.hidden_columns.update(columns)
                case "mergeCell" if len(sheet.merged) < MAX_MERGED:
                    left, first, right, last = range_boundaries(element.get("ref", "A1"))
                    sheet.merged.append((first, left, last, right))


def _is_on(value: str | None) -> bool:
    return value in ("1", "true")


def read_beside(archive: zipfile.ZipFile, part: str, sheet: Sheet) -> None:
    """What belongs to the sheet besides its cells: notes, text boxes, charts."""
    notes: dict[str, str] = {}
    for kind, target in _relations(archive, part).values():
        sheet.drawings += kind in EMBEDDED
        root = (
            xml_part(archive, target)
            if kind in ("comments", "threadedComment", "drawing")
            else None
        )
        if root is None:
            continue
        if kind == "drawing":
            _read_drawing(archive, target, root, sheet)
            continue
        threads: dict[str, list[str]] = {}
        for comment in root.iter("{*}comment", f"{NEXT_THREAD}threadedComment"):
            text = " ".join(
                " ".join(
                    piece.text or "" for piece in comment.iter("{*}t", f"{NEXT_THREAD}text")
                ).split()
            )
            threads.setdefault(comment.get("ref", ""), []).append(text)
        for place, texts in threads.items():
            if (
                kind == "threadedComment" or place not in notes
            ):  # the older form of a thread says only that it is one
                notes[place] = "\n".join(filter(None, texts))
    for place, text in list(notes.items())[:MAX_NOTES]:
        row, column = coordinate_to_tuple(place)
        if text and row not in sheet.hidden_rows and column not in sheet.hidden_columns:
            sheet.notes.append(f"{place}: {text}")


def _read_drawing(archive: zipfile.ZipFile, part: str, root: etree._Element, sheet: Sheet) -> None:
    for body in root.iter("{*}txBody"):
        lines = [
            "".join(text.text or "" for text in line.iter(f"{TEXT}t")).strip()
            for line in body.iter(f"{TEXT}p")
        ]
        if any(lines):
            sheet.texts.append(Block(text="\n".join(filter(None, lines))))
    for kind, target in _relations(archive, part).values():
        sheet.pictures += kind == "image"
        sheet.drawings += kind == "diagramData"
        chart = xml_part(archive, target) if kind == "chart" else None
        table = chart_table(chart) if chart is not None else None
        if table is not None:
            sheet.texts.append(table_block(table))
        sheet.charts += kind in CHARTS and table is None
