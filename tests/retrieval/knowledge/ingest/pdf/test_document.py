"""PDF: tables as they are drawn, forms and annotations, what a viewer hides, and what could not be read."""

from __future__ import annotations

import shutil
from pathlib import Path
from unittest.mock import patch

import pytest

from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import ParsedDocument
from retrieval.knowledge.ingest.images import ocr
from retrieval.knowledge.ingest.parts import boxes_between
from retrieval.knowledge.ingest.pdf import document
from tests.retrieval.knowledge.ingest.files import drawn_pdf, drawn_table, drawn_text
from tests.retrieval.read_documents import read

HOTELS = [("City", "Limit", "Breakfast"), ("Tallinn", "150", "included"), ("Busan", "210", "extra")]
PICTURE = "<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray /Length 1 >>"
SCAN = f"{PICTURE}\nstream\n0\nendstream"
SHOW_SCAN = "q 612 0 0 792 0 0 cm /I Do Q"
WITH_SCAN = "/Resources << /Font << /F1 3 0 R >> /XObject << /I 5 0 R >> >>"


def parsed(tmp_path: Path, data: bytes) -> ParsedDocument:
    path = tmp_path / "a.pdf"
    path.write_bytes(data)
    return document.parse_pdf(path)


def lines_of(tmp_path: Path, data: bytes) -> list[str]:
    return parsed(tmp_path, data).text.splitlines()


# ------------------------------------------------------------------------------------------------ tables
@pytest.mark.parametrize("lines", [True, False])
def test_a_row_names_the_columns_of_its_cells(tmp_path: Path, lines: bool) -> None:
    stream = drawn_table(HOTELS, widths=(50, 40, 60), lines=lines)
    assert lines_of(tmp_path, drawn_pdf(stream)) == [
        "City | Limit | Breakfast",
        "City: Tallinn; Limit: 150; Breakfast: included",
        "City: Busan; Limit: 210; Breakfast: extra",
    ]


def test_a_cell_that_spans_columns_names_each_of_them(tmp_path: Path) -> None:
    rows = [("Boat", "Winter", ""), ("", "Week", "Day"), ("Raft", "33", "7"), ("Punt", "38", "8")]
    stream = drawn_table(rows, spans=[(0, 1, 1, 2), (0, 0, 2, 1)])
    assert lines_of(tmp_path, drawn_pdf(stream))[1:] == [
        "Boat: Raft; Winter · Week: 33; Winter · Day: 7",
        "Boat: Punt; Winter · Week: 38; Winter · Day: 8",
    ]


def test_a_cell_that_spans_rows_belongs_to_each_of_them(tmp_path: Path) -> None:
    rows = [
        ("Zone", "Ticket", "Price"),
        ("North", "Day", "9"),
        ("", "Week", "31"),
        ("South", "Day", "8"),
    ]
    stream = drawn_table(rows, spans=[(1, 0, 2, 1)])
    assert "Zone: North; Ticket: Week; Price: 31" in lines_of(tmp_path, drawn_pdf(stream))


def test_a_cells_lines_are_one_text(tmp_path: Path) -> None:
    rows = [("Claim", "decides", "Days"), ("", "", ""), ("Travel", "Head", "5")]
    stream = drawn_table(rows, spans=[(0, 0, 2, 1), (0, 1, 2, 1), (0, 2, 2, 1)])
    stream += drawn_text(184, 680, "Who")
    assert "Claim: Travel; Who decides: Head; Days: 5" in lines_of(tmp_path, drawn_pdf(stream))


def test_tables_beside_each_other_stay_apart(tmp_path: Path) -> None:
    rooms = [("Room", "Seats"), ("Oak", "12"), ("Elm", "30")]
    phones = [("Office", "Phone"), ("Porter", "5512"), ("Desk", "5513")]
    stream = (
        drawn_table(rooms, widths=(80, 80)) + "\n" + drawn_table(phones, left=300, widths=(80, 80))
    )
    lines = lines_of(tmp_path, drawn_pdf(stream))
    assert "Room: Oak; Seats: 12" in lines
    assert "Office: Desk; Phone: 5513" in lines


