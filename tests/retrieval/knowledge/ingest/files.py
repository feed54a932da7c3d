"""Files made for the tests: small, but real ones of their kind."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

import docx
import openpyxl
import pptx


def pdf_bytes(pages: Sequence[str], *, encrypted: bool = False, title: str = "") -> bytes:
    """A PDF with one page per text, each line of it a line on the page; "" makes a page without text.

    A line that begins with "# " is larger than the others, one with "** " is bold, without those marks; what follows a
    tab stands in the next column. Lines that
    Latin-1 does not hold are set in a Chinese font that the reader has to bring.
    """
    fonts = (b"Helvetica", b"Helvetica-Bold")
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    objects += [b"<< /Type /Font /Subtype /Type1 /BaseFont /%s >>" % font for font in fonts]
    objects += [
        b"<< /Type /Font /Subtype /Type0 /BaseFont /MSung-Light /Encoding /UniCNS-UCS2-H /DescendantFonts [6 0 R] >>",
        b"<< /Type /Font /Subtype /CIDFontType0 /BaseFont /MSung-Light /DW 1000"
        b" /CIDSystemInfo << /Registry (Adobe) /Ordering (CNS1) /Supplement 0 >> >>",
    ]
    kids = []
    for text in pages:
        lines = text.split("\n") if text else []
        stream = f"BT 60 760 Td {' '.join(map(_shown, lines))} ET".encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        kids.append(len(objects) + 1)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R >> >> >>" % len(objects)
        )
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (
        len(kids),
        b" ".join(b"%d 0 R" % kid for kid in kids),
    )
    trailer = b"/Root 1 0 R"
    if title:
        objects.append(b"<< /Title (%s) >>" % title.encode("latin-1"))
        trailer += b" /Info %d 0 R" % len(objects)
    if encrypted:
        key = b"<" + b"5a" * 32 + b">"  # no password fits it
        objects.append(b"<< /Filter /Standard /V 1 /R 2 /P -4 /O %s /U %s >>" % (key, key))
        trailer += b" /Encrypt %d 0 R /ID [<00112233><00112233>]" % len(objects)
    return _assembled(objects, trailer)


COLUMN = 160  # points


def _shown(line: str) -> str:
    cells = line.split("\t")
    if len(cells) > 1:
        across = f" {COLUMN} 20 Td ".join(_shown(cell) for cell in cells)
        return f"{across} {-COLUMN * (len(cells) - 1)} 0 Td"
    font = (
        "/F1 18 Tf"
        if line.startswith("# ")
        else "/F2 12 Tf"
        if line.startswith("** ")
        else "/F1 12 Tf"
    )
    text = line.removeprefix("# ").removeprefix("** ").replace("(", "").replace(")", "")
    if not text.isascii() and any(ord(character) > 255 for character in text):
        return f"/F3 {font.split()[1]} Tf <{text.encode('utf-16-be').hex()}> Tj 0 -20 Td"
    return f"{font} ({text}) Tj 0 -20 Td"


def _assembled(objects: Sequence[bytes], trailer: bytes) -> bytes:
    output = io.BytesIO()
    output.write(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(output.tell())
        output.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = output.tell()
    output.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    for offset in offsets:
        output.write(b"%010d 00000 n \n" % offset)
    output.write(
        b"trailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, trailer, start)
    )
    return output.getvalue()


def drawn_pdf(
    *streams: str,
    page: str = "",
    resources: str = "",
    catalog: str = "",
    objects: Sequence[str] = (),
) -> bytes:
    """A PDF with a page for each content stream; /F1 is Helvetica, /F2 its bold face. page, resources, catalog: more
    entries of each page, of its resources, and of the document; objects: what they refer to, numbered from 5."""
    first = 5 + len(objects)
    kids = range(first, first + 2 * len(streams), 2)
    references = " ".join(f"{kid} 0 R" for kid in kids)
    bodies = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>",
        f"<< /Type /Pages /Count {len(streams)} /Kids [{references}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>",
        *objects,
    ]
    for kid, stream in zip(kids, streams, strict=True):
        bodies.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {kid + 1} 0 R"
            f" /Resources << /Font << /F1 3 0 R /F2 4 0 R >> {resources} >> {page} >>"
        )
        bodies.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    return _assembled([body.encode("latin-1") for body in bodies], b"/Root 1 0 R")


def drawn_text(
    x: float, y: float, text: str, *, font: str = "/F1 10 Tf", turn: str = "1 0 0 1"
) -> str:
    """Of a content stream: a line of text. turn: the first four numbers of its matrix."""
    return f"BT {font} {turn} {x} {y} Tm ({text}) Tj ET"


def drawn_table(
    rows: Sequence[Sequence[str]],
    *,
    top: float = 700,
    left: float = 60,
    widths: Sequence[float] = (120, 90, 90),
    lines: bool = True,
    bold_head: bool = False,
    spans: Sequence[tuple[int, int, int, int]] = (),
) -> str:
    """Of a content stream: rows of 20 points. spans: (row, column, rows, columns) of the cells that are larger; the
    places that they cover stay without text and lines."""
    parts = []
    covered = {
        (row + down, column + across): (row, column, rows, columns)
        for row, column, rows, columns in spans
        for down in range(rows)
        for across in range(columns)
    }
    sides = [left]
    for width in widths:
        sides.append(sides[-1] + width)
    for number, row in enumerate(rows):
        for column, text in enumerate(row):
            first, at, down, across = covered.get((number, column), (number, column, 1, 1))
            if (first, at) != (number, column):
                continue
            foot = top - 20 * (number + down)
            width = sides[column + across] - sides[column]
            if lines:
                parts.append(f"{sides[column]} {foot} {width} {20 * down} re S")
            font = "/F2 10 Tf" if bold_head and not number else "/F1 10 Tf"
            parts.append(drawn_text(sides[column] + 4, foot + 6, text, font=font))
    return "\n".join(parts)


def docx_bytes() -> bytes:
    """Two headings, two paragraphs, and a table with a merged cell."""
    document = docx.Document()
    document.core_properties.title = "Library rules"
    document.add_heading("Loans", level=1)
    document.add_paragraph("Undergraduates may borrow ten books.")
    document.add_heading("Fines", level=2)
    document.add_paragraph("每逾期一天罚款一元。")
    table = document.add_table(rows=2, cols=3)
    for column, text in enumerate(("Group", "Books", "Weeks")):
        table.cell(0, column).text = text
    table.cell(1, 0).text = "Staff"
    table.cell(1, 1).merge(table.cell(1, 2)).text = "unlimited"
    output = io.BytesIO()
    document.save(output)
    return output.getvalue()


def docx_of(*paragraphs: str) -> bytes:
    document = docx.Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def zip_bytes(entries: dict[str, bytes]) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return output.getvalue()


def xlsx_bytes(
    sheets: dict[str, Sequence[Sequence[object]]], *, hidden: str = "", title: str = ""
) -> bytes:
    """A workbook of these sheets, each a list of rows; a pair (value, format) is a cell with a number format."""
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    workbook.properties.title = title
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        sheet.sheet_state = "hidden" if name == hidden else "visible"
        for number, row in enumerate(rows, 1):
            for column, value in enumerate(row, 1):
                cell = sheet.cell(number, column)
                cell.value = value[0] if isinstance(value, tuple) else value
                if isinstance(value, tuple):
                    cell.number_format = value[1]
    output = io.BytesIO()
    workbook.save(output)
    return output.getvalue()


def pptx_bytes() -> bytes:
    """Three slides: title, text and notes; a table with a merged cell; no title, but a group."""
    presentation = pptx.Presentation()
    slides, layouts = presentation.slides, presentation.slide_layouts
    first = slides.add_slide(layouts[1])
    first.shapes.title.text = "Library rules"
    first.placeholders[1].text = "Ten books.\n每逾期一天罚款一元。"
    first.notes_slide.notes_text_frame.text = "Mention the fines."
    second = slides.add_slide(layouts[5])
    second.shapes.title.text = "Loans"
    table = second.shapes.add_table(2, 3, 0, 0, 900_000, 300_000).table
    for column, text in enumerate(("Group", "Books", "Weeks")):
        table.cell(0, column).text = text
    table.cell(1, 0).text = "Staff"
    table.cell(1, 1).merge(table.cell(1, 2))
    table.cell(1, 1).text = "unlimited"
    third = slides.add_slide(layouts[6])
    box = third.shapes.add_group_shape().shapes.add_textbox(0, 0, 900_000, 300_000)
    box.text_frame.text = "Opening hours\nNine to five."
    output = io.BytesIO()
    presentation.save(output)
    return output.getvalue()


def zip_entries(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as source:
        return {name: source.read(name) for name in source.namelist()}


def replaced(archive: bytes, changes: dict[str, tuple[bytes, bytes]]) -> bytes:
    """An Office file with parts of its entries replaced: {entry: (what is there, what shall be)}."""
    entries = zip_entries(archive)
    for name, (old, new) in changes.items():
        assert old in entries[name], entries[name]
        entries[name] = entries[name].replace(old, new)
    return zip_bytes(entries)


WORD_NAMESPACES = " ".join(
    f'xmlns:{prefix}="http://schemas.{where}"'
    for prefix, where in {
        "w": "openxmlformats.org/wordprocessingml/2006/main",
        "r": "openxmlformats.org/officeDocument/2006/relationships",
        "a": "openxmlformats.org/drawingml/2006/main",
        "c": "openxmlformats.org/drawingml/2006/chart",
        "m": "openxmlformats.org/officeDocument/2006/math",
        "wp": "openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "mc": "openxmlformats.org/markup-compatibility/2006",
        "wps": "microsoft.com/office/word/2010/wordprocessingShape",
    }.items()
)
WORD_NAMESPACES += ' xmlns:v="urn:schemas-microsoft-com:vml"'
RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def word_bytes(body: str, **parts: str) -> bytes:
    """A Word file of this WordprocessingML. parts: what is in `styles.xml`, `numbering.xml`, `footnotes.xml` … by these
    names; others are headers, by the ids of their relations."""
    headers = [
        name
        for name in parts
        if name not in ("styles", "numbering", "footnotes", "endnotes", "comments")
    ]
    relations = "".join(
        f'<Relationship Id="{name}" Type="{OFFICE_RELATION}/header" Target="{name}.xml"/>'
        for name in headers
    )
    root = (
        f'<Relationship Id="d" Type="{OFFICE_RELATION}/officeDocument" Target="word/document.xml"/>'
    )
    files = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{RELATIONSHIPS}">{root}</Relationships>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{RELATIONSHIPS}">{relations}</Relationships>',
        "word/document.xml": f"<w:document {WORD_NAMESPACES}><w:body>{body}</w:body></w:document>",
    }
    for name, content in parts.items():
        files[f"word/{name}.xml"] = f"<w:{name} {WORD_NAMESPACES}>{content}</w:{name}>"
    return zip_bytes({name: text.encode() for name, text in files.items()})


ODF_NAMESPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in {
        "office": "office",
        "text": "text",
        "table": "table",
        "style": "style",
        "draw": "drawing",
        "fo": "xsl-fo-compatible",
    }.items()
)


def odt_bytes(body: str, *, styles: str = "", header: str = "", title: str = "") -> bytes:
    automatic = f"<office:automatic-styles>{styles}</office:automatic-styles>"
    pages = f"<office:master-styles><style:master-page>{header}</style:master-page></office:master-styles>"
    content = f"{automatic}<office:body><office:text>{body}</office:text></office:body>"
    meta = f'<dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">{title}</dc:title>'
    return zip_bytes({
        "mimetype": b"application/vnd.oasis.opendocument.text",
        "content.xml": f"<office:document-content {ODF_NAMESPACES}>{content}</office:document-content>".encode(),
        "styles.xml": f"<office:document-styles {ODF_NAMESPACES}>{pages}</office:document-styles>".encode(),
        "meta.xml": f"<office:document-meta {ODF_NAMESPACES}>{meta}</office:document-meta>".encode(),
    })  # fmt: skip


def epub_bytes(pages: dict[str, str], others: dict[str, str], *, title: str = "") -> bytes:
    """pages: in the order in which they are read."""
    manifest = "".join(
        f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in pages
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in pages)
    package = (
        f'<package><metadata><dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">{title}</dc:title></metadata>'
        f"<manifest>{manifest}</manifest><spine>{spine}</spine></package>"
    )
    container = '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>'
    files = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": container,
        "book.opf": package,
    }
    return zip_bytes({name: text.encode() for name, text in (files | pages | others).items()})
