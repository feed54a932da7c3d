"""Each format gives its words, headings, tables and pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieval.knowledge.ingest.blocks import ParsedDocument
from retrieval.knowledge.ingest.markup.html import parse_html
from retrieval.knowledge.ingest.markup.markdown import parse_markdown
from retrieval.knowledge.ingest.reading import parse_file
from retrieval.knowledge.ingest.sheets.delimited import parse_csv
from retrieval.knowledge.ingest.sniff import kind_by_name
from retrieval.knowledge.ingest.text import parse_text
from tests.retrieval.knowledge.ingest.files import docx_bytes, docx_of, pdf_bytes


def headings(document: ParsedDocument) -> list[tuple[int, str]]:
    return [(block.level, block.label) for block in document.blocks if block.kind == "heading"]


async def parsed(tmp_path: Path, name: str, data: bytes) -> ParsedDocument:
    path = tmp_path / name
    path.write_bytes(data)
    return parse_file(path, kind=kind_by_name(name))


async def test_pdf_pages_are_numbered_from_one(tmp_path: Path) -> None:
    document = await parsed(
        tmp_path, "a.pdf", pdf_bytes(["First page", "", "Third page"], title="Rules of loans")
    )
    assert [(block.page, block.text) for block in document.blocks] == [
        (1, "First page"),
        (3, "Third page"),
    ]
    assert (document.page_count, document.title) == (3, "Rules of loans")


async def test_direction_overrides_show_nothing_backwards(tmp_path: Path) -> None:
    text = "# A \u202efee\n\nIt is \u202e42 euros\u202c, \u2067שלום\u2069.\n\n| \u202eDay | Fee |\n|-|-|\n| 1 | 2 |\n"
    document = await parsed(tmp_path, "a.md", text.encode())
    assert "\u202e" not in document.text + document.title
    assert "It is 42 euros\u202c, \u2067שלום\u2069." in document.text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.txt", "The pass\u200bword of the Haus\u00adordnung".encode()),
        ("a.md", "The pass\ufeffword of the Haus&shy;ordnung".encode()),
        ("a.html", b"<p>The pass&ZeroWidthSpace;word of the Haus&shy;ordnung</p>"),
        ("a.csv", "Rule,Place\nThe pass\u2060word of the Haus\u00adordnung,hall\n".encode()),
        ("a.docx", docx_of("The pass\u200bword of the Haus\u00adordnung")),
        ("a.pdf", pdf_bytes(["The pass\u200bword of the Haus\u00adordnung"])),
    ],
)
async def test_characters_that_no_reader_sees_part_no_word(
    tmp_path: Path, name: str, data: bytes
) -> None:
    assert "The password of the Hausordnung" in (await parsed(tmp_path, name, data)).text


async def test_joiners_that_spell_a_word_or_an_emoji_stay(tmp_path: Path) -> None:
    text = "می\u200cخواهم and 👩\u200d🔬 and plain\u200cword"
    document = await parsed(tmp_path, "a.txt", text.encode())
    assert document.text == "می\u200cخواهم and 👩\u200d🔬 and plainword"


BODY = "\n".join(
    f"Line {number} of the rules says what is allowed, and who has to be asked."
    for number in range(12)
)


async def test_pdf_headings_are_known_by_their_larger_type_and_levels_by_their_numbers(
    tmp_path: Path,
) -> None:
    pages = [
        f"# Thesis guide\n{BODY}\n# 2 Form\n{BODY}\n# 2.3 Tools\n{BODY}",
        f"# 3 Submission\n{BODY}",
    ]
    document = await parsed(tmp_path, "a.pdf", pdf_bytes(pages))
    assert headings(document) == [
        (1, "Thesis guide"),
        (2, "2 Form"),
        (3, "2.3 Tools"),
        (2, "3 Submission"),
    ]


CLAIM = [
    "Claims for expenses have to be handed in within three weeks after the end",
    "of the trip, with the receipts.",
    "Others are not paid.",
]


@pytest.mark.parametrize("heading", ["# 3 Claims", "** 3 Claims", "\n3 Claims\n", "3 Claims"])
async def test_a_heading_of_a_pdf_is_not_glued_to_its_first_sentence(
    tmp_path: Path, heading: str
) -> None:
    lines = [
        "Trips are booked by the travel desk, at least ten days before they begin.",
        heading,
        *CLAIM,
    ]
    document = await parsed(tmp_path, "a.pdf", pdf_bytes(["\n".join(lines)]))
    assert [(block.kind, block.text) for block in document.blocks] == [
        ("paragraph", lines[0]), ("heading", "3 Claims"), ("paragraph", f"{CLAIM[0]} {CLAIM[1]}\n{CLAIM[2]}"),
    ]  # fmt: skip


async def test_paragraphs_of_a_pdf_are_parted_by_their_gap_and_by_their_type(
    tmp_path: Path,
) -> None:
    page = "\n".join(
        [*CLAIM[:2], "", *CLAIM[:2], "** Exceptions", *CLAIM[:2], "1. Hotels", "2. Trains"]
    )
    document = await parsed(tmp_path, "a.pdf", pdf_bytes([page]))
    claim = " ".join(CLAIM[:2])
    assert [block.text for block in document.blocks] == [
        claim,
        claim,
        "Exceptions",
        f"{claim}\n1. Hotels\n2. Trains",
    ]


async def test_rows_of_a_pdfs_table_have_their_cells_apart(tmp_path: Path) -> None:
    page = (
        "Fees are due in May.\nGroup\tBooks\tFee\nStaff\t20\tEUR 5\nAlumni\t15\tEUR 12\nPay online."
    )
    document = await parsed(tmp_path, "a.pdf", pdf_bytes([page]))
    table = "Group | Books | Fee\nGroup: Staff; Books: 20; Fee: EUR 5\nGroup: Alumni; Books: 15; Fee: EUR 12"
    assert [block.text for block in document.blocks] == [
        "Fees are due in May.",
        table,
        "Pay online.",
    ]


async def test_running_headers_of_a_pdf_are_read_once_and_page_numbers_never(
    tmp_path: Path,
) -> None:
    pages = [
        f"University handbook\nText number {word}\nPage {n}" for n, word in enumerate("abcde", 1)
    ]
    document = await parsed(tmp_path, "a.pdf", pdf_bytes(pages))
    assert (document.text.count("University handbook"), document.text.count("Page")) == (1, 0)
    assert document.text.count("Text number") == 5


async def test_docx_headings_tables_and_title(tmp_path: Path) -> None:
    document = await parsed(tmp_path, "a.docx", docx_bytes())
    assert headings(document) == [(1, "Loans"), (2, "Fines")]
    assert "每逾期一天罚款一元。" in document.text
    assert (
        document.blocks[-1].text
        == "Group | Books | Weeks\nGroup: Staff; Books: unlimited; Weeks: unlimited"
    )
    assert document.title == "Library rules"


def test_markdown_blocks_keep_their_source() -> None:
    source = "# Loans\n\nTen *books*.\n\n```sh\n# no heading\n\nls\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two\n"
    document = parse_markdown(source.encode())
    assert [block.kind for block in document.blocks] == [
        "heading",
        "paragraph",
        "code",
        "table",
        "paragraph",
    ]
    assert document.text == source.strip().replace("|---|---|\n| 1 | 2 |", "a: 1; b: 2").replace(
        "| a | b |", "a | b"
    )


def test_html_gives_what_a_reader_sees() -> None:
    page = (
        "<html><head><title>Rules</title><style>p{}</style></head><body><nav>Home</nav><h2>Loans</h2>"
        "<script>alert(1)</script><p>Ten <b>books</b>,<br>four weeks.</p><!-- hidden -->"
        "<table><tr><th>Group</th><th>Books</th></tr><tr><td>Staff</td><td>20</td></tr></table>"
        "<pre>a  b\n  c</pre></body></html>"
    )
    document = parse_html(page.encode())
    assert [block.text for block in document.blocks] == [
        "Loans", "Ten books,\nfour weeks.", "Group | Books\nGroup: Staff; Books: 20", "a  b\n  c",
    ]  # fmt: skip
    assert (document.title, headings(document)) == ("Rules", [(2, "Loans")])


def test_csv_rows_carry_their_column_names() -> None:
    document = parse_csv("姓名;部门\n张三;教务处\n李四;图书馆\n".encode("gbk"))
    assert document.text == "姓名 | 部门\n姓名: 张三; 部门: 教务处\n姓名: 李四; 部门: 图书馆"


def test_text_chapters_of_chinese_regulations_become_headings() -> None:
    text = "学生管理规定\n\n第一章 总则\n第一条 为规范管理，制定本规定。\n第二章　宿舍\n第二条 宿舍按时关闭。\n"
    assert headings(parse_text(text.encode("gbk"))) == [(2, "第一章 总则"), (2, "第二章　宿舍")]