def test_lines_between_cells_alone_part_them(tmp_path: Path) -> None:
    lines = [f"60 {y} 300 0.5 re f" for y in (660, 680)] + [
        f"{x} 640 0.5 60 re f" for x in (180, 270)
    ]
    stream = "\n".join([drawn_table(HOTELS, lines=False), *lines])
    assert lines_of(tmp_path, drawn_pdf(stream))[1:] == [
        "City: Tallinn; Limit: 150; Breakfast: included",
        "City: Busan; Limit: 210; Breakfast: extra",
    ]


STEPS = [("Step", "What", "Who"), ("1", "Call the desk and", "Holder"), ("", "tell the number", "")]
STEPS += [
    ("2", "Block the card", "Desk"),
    ("3", "Send a new one by", "Post"),
    ("", "registered mail", ""),
]


@pytest.mark.parametrize("rules", [(680, 640, 620, 580), ()])
def test_a_rows_cells_of_several_lines_are_one_row(tmp_path: Path, rules: tuple[int, ...]) -> None:
    shift = {1: 0, 2: 6, 3: 0, 4: 0, 5: 6}  # lines of one cell stand nearer to each other than rows
    parts = [drawn_text(64, 686, "Step"), drawn_text(184, 686, "What"), drawn_text(400, 686, "Who")]
    for at, row in list(enumerate(STEPS))[1:]:
        for x, text in zip((64, 184, 400), row, strict=True):
            parts.append(drawn_text(x, 686 - 20 * at + shift[at], text) if text else "")
    parts += [f"60 {y} 400 0.5 re f" for y in rules]
    assert lines_of(tmp_path, drawn_pdf("\n".join(parts)))[1:] == [
        "Step: 1; What: Call the desk and tell the number; Who: Holder",
        "Step: 2; What: Block the card; Who: Desk",
        "Step: 3; What: Send a new one by registered mail; Who: Post",
    ]


def test_a_table_that_is_drawn_column_by_column_is_read_row_by_row(tmp_path: Path) -> None:
    columns = [
        ("Boat", "Raft", "Punt", "Skiff"),
        ("Week", "33", "38", "50"),
        ("Day", "7", "8", "12"),
    ]
    stream = "\n".join(
        drawn_text(60 + 100 * at, 700 - 16 * row, text)
        for at, column in enumerate(columns)
        for row, text in enumerate(column)
    )
    assert "Boat: Punt; Week: 38; Day: 8" in lines_of(tmp_path, drawn_pdf(stream))


@pytest.mark.parametrize("is_repeated", [True, False])
def test_a_table_that_goes_on_over_a_page_keeps_its_head(tmp_path: Path, is_repeated: bool) -> None:
    more = [("Cork", "95", "extra"), ("Turin", "120", "included")]
    second = [HOTELS[0], *more] if is_repeated else more
    data = drawn_pdf(
        drawn_table(HOTELS, top=100, bold_head=True),
        drawn_table(second, top=760, bold_head=is_repeated),
    )
    document = parsed(tmp_path, data)
    assert [block.page for block in document.blocks] == [1, 2]
    assert document.blocks[1].text.splitlines() == [
        "City | Limit | Breakfast",
        "City: Cork; Limit: 95; Breakfast: extra",
        "City: Turin; Limit: 120; Breakfast: included",
    ]


def test_neither_the_head_nor_the_last_row_of_each_page_is_a_running_line(tmp_path: Path) -> None:
    rows = [(f"Part {n}", str(7 * n)) for n in range(25)]
    head = ("Item", "Price")
    pages = [
        drawn_table([head, *rows[start : start + 5]], widths=(90, 90)) for start in range(0, 25, 5)
    ]
    lines = lines_of(tmp_path, drawn_pdf(*pages))
    assert {f"Item: {item}; Price: {price}" for item, price in rows} <= set(lines)


