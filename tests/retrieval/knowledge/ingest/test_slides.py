"""Presentations: what is read of each slide, and what is said of the rest."""

from __future__ import annotations

import copy
import io
from pathlib import Path

import pptx
from PIL import Image
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.opc.constants import CONTENT_TYPE as CT
from pptx.opc.constants import RELATIONSHIP_TYPE as RT
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Emu

from retrieval.knowledge.ingest.blocks import ParsedDocument
from retrieval.knowledge.ingest.reading import parse_file
from retrieval.knowledge.ingest.slides import TEXT
from retrieval.knowledge.ingest.sniff import kind_by_name
from tests.retrieval.knowledge.ingest.files import pptx_bytes, zip_bytes, zip_entries


def read(tmp_path: Path, data: bytes) -> ParsedDocument:
    path = tmp_path / "a.pptx"
    path.write_bytes(data)
    return parse_file(path, kind=kind_by_name("a.pptx"))


def saved(presentation: pptx.presentation.Presentation) -> bytes:
    data = io.BytesIO()
    presentation.save(data)
    return data.getvalue()


async def test_slides_are_pages_under_their_titles(tmp_path: Path) -> None:
    path = tmp_path / "a.pptx"
    path.write_bytes(pptx_bytes())
    document = parse_file(path, kind=kind_by_name("a.pptx"))
    assert [(block.page, block.kind, block.text) for block in document.blocks] == [
        (1, "heading", "Library rules"),
        (1, "paragraph", "Ten books.\n每逾期一天罚款一元。"),
        (1, "note", "Notes: Mention the fines."),
        (2, "heading", "Loans"),
        (2, "table", "Group | Books | Weeks\nGroup: Staff; Books: unlimited; Weeks: unlimited"),
        (3, "heading", "Opening hours"),
        (3, "paragraph", "Nine to five."),
    ]
    assert (document.title, document.page_count) == ("Library rules", 3)


