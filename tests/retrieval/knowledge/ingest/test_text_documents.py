"""Rich text, OpenDocument texts and books."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import ParsedDocument
from retrieval.knowledge.ingest.reading import parse_file
from retrieval.knowledge.ingest.sniff import kind_by_name
from tests.retrieval.knowledge.ingest.files import epub_bytes, odt_bytes, zip_bytes, zip_entries


def read(tmp_path: Path, name: str, data: bytes) -> ParsedDocument:
    path = tmp_path / name
    path.write_bytes(data)
    return parse_file(path, kind=kind_by_name(name))


def kinds(document: ParsedDocument) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block in document.blocks]


# ------------------------------------------------------------------------------------------------ rich text
RICH = r"""{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}}
{\colortbl;\red0\green0\blue9;\red255\green255\blue255;}{\info{\title Boat terms}}
{\header \pard Form QM-7\par}
\pard\outlinelevel0 Scope\par
\pard Members pay {\v all is free }18 euros{\cf2  or less}{\fs2  or more}{\footnote It was 16 (before).}.
{\deleted  Not.}\par
\pard{\listtext (b)\tab}\ls1 Bring a vest.\par
\trowd\cellx100\cellx200\intbl Item\cell Fee\cell\row
\trowd\clvmgf\cellx100\cellx200\intbl Vest\par large\cell 5 euros\cell\row
\trowd\clvmrg\cellx100\cellx200\intbl \cell 9 {\cf2 euros}\cell\row
\pard Caf\'e9 \u8364?9 {\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt \pard Hotline 5512.\par}}}\par
{\pict\pngblip 89504e470d0a}{\field{\*\fldinst{HYPERLINK "http://a.example"}}{\fldrslt{our page}}}\par}"""


def test_rich_text_is_read_as_it_is_shown(tmp_path: Path) -> None:
    document = read(tmp_path, "a.rtf", RICH.encode())
    assert kinds(document) == [
        ("paragraph", 0, "Form QM-7"),
        ("heading", 1, "Scope"),
        ("paragraph", 0, "Members pay 18 euros."),
        ("note", 0, "It was 16 (before)."),
        ("list_item", 1, "(b) Bring a vest."),
        ("table", 0, "Item | Fee\nItem: Vest large; Fee: 5 euros\nItem: Vest large; Fee: 9 euros"),
        ("paragraph", 0, "Café €9"),
        ("paragraph", 0, "Hotline 5512."),
        ("paragraph", 0, "our page"),
    ]
    assert (document.title, [str(one) for one in document.unread]) == (
        "Boat terms",
        ["1 picture without text"],
    )


@pytest.mark.parametrize(
    "end", ["{" * 100_000, r"{\pict " + "0" * 500_000, "}" * 1000, r"{\*\fldinst" * 20_000]
)
def test_hostile_rich_text_is_read(tmp_path: Path, end: str) -> None:
    """The test's time limit is what fails."""
    assert read(tmp_path, "a.rtf", (r"{\rtf1 Open daily.\par " + end).encode()).text.startswith(
        "Open daily."
    )


# ------------------------------------------------------------------------------------------------ OpenDocument
STYLES = """
<style:style style:name="H" style:family="text"><style:text-properties text:display="none"/></style:style>
<style:style style:name="W" style:family="text"><style:text-properties fo:color="#ffffff"/></style:style>
<text:list-style style:name="L">
<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>
<text:list-level-style-number text:level="2" style:num-format="1" text:display-levels="2"/>
<text:list-level-style-number text:level="3" style:num-format="a" style:num-prefix="(" style:num-suffix=")"/>
</text:list-style>"""


def item(inner: str) -> str:
    return f"<text:list-item>{inner}</text:list-item>"