def test_text_in_columns_that_is_drawn_across_is_no_table(tmp_path: Path) -> None:
    left = [
        "The hall opens at nine and",
        "closes at six on all weekdays",
        "but for the first of each month",
        "when it stays closed.",
    ]
    right = [
        "Readers of maps sit in the cellar",
        "where a lamp stands on each table",
        "and a map is lent for four hours",
        "with a pass of the day.",
    ]
    stream = "\n".join(
        drawn_text(60, 700 - 14 * at, one) + drawn_text(230, 700 - 14 * at, other)
        for at, (one, other) in enumerate(zip(left, right, strict=True))
    )
    document = parsed(tmp_path, drawn_pdf(stream))
    assert {block.kind for block in document.blocks} == {"paragraph"}
    assert " ".join(document.text.split()) == " ".join([*left, *right])


def test_the_words_of_a_tables_row_have_their_places(tmp_path: Path) -> None:
    document = read(drawn_pdf(drawn_table(HOTELS)), "a.pdf")
    text = document.chunks[0].text
    start = text.index("210")
    [(left, top, right, bottom)] = boxes_between(document.parts[0].lines, start, start + 3)
    assert 180 / 612 < left < right < 270 / 612
    assert (792 - 660) / 792 < top < bottom < (792 - 640) / 792


# ------------------------------------------------------------------------------------------------ forms, annotations
FORM = "/AcroForm << /Fields [5 0 R 6 0 R 7 0 R 8 0 R] /DA (/F1 10 Tf) /DR << /Font << /F1 3 0 R >> >> >>"
FIELDS = [
    "<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ines Okafor) /Rect [160 696 400 716] >>",
    "<< /Type /Annot /Subtype /Widget /FT /Ch /Ff 131072 /T (class) /Opt [(Dinghy) (Cutter)] /V (Cutter)"
    " /Rect [160 666 400 686] >>",
    "<< /Type /Annot /Subtype /Widget /FT /Btn /T (key) /V /Yes /AS /Yes /Rect [60 636 72 648]"
    " /AP << /N << /Yes 9 0 R /Off 9 0 R >> >> >>",
    "<< /Type /Annot /Subtype /Widget /FT /Tx /Ff 8192 /T (pin) /V (4711) /Rect [160 600 400 616] >>",
    "<< /Type /XObject /Subtype /Form /BBox [0 0 12 12] /Length 0 >>\nstream\n\nendstream",
]


def test_a_forms_values_stand_beside_their_labels(tmp_path: Path) -> None:
    stream = "\n".join([
        drawn_text(60, 700, "Applicant:"), drawn_text(60, 670, "Boat:"), drawn_text(80, 639, "A second key"),
        drawn_text(60, 604, "PIN:"),
    ])  # fmt: skip
    data = drawn_pdf(stream, page="/Annots [5 0 R 6 0 R 7 0 R 8 0 R]", catalog=FORM, objects=FIELDS)
    assert [line for line in lines_of(tmp_path, data) if line] == [
        "Applicant: Ines Okafor", "Boat: Cutter", "☑ A second key", "PIN:",
    ]  # fmt: skip