def test_a_charts_figures_are_read_with_their_names(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Guests"
    data = CategoryChartData()
    data.categories = ["Spring", "Summer"]
    data.add_series("Adults", (1840, 5230))
    data.add_series("Children", (310, 977.5))
    slide.shapes.add_chart(
        XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Emu(3_000_000), Emu(2_000_000), data
    )
    lines = read(tmp_path, saved(presentation)).text.split("\n")
    assert lines[-2:] == [
        "Spring; Adults: 1840; Children: 310",
        "Summer; Adults: 5230; Children: 977.5",
    ]


def test_a_tables_cell_over_two_columns_names_both(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = slide.shapes.add_table(4, 3, 0, 0, Emu(3_000_000), Emu(900_000)).table
    rows = [("Boat", "Winter", ""), ("", "Week", "Day"), ("Raft", "33", "7"), ("Punt", "38", "8")]
    for at, row in enumerate(rows):
        for column, text in enumerate(row):
            table.cell(at, column).text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    assert (
        "Boat: Raft; Winter · Week: 33; Winter · Day: 7" in read(tmp_path, saved(presentation)).text
    )


DIAGRAM = """<dgm:dataModel xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"
 xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><dgm:ptLst>
<dgm:pt modelId="0" type="doc"/>
<dgm:pt modelId="2"><dgm:t><a:p><a:r><a:t>Reply within a week</a:t></a:r></a:p></dgm:t></dgm:pt>
<dgm:pt modelId="1"><dgm:t><a:p><a:r><a:t>Write to the office</a:t></a:r></a:p></dgm:t></dgm:pt>
<dgm:pt modelId="9" type="pres"><dgm:t><a:p><a:r><a:t>layout</a:t></a:r></a:p></dgm:t></dgm:pt>
</dgm:ptLst><dgm:cxnLst>
<dgm:cxn modelId="5" srcId="0" destId="1" srcOrd="0" destOrd="0"/>
<dgm:cxn modelId="6" srcId="0" destId="2" srcOrd="1" destOrd="0"/>
</dgm:cxnLst></dgm:dataModel>"""
FRAME = (
    '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="90" name="Steps"/><p:cNvGraphicFramePr/><p:nvPr/>'
    '</p:nvGraphicFramePr><p:xfrm><a:off x="0" y="0"/><a:ext cx="900000" cy="900000"/></p:xfrm><a:graphic>'
    '<a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/diagram">'
    '<dgm:relIds xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" r:dm="rId90"/>'
    "</a:graphicData></a:graphic></p:graphicFrame>"
)
EQUATION = (
    '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice><p:sp>'
    "<p:txBody><a:p><a:r><a:t>Fee = 4 x days</a:t></a:r></a:p></p:txBody></p:sp></mc:Choice>"
    "<mc:Fallback/></mc:AlternateContent>"
)


def with_shapes(data: bytes, shapes: str) -> bytes:
    """The first slide with more shapes, and a diagram's data beside it."""
    entries = zip_entries(data)
    slide = "ppt/slides/slide1.xml"
    entries[slide] = entries[slide].replace(b"</p:spTree>", shapes.encode() + b"</p:spTree>")
    relations = "ppt/slides/_rels/slide1.xml.rels"
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData"
    relation = (
        f'<Relationship Id="rId90" Type="{kind}" Target="../diagrams/data1.xml"/></Relationships>'
    )
    entries[relations] = entries[relations].replace(b"</Relationships>", relation.encode())
    entries["ppt/diagrams/data1.xml"] = DIAGRAM.encode()
    types = "[Content_Types].xml"
    media_type = "application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml"
    override = f'<Override PartName="/ppt/diagrams/data1.xml" ContentType="{media_type}"/></Types>'
    entries[types] = entries[types].replace(b"</Types>", override.encode())
    return zip_bytes(entries)


def test_a_diagrams_texts_are_read_in_their_order(tmp_path: Path) -> None:
    document = read(tmp_path, with_shapes(pptx_bytes(), FRAME))
    assert (1, "Write to the office\nReply within a week") in [
        (block.page, block.text) for block in document.blocks
    ]
    assert "layout" not in document.text


def test_what_only_newer_programs_show_is_read(tmp_path: Path) -> None:
    assert "Fee = 4 x days" in read(tmp_path, with_shapes(pptx_bytes(), EQUATION)).text


def test_numbered_paragraphs_show_their_labels(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    frame = slide.shapes.add_textbox(0, 0, Emu(900_000), Emu(300_000)).text_frame
    schemes = [
        "arabicPeriod",
        "alphaLcParenBoth",
        "alphaLcParenBoth",
        "arabicPeriod",
        "",
        "romanUcParenR",
    ]
    for number, scheme in enumerate(schemes):
        paragraph = frame.paragraphs[0] if not number else frame.add_paragraph()
        paragraph.text = f"step {number}"
        paragraph.level = int(scheme.startswith("alpha"))
        if scheme:
            label = paragraph._p.get_or_add_pPr().makeelement(f"{TEXT}buAutoNum", {"type": scheme})
            paragraph._p.pPr.append(label)
    shown = ["1. step 0", "(a) step 1", "(b) step 2", "2. step 3", "step 4", "I) step 5"]
    assert read(tmp_path, saved(presentation)).text.replace("\n\n", "\n").split("\n") == shown


def test_what_every_slide_repeats_is_read_once(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    layout = presentation.slide_layouts[5]
    for title in ("Map", "Plan"):
        slide = presentation.slides.add_slide(layout)
        slide.shapes.title.text = title
        for placeholder in layout.placeholders:
            if placeholder.placeholder_format.type in (
                PP_PLACEHOLDER.FOOTER,
                PP_PLACEHOLDER.SLIDE_NUMBER,
            ):
                slide.shapes._spTree.append(copy.deepcopy(placeholder._element))
                slide.placeholders[
                    placeholder.placeholder_format.idx
                ].text_frame.text = "Harbour office 7"
    texts = [(block.page, block.text) for block in read(tmp_path, saved(presentation)).blocks]
    assert texts == [(1, "Map"), (1, "Harbour office 7"), (2, "Plan")]


def test_hidden_shapes_and_those_beside_the_slide_are_left_out(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    for left, text in ((0, "seen"), (-5_000_000, "beside"), (0, "hidden")):
        box = slide.shapes.add_textbox(Emu(left), Emu(0), Emu(900_000), Emu(300_000))
        box.text_frame.text = text
    slide.shapes[2]._element.nvSpPr.cNvPr.set("hidden", "1")
    assert read(tmp_path, saved(presentation)).text == "seen"


def test_comments_are_said_with_their_slides(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Map"
    comments = b'<p:cmLst xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"><p:cm/><p:cm/></p:cmLst>'
    part = Part(
        PackURI("/ppt/comments/comment1.xml"), CT.PML_COMMENTS, slide.part.package, comments
    )
    slide.part.relate_to(part, RT.COMMENTS)
    document = read(tmp_path, saved(presentation))
    assert [str(what) for what in document.unread] == ["2 comments (slide 1)"]


def test_pictures_are_said_with_their_slides(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[5]).shapes.title.text = "Map"
    picture = io.BytesIO()
    Image.new("L", (8, 8)).save(picture, "PNG")
    presentation.slides.add_slide(presentation.slide_layouts[6]).shapes.add_picture(picture, 0, 0)
    document = read(tmp_path, saved(presentation))
    assert [str(what) for what in document.unread] == ["1 picture without text (slide 2)"]
