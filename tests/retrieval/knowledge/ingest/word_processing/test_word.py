"""Word documents: what Word shows is read, and stands where it shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import ParsedDocument
from retrieval.knowledge.ingest.word_processing.word import parse_docx
from tests.retrieval.knowledge.ingest.files import word_bytes, zip_bytes


def read(tmp_path: Path, body: str, **parts: str) -> ParsedDocument:
    path = tmp_path / "a.docx"
    path.write_bytes(word_bytes(body, **parts))
    return parse_docx(path)


def texts(document: ParsedDocument) -> list[str]:
    return [block.text for block in document.blocks]


def p(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def row(*cells: str, properties: str = "") -> str:
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr>"


KEYS = p("Keys are at the desk.")


# ------------------------------------------------------------------------------------------------ changes
def test_insertions_and_moved_text_stand_and_deletions_do_not(tmp_path: Path) -> None:
    changed = (
        f"<w:p>{run('The fee is ')}<w:del><w:r><w:delText>30</w:delText></w:r></w:del>"
        f"<w:ins>{run('45')}</w:ins>{run(' euros.')}</w:p>"
        f"<w:moveFrom>{KEYS}</w:moveFrom>{p('Open daily.')}<w:moveTo>{KEYS}</w:moveTo>"
    )
    inserted = f"<w:p><w:ins>{run('5 euros')}</w:ins></w:p>"
    table = (
        f"<w:tbl>{row(p('Item'), p('Fee'))}{row(p('Vest'), inserted)}"
        f"{row(p('Rope'), p('2 euros'), properties='<w:del/>')}</w:tbl>"
    )
    assert texts(read(tmp_path, changed + table)) == [
        "The fee is 45 euros.",
        "Open daily.",
        "Keys are at the desk.",
        "Item | Fee\nItem: Vest; Fee: 5 euros",
    ]


# ------------------------------------------------------------------------------------------------ containers
@pytest.mark.parametrize(
    "body",
    [
        f"<w:sdt><w:sdtContent>{p('Contract KL-55')}</w:sdtContent></w:sdt>",
        f"<w:p>{run('Contract ')}<w:sdt><w:sdtContent>{run('KL-55')}</w:sdtContent></w:sdt></w:p>",
        f"<w:p>{run('Contract ')}<w:fldSimple w:instr='REF a'>{run('KL-55')}</w:fldSimple></w:p>",
        f"<w:p>{run('Contract ')}<w:smartTag>{run('KL-55')}</w:smartTag></w:p>",
        f"<w:p>{run('Contract ')}<w:bdo w:val='ltr'>{run('KL-55')}</w:bdo></w:p>",
    ],
)
def test_text_in_containers_is_read(tmp_path: Path, body: str) -> None:
    assert texts(read(tmp_path, body)) == ["Contract KL-55"]


@pytest.mark.parametrize(
    "box",
    [
        "<w:pict><v:shape><v:textbox><w:txbxContent>{}</w:txbxContent></v:textbox></v:shape></w:pict>",
        "<mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><wps:txbx><w:txbxContent>{0}</w:txbxContent>"
        "</wps:txbx></w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox><w:txbxContent>{0}</w:txbxContent>"
        "</v:textbox></w:pict></mc:Fallback></mc:AlternateContent>",
    ],
)
def test_a_text_box_is_read_once(tmp_path: Path, box: str) -> None:
    body = f"<w:p>{run('Before.')}<w:r>{box.format(p('Hotline 5512.'))}</w:r></w:p>{p('After.')}"
    assert texts(read(tmp_path, body)) == ["Before.", "Hotline 5512.", "After."]


def test_a_cell_in_a_content_control_keeps_its_column(tmp_path: Path) -> None:
    year = f"<w:sdt><w:sdtContent><w:tc>{p('2026')}</w:tc></w:sdtContent></w:sdt>"
    controlled = f"<w:tr>{year}<w:tc>{p('3')}</w:tc><w:tc>{p('Ada')}</w:tc></w:tr>"
    table = f"<w:tbl>{row(p('Year'), p('Version'), p('Author'))}{controlled}</w:tbl>"
    assert texts(read(tmp_path, table))[0].endswith("Year: 2026; Version: 3; Author: Ada")


def test_merged_cells_stand_in_every_row(tmp_path: Path) -> None:
    first = "<w:tcPr><w:vMerge w:val='restart'/></w:tcPr>"
    merged = "<w:tcPr><w:vMerge/></w:tcPr>"
    table = (
        f"<w:tbl>{row(p('Area'), p('Post'), p('Rate'))}"
        f"{row(first + p('Garden'), p('Head'), p('26'))}"
        f"{row(merged + '<w:p/>', p('Helper'), p('15'))}</w:tbl>"
    )
    assert texts(read(tmp_path, table))[0].endswith("Area: Garden; Post: Helper; Rate: 15")


def test_a_table_in_a_cell_stays_in_its_row(tmp_path: Path) -> None:
    inner = f"<w:tbl>{row(p('Day'), p('Week'))}{row(p('5'), p('9'))}</w:tbl><w:p/>"
    table = (
        f"<w:tbl>{row(p('Boat'), p('Rates'), p('Place'))}{row(p('Canoe'), inner, p('B2'))}</w:tbl>"
    )
    assert texts(read(tmp_path, table))[0].endswith(
        "Boat: Canoe; Rates: Day: 5, Week: 9; Place: B2"
    )


# ------------------------------------------------------------------------------------------------ labels
LEVELS = "".join(
    f"<w:lvl w:ilvl='{at}'><w:start w:val='1'/><w:numFmt w:val='{form}'/><w:lvlText w:val='{text}'/></w:lvl>"
    for at, (form, text) in enumerate(
        [("decimal", "%1."), ("decimal", "%1.%2"), ("lowerLetter", "(%3)"), ("bullet", "x")]
    )
)
NUMBERING = (
    f"<w:abstractNum w:abstractNumId='0'>{LEVELS}</w:abstractNum>"
    "<w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num>"
    "<w:num w:numId='2'><w:abstractNumId w:val='0'/>"
    "<w:lvlOverride w:ilvl='0'><w:startOverride w:val='5'/></w:lvlOverride></w:num>"
)


def item(text: str, level: int, number: int = 1) -> str:
    return p(text, f"<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{number}'/></w:numPr>")


def test_list_labels_are_counted_as_word_shows_them(tmp_path: Path) -> None:
    items = [
        ("Scope", 0),
        ("Members", 1),
        ("Guests", 1),
        ("Tools", 0),
        ("Saw", 1),
        ("hand", 2),
        ("power", 2),
        ("any", 3),
    ]
    body = "".join(item(text, level) for text, level in items) + item("Later", 0, 2)
    document = read(tmp_path, body, numbering=NUMBERING)
    assert texts(document) == [
        "1. Scope", "1.1 Members", "1.2 Guests", "2. Tools", "2.1 Saw", "(a) hand", "(b) power", "- any", "5. Later",
    ]  # fmt: skip
    assert [(block.kind, block.level, block.label) for block in document.blocks][5] == (
        "list_item",
        3,
        "(a)",
    )


def test_a_numbered_heading_shows_its_number(tmp_path: Path) -> None:
    styles = (
        "<w:style w:type='paragraph' w:styleId='H1'><w:name w:val='heading 1'/>"
        "<w:pPr><w:numPr><w:numId w:val='1'/></w:numPr></w:pPr></w:style>"
        "<w:style w:type='paragraph' w:styleId='B2'><w:name w:val='标题 2'/></w:style>"
    )
    body = (
        p("Scope", "<w:pStyle w:val='H1'/>")
        + p("费用", "<w:pStyle w:val='B2'/>")
        + p("Loans", "<w:outlineLvl w:val='2'/>")
    )
    document = read(tmp_path, body, numbering=NUMBERING, styles=styles)
    assert [(block.kind, block.level, block.label) for block in document.blocks] == [
        ("heading", 1, "1. Scope"), ("heading", 2, "费用"), ("heading", 3, "Loans"),
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------ other parts
def test_a_footnote_stands_behind_its_paragraph(tmp_path: Path) -> None:
    body = f"<w:p>{run('Members pay less.')}<w:r><w:footnoteReference w:id='2'/></w:r></w:p>{p('Open daily.')}"
    notes = f"<w:footnote w:id='2'>{p('It is 18 euros.')}</w:footnote>"
    document = read(tmp_path, body, footnotes=notes)
    assert [(block.kind, block.text) for block in document.blocks] == [
        ("paragraph", "Members pay less."), ("note", "It is 18 euros."), ("paragraph", "Open daily."),
    ]  # fmt: skip


def test_headers_and_footers_are_read_once_without_page_numbers(tmp_path: Path) -> None:
    references = "<w:headerReference w:type='default' r:id='h1'/><w:headerReference w:type='first' r:id='h2'/>"
    section = f"<w:sectPr>{references}</w:sectPr>"
    page = f"<w:fldSimple w:instr=' PAGE '>{run('1')}</w:fldSimple>"
    header = f"<w:p>{run('Form QM-7, page ')}{page}</w:p>"
    body = f"{p('Rules.')}<w:p><w:pPr>{section}</w:pPr></w:p>{p('More.')}{section}"
    document = read(tmp_path, body, h1=header, h2=p("First page only"))
    assert texts(document) == ["Form QM-7, page", "Rules.", "More."]


def test_comments_are_left_out(tmp_path: Path) -> None:
    body = f"<w:p>{run('Open daily.')}<w:r><w:commentReference w:id='0'/></w:r></w:p>"
    assert texts(
        read(tmp_path, body, comments=f"<w:comment w:id='0'>{p('Really?')}</w:comment>")
    ) == ["Open daily."]


def test_an_equation_is_read(tmp_path: Path) -> None:
    half = "<m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>"
    assert texts(read(tmp_path, f"<w:p>{run('Share: ')}<m:oMath>{half}</m:oMath></w:p>")) == [
        "Share: a/2"
    ]


# ------------------------------------------------------------------------------------------------ what nobody sees
WHITE = "<w:color w:val='FFFFFF'/>"
DARK = "<w:shd w:fill='1F3864'/>"
NOT_HIDDEN = "<w:vanish w:val='0'/>"
HIDING = "<w:style w:type='{}' w:styleId='S'><w:rPr><w:vanish/></w:rPr></w:style>"


@pytest.mark.parametrize(
    ("body", "styles"),
    [
        (run("free", "<w:vanish/>"), ""),
        (run("free", "<w:sz w:val='2'/>"), ""),
        (run("free", WHITE), ""),
        (run("free", "<w:rStyle w:val='S'/>"), HIDING.format("character")),
    ],
)
def test_what_nobody_sees_is_not_read(tmp_path: Path, body: str, styles: str) -> None:
    assert texts(read(tmp_path, f"<w:p>{run('It costs 9.')}{body}</w:p>", styles=styles)) == [
        "It costs 9."
    ]


@pytest.mark.parametrize(
    "body",
    [
        f"<w:p>{run('It costs 9.', NOT_HIDDEN)}</w:p>",
        f"<w:p>{run('It costs 9.', WHITE + DARK)}</w:p>",
        f"<w:p><w:pPr>{DARK}</w:pPr>{run('It costs 9.', WHITE)}</w:p>",
        "<w:tbl>"
        + row(f"<w:tcPr>{DARK}</w:tcPr><w:p>{run('It costs 9.', WHITE)}</w:p>")
        + "</w:tbl>",
    ],
)
def test_white_text_on_a_dark_ground_is_read(tmp_path: Path, body: str) -> None:
    assert texts(read(tmp_path, body)) == ["It costs 9."]


def test_charts_and_pictures_are_told(tmp_path: Path) -> None:
    chart = "<w:drawing><wp:inline><a:graphic><a:graphicData><c:chart/></a:graphicData></a:graphic></wp:inline></w:drawing>"
    document = read(tmp_path, f"<w:p>{run('Sales:')}<w:r>{chart}</w:r></w:p>")
    assert [str(one) for one in document.unread] == ["1 chart"]


def test_a_file_without_a_document_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(zip_bytes({"word/styles.xml": b"<w/>"}))
    with pytest.raises(DocumentUnreadableError, match="no text part"):
        parse_docx(path)