def test_texts_and_notes_that_were_added_to_a_page_are_read(tmp_path: Path) -> None:
    annotations = [
        "<< /Type /Annot /Subtype /FreeText /Contents (see form KM-3) /Rect [160 696 300 716] /DA (/F1 10 Tf) >>",
        "<< /Type /Annot /Subtype /Text /T (Bo) /Contents (ask the harbour master) /Rect [400 696 420 716] >>",
        "<< /Type /Annot /Subtype /Text /F 2 /Contents (hidden remark) /Rect [400 600 420 616] >>",
        "<< /Type /Annot /Subtype /Stamp /Contents (none) /Rect [300 500 400 540] /AP << /N 9 0 R >> >>",
        "<< /Type /XObject /Subtype /Form /BBox [0 0 100 40] /Resources << /Font << /F1 3 0 R >> >> /Length 42 >>"
        "\nstream\nBT /F1 12 Tf 4 10 Td (PAID IN FULL) Tj ET  \nendstream",
    ]
    page = "/Annots [5 0 R 6 0 R 7 0 R 8 0 R]"
    document = parsed(
        tmp_path, drawn_pdf(drawn_text(60, 700, "Berth"), page=page, objects=annotations)
    )
    assert [block.text for block in document.blocks if block.kind == "note"] == [
        "Bo: ask the harbour master"
    ]
    assert "Berth see form KM-3" in document.text
    assert "PAID IN FULL" in document.text
    assert "hidden remark" not in document.text


# ------------------------------------------------------------------------------------------------ what is seen
SEEN = drawn_text(60, 700, "The fee is 40 euros.")


@pytest.mark.parametrize(
    "hidden",
    [
        "3 Tr " + drawn_text(60, 600, "The fee is 90 euros."),
        "1 1 1 rg " + drawn_text(60, 600, "The fee is 90 euros."),
        "0 0 1 rg 50 590 200 30 re f " + drawn_text(60, 600, "The fee is 90 euros."),
        drawn_text(60, 600, "The fee is 90 euros.") + " 0 g 50 590 200 30 re f",
        drawn_text(60, 600, "The fee is 90 euros.", font="/F1 1 Tf"),
        drawn_text(60, 850, "The fee is 90 euros."),
        drawn_text(700, 600, "The fee is 90 euros."),
    ],
    ids=[
        "invisible",
        "white",
        "on its own colour",
        "covered",
        "tiny",
        "above the page",
        "beside the page",
    ],
)
def test_text_that_a_viewer_does_not_show_is_left_out(tmp_path: Path, hidden: str) -> None:
    assert parsed(tmp_path, drawn_pdf(f"{SEEN} q {hidden} Q")).text == "The fee is 40 euros."


def test_text_on_a_coloured_ground_is_read(tmp_path: Path) -> None:
    stream = f"0 0 1 rg 50 590 200 30 re f 1 1 1 rg {drawn_text(60, 600, 'White on blue.')}"
    assert parsed(tmp_path, drawn_pdf(stream)).text == "White on blue."


def test_invisible_text_over_a_picture_is_what_was_recognised_in_it(tmp_path: Path) -> None:
    stream = f"{SHOW_SCAN} 3 Tr {drawn_text(60, 600, 'Recognised words.')}"
    assert (
        parsed(tmp_path, drawn_pdf(stream, page=WITH_SCAN, objects=[SCAN])).text
        == "Recognised words."
    )


def test_turned_and_vertical_text_is_read_in_its_order(tmp_path: Path) -> None:
    letters = [drawn_text(500, 700 - 12 * at, letter) for at, letter in enumerate("QUAY")]
    stream = "\n".join([SEEN, drawn_text(40, 300, "Form QM-9", turn="0 1 -1 0"), *letters])
    texts = [block.text for block in parsed(tmp_path, drawn_pdf(stream)).blocks]
    assert texts == ["The fee is 40 euros.", "Form QM-9", "QUAY"]


def test_letters_of_turned_text_that_are_placed_one_by_one_are_words(tmp_path: Path) -> None:
    letters = [
        drawn_text(40, 300 + 7 * at, letter, turn="0 1 -1 0")
        for at, letter in enumerate("QUAY RENT")
    ]
    assert (
        parsed(tmp_path, drawn_pdf("\n".join([SEEN, *letters]))).text
        == "The fee is 40 euros.\n\nQUAY RENT"
    )