def test_an_opendocument_text_is_read_as_it_is_shown(tmp_path: Path) -> None:
    deep = item("<text:p>hand</text:p>") + item("<text:p>power</text:p>")
    inner = item("<text:p>Saw</text:p>") + item(
        f"<text:p>Tools</text:p><text:list>{deep}</text:list>"
    )
    lists = (
        f'<text:list text:style-name="L">{item("<text:p>Scope</text:p>")}'
        f"{item(f'<text:p>Machines</text:p><text:list>{inner}</text:list>')}</text:list>"
    )
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p></text:deletion>"
        '</text:changed-region></text:tracked-changes><text:h text:outline-level="2">Terms</text:h>'
        '<text:p>It costs<text:s/>18 euros<text:span text:style-name="H"> or nothing</text:span>'
        '<text:span text:style-name="W"> or less</text:span>.<text:note><text:note-citation>1</text:note-citation>'
        "<text:note-body><text:p>Was 16.</text:p></text:note-body></text:note>"
        "<office:annotation><text:p>Really?</text:p></office:annotation></text:p>"
        f"{lists}"
        "<table:table><table:table-row><table:table-cell><text:p>Zone</text:p></table:table-cell><table:table-cell>"
        "<text:p>Fee</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell>"
        "<text:p>North</text:p></table:table-cell><table:table-cell><text:p>3.50</text:p></table:table-cell>"
        "</table:table-row></table:table><text:p><draw:frame><draw:image/></draw:frame><draw:frame><draw:text-box>"
        "<text:p>Hotline 5512</text:p></draw:text-box></draw:frame></text:p>"
    )
    header = "<style:header><text:p>Form QM-7</text:p></style:header>"
    document = read(
        tmp_path, "a.odt", odt_bytes(body, styles=STYLES, header=header, title="Boat terms")
    )
    assert kinds(document) == [
        ("paragraph", 0, "Form QM-7"),
        ("heading", 2, "Terms"),
        ("paragraph", 0, "It costs 18 euros."),
        ("note", 0, "Was 16."),
        ("list_item", 1, "1. Scope"),
        ("list_item", 1, "2. Machines"),
        ("list_item", 2, "2.1 Saw"),
        ("list_item", 2, "2.2 Tools"),
        ("list_item", 3, "(a) hand"),
        ("list_item", 3, "(b) power"),
        ("table", 0, "Zone | Fee\nZone: North; Fee: 3.50"),
        ("paragraph", 0, "Hotline 5512"),
    ]
    assert (document.title, [str(one) for one in document.unread]) == (
        "Boat terms",
        ["1 picture without text"],
    )


def test_lists_of_an_opendocument_text_are_labelled_by_their_own_styles(tmp_path: Path) -> None:
    bullets = '<text:list-style style:name="B"><text:list-level-style-bullet text:level="1"/></text:list-style>'
    numbered = f'<text:list text:style-name="L">{item("<text:p>Sign</text:p>")}</text:list>'
    body = f'{numbered}<text:list text:style-name="B">{item("<text:p>Bring a vest</text:p>")}</text:list>{numbered}'
    document = read(tmp_path, "a.odt", odt_bytes(body, styles=STYLES + bullets))
    assert [block.text for block in document.blocks] == ["1. Sign", "- Bring a vest", "1. Sign"]


def test_the_title_of_an_opendocument_text_is_a_heading(tmp_path: Path) -> None:
    style = (
        '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Title"/>'
    )
    body = '<text:p text:style-name="P1">Boat terms</text:p><text:h text:outline-level="1">Scope</text:h>'
    document = read(tmp_path, "a.odt", odt_bytes(body, styles=style))
    assert (document.title, kinds(document)[0]) == ("Boat terms", ("heading", 1, "Boat terms"))


def test_a_formula_of_an_opendocument_text_is_read(tmp_path: Path) -> None:
    link = 'xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="./F1"'
    body = f"<text:p>It is <draw:frame><draw:object {link}/><draw:image/></draw:frame> in all.</text:p>"
    math = "<mfrac><mi>a</mi><mn>8</mn></mfrac><mo>+</mo><msup><mi>h</mi><mn>2</mn></msup>"
    formula = f'<math xmlns="http://www.w3.org/1998/Math/MathML">{math}</math>'
    files = zip_entries(odt_bytes(body)) | {"F1/content.xml": formula.encode()}
    document = read(tmp_path, "a.odt", zip_bytes(files))
    assert (document.text, document.unread) == ("It is a/8 +h^2 in all.", ())


# ------------------------------------------------------------------------------------------------ books
def test_a_book_is_read_in_the_order_of_its_pages(tmp_path: Path) -> None:
    pages = {
        "b.xhtml": '<html><head><link rel="stylesheet" href="s.css"/></head><body><h1>Locks</h1>'
        '<p>Closed at nine.</p><p class="gone">free</p></body></html>',
        "a.xhtml": "<html><body><h1>Quays</h1><p>Pier 6.</p><img src='p.png'/></body></html>",
    }
    document = read(
        tmp_path, "a.epub", epub_bytes(pages, {"s.css": ".gone { display: none }"}, title="Harbour")
    )
    assert [block.text for block in document.blocks] == [
        "Locks",
        "Closed at nine.",
        "Quays",
        "Pier 6.",
    ]
    assert (document.title, [str(one) for one in document.unread]) == (
        "Harbour",
        ["1 picture without text"],
    )


def test_a_locked_book_says_so(tmp_path: Path) -> None:
    locked = (
        "<encryption><EncryptedData><CipherReference URI='a.xhtml'/></EncryptedData></encryption>"
    )
    data = epub_bytes({"a.xhtml": "<html/>"}, {"META-INF/encryption.xml": locked})
    with pytest.raises(DocumentUnreadableError, match="protected against copying"):
        read(tmp_path, "a.epub", data)


@pytest.mark.parametrize("name", ["a.odt", "a.epub"])
def test_an_archive_of_another_kind_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DocumentUnreadableError, match="not really"):
        read(tmp_path, name, zip_bytes({"a.txt": b"words"}))