def test_a_range_that_a_line_ends_in_stays_whole(tmp_path: Path) -> None:
    words = "The office of the harbour master is open on Mondays from 9:00/"
    stream = f"{drawn_text(60, 700, words)} {drawn_text(60, 688, '12:30 and by appointment.')}"
    assert "9:00/12:30" in parsed(tmp_path, drawn_pdf(stream)).text


def test_symbols_that_are_drawn_after_their_line_stand_in_it(tmp_path: Path) -> None:
    stream = (
        f"{drawn_text(60, 700, 'Call')} {drawn_text(110, 700, 'now.')} {drawn_text(85, 700, '555')}"
    )
    assert parsed(tmp_path, drawn_pdf(stream)).text == "Call 555 now."


@pytest.mark.parametrize("state", ["/OFF [5 0 R]", "/BaseState /OFF"])
def test_a_layer_that_is_switched_off_is_not_read(tmp_path: Path, state: str) -> None:
    hidden = drawn_text(60, 600, "The fee is 90 euros.")
    data = drawn_pdf(
        f"{SEEN} /OC /L1 BDC {hidden} EMC /OC /L2 BDC {drawn_text(60, 500, 'It is due in May.')} EMC",
        resources="/Properties << /L1 5 0 R /L2 6 0 R >>",
        catalog=f"/OCProperties << /OCGs [5 0 R 6 0 R] /D << {state} /ON [6 0 R] >> >>",
        objects=["<< /Type /OCG /Name (Draft) >>", "<< /Type /OCG /Name (Final) >>"],
    )
    text = parsed(tmp_path, data).text
    assert "It is due in May." in text
    assert "90 euros" not in text


# ------------------------------------------------------------------------------------------------ what is not read
def test_layers_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    stream = f"/OC /L1 BDC {SEEN} EMC"
    resources = "/Properties << /L1 5 0 R >>"
    draft = ["<< /Type /OCG /Name (Draft) >>"]
    data = drawn_pdf(stream, resources=resources, catalog="/OCProperties 7", objects=draft)
    document = parsed(tmp_path, data)
    assert document.text
    assert [str(what) for what in document.unread] == [
        "its layers, so that text of hidden ones may be searched"
    ]


def test_a_form_of_a_kind_that_few_programs_show_is_said(tmp_path: Path) -> None:
    xfa = "<< /Length 5 >>\nstream\n<xdp>\nendstream"
    data = drawn_pdf(
        SEEN, catalog="/AcroForm << /Fields [] /XFA 5 0 R >> /NeedsRendering true", objects=[xfa]
    )
    assert [str(what) for what in parsed(tmp_path, data).unread] == [
        "a form (XFA) that few programs show"
    ]


def test_a_page_that_could_not_be_recognised_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ocr.shutil, "which", lambda _: None)
    document = parsed(tmp_path, drawn_pdf(SEEN, SHOW_SCAN, page=WITH_SCAN, objects=[SCAN]))
    assert document.text == "The fee is 40 euros."
    assert [str(what) for what in document.unread] == [
        "1 page that could not be recognised (page 2)"
    ]


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="Tesseract is not installed")
def test_a_page_whose_picture_holds_no_words_is_said(tmp_path: Path) -> None:
    document = parsed(tmp_path, drawn_pdf(SEEN, SHOW_SCAN, page=WITH_SCAN, objects=[SCAN]))
    assert [str(what) for what in document.unread] == ["1 picture without text (page 2)"]


def test_a_document_without_pages_says_so(tmp_path: Path) -> None:
    with pytest.raises(DocumentUnreadableError, match="has no pages"):
        parsed(tmp_path, drawn_pdf())


def test_too_many_pages_are_refused(tmp_path: Path) -> None:
    with (
        patch.multiple(document, MAX_PAGES=2),
        pytest.raises(DocumentUnreadableError, match="more than 2 pages"),
    ):
        parsed(tmp_path, drawn_pdf(SEEN, SEEN, SEEN))
