"""A document's sections as its reader sees them, however its chunks were cut; what changed; what patterns find."""

from __future__ import annotations

import pytest

from retrieval.steps.document.changes import compare
from retrieval.steps.document.compose import MOST_SOURCES, outline
from retrieval.steps.document.extract import find
from retrieval.steps.document.read import WholeDocument
from retrieval.steps.document.sections import Section, Statement, sections_of
from retrieval.steps.document.task import Kind
from retrieval.values import DocumentRef, StoredChunk
from tests.retrieval.steps.fakes import chunk


def cut(*texts: str, headings: tuple[str, ...] = (), overlap: int = 0, title: str = "Rules") -> list[StoredChunk]:
    """Chunks of one document; each but the first begins `overlap` characters before the end of the one before."""
    chunks, end = [], 0
    for seq, text in enumerate(texts):
        start = max(0, end - overlap) if seq else 0
        heading = headings[seq] if headings else title
        chunks.append(
            StoredChunk(
                chunk_id=f"c{seq}", document_id="d", collection_id="c1", seq=seq, title=title, heading=heading,
                text=text, char_start=start, char_end=start + len(text),
            )
        )  # fmt: skip
        end = start + len(text)
    return chunks


def said(sections: list[Section]) -> list[tuple[str, list[str]]]:
    return [(section.heading, [one.text for one in section.statements()]) for section in sections]


def test_headings_inside_one_chunk_make_sections() -> None:
    chunks = cut("# Rules\n\nIn force.\n\n## 1 Loans\n\nTwelve books.\n\n## 2 Fines\n\n- EUR 1.\n- EUR 2.")
    assert said(sections_of(chunks)) == [
        ("", ["In force."]), ("1 Loans", ["Twelve books."]), ("2 Fines", ["EUR 1.", "EUR 2."])
    ]  # fmt: skip


def test_a_section_over_several_chunks_is_one_and_repeats_nothing() -> None:
    first, second = "## Loans\n\nTwelve books. Four weeks.", "Four weeks. No renewal."
    chunks = cut(first, second, headings=("Rules › Loans", "Rules › Loans"), overlap=len("Four weeks."))
    assert said(sections_of(chunks)) == [("Loans", ["Twelve books.", "Four weeks.", "No renewal."])]


@pytest.mark.parametrize("heading", ["第一條 假別", "一、座位预约", "5 Final deposit", "§ 3 Fees", "（二）範圍"])
def test_numbered_lines_are_headings_where_nothing_marks_them(heading: str) -> None:
    assert [one for one, _ in said(sections_of(cut(f"{heading}\n\nA rule stands here.")))] == [heading]


@pytest.mark.parametrize("line", ["第一条 新生应当报到。", "3 books may be borrowed at once", "1. The fee is EUR 5."])
def test_numbered_sentences_are_no_headings(line: str) -> None:
    assert [one for one, _ in said(sections_of(cut(f"{line}\n\nA rule stands here.")))] == [""]


def test_long_text_without_headings_is_parted_at_its_chunks() -> None:
    assert len(sections_of(cut(*["So it goes. " * 200] * 4, title=""))) == 4
    assert sections_of([]) == []


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("假別 | 上限\n病假 | 20日\n事假 | 8日", ["假別：病假；上限：20日", "假別：事假；上限：8日"]),
        ("Copy | EUR 1\nScan | EUR 2", ["Copy; EUR 1", "Scan; EUR 2"]),
        ("Dean | Ann Lee\nRector | Bo Xu", ["Dean; Ann Lee", "Rector; Bo Xu"]),
        ("Kind | Days | Proof\nillness | 20\nother | 8", ["Kind; Days; Proof", "illness; 20", "other; 8"]),
        ("Kind | Days", ["Kind; Days"]),
    ],
)
def test_a_first_row_is_a_header_where_only_the_rows_below_have_figures(table: str, rows: list[str]) -> None:
    assert said(sections_of(cut(table))) == [("", rows)]


# ------------------------------------------------------------------------------------------------ what changed
def test_moved_sentences_are_no_change_and_reworded_ones_are() -> None:
    old = sections_of(
        cut("## 1 Loans\n\nA book is lent for 3 weeks. Cards are shown.\n\n## 2 Fines\n\nNone for staff.")
    )
    new = sections_of(
        cut("## 1 Loans\n\nA book is lent for 4 weeks.\n\n## 2 Fines\n\nCards are shown. Visitors pay EUR 2.")
    )
    changes = compare(old, new).changes
    assert [(one.kind, (one.old or one.new).text) for one in changes if (one.old or one.new)] == [  # type: ignore[union-attr]
        ("changed", "A book is lent for 3 weeks."), ("new", "Visitors pay EUR 2."), ("gone", "None for staff.")
    ]  # fmt: skip
    assert compare(old, new).same == 1
    assert compare(old, old).changes == () and compare([], []).changes == ()


def test_a_sentence_said_twice_and_now_once_is_gone_once() -> None:
    old, new = sections_of(cut("Ask us. More here. Ask us.")), sections_of(cut("Ask us. More here."))
    assert [one.kind for one in compare(old, new).changes] == ["gone"]


def test_large_documents_are_compared_at_once() -> None:
    texts = [" ".join(f"Rule {n} holds for case {n * k} of {k}." for n in range(40)) for k in range(1, 60)]
    old, new = sections_of(cut(*texts)), sections_of(cut(*texts[1:], "Rule 9 holds for nobody."))
    assert compare(old, new).same == 58 * 40


# ------------------------------------------------------------------------------------------------ patterns
@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Registration closes on 1 July.", {"deadlines", "dates"}),
        ("It is paid back within 30 days.", {"deadlines"}),
        ("The office decides within 15 working days.", {"deadlines"}),
        ("申請截止後七日內公佈。", {"deadlines"}),
        ("The library was founded in 1911.", {"dates"}),
        ("A late resit costs EUR 55.", {"amounts"}),
        ("每次收费65欧元。", {"amounts"}),
        ("Write to help@northlake.example.", {"contacts"}),
        ("電話：02-2345-6789", {"contacts"}),
        ("Candidates must show their card.", {"requirements"}),
        ("學生不得轉讓。", {"requirements"}),
        ("The hall is quiet.", set()),
        ("March is a fine month for a walk in May.", set()),
    ],
)
def test_patterns_tell_kinds_apart(text: str, kinds: set[Kind]) -> None:
    statement = Statement(text, chunk(1, text))
    every: tuple[Kind, ...] = ("deadlines", "dates", "amounts", "contacts", "requirements")
    assert {kind for kind in every if find([statement], [kind])} >= kinds
    if not kinds:
        assert not find([statement], ["deadlines", "amounts", "contacts", "requirements"])


# ------------------------------------------------------------------------------------------------ the outline
def test_an_outline_of_very_many_sections_shows_the_larger_parts() -> None:
    texts = [
        f"## {part}.{number} Detail\n\nRule {part}.{number} holds." for part in range(1, 9) for number in range(20)
    ]
    headings = tuple(f"Rules › Part {part} › {part}.{n} Detail" for part in range(1, 9) for n in range(20))
    sections = tuple(sections_of(cut(*texts, headings=headings)))
    document = WholeDocument(DocumentRef(id="d", title="Rules"), sections, len(sections))
    quoted = outline(document, "en")
    assert "**Part 8**" in quoted.text and "160 sections" in quoted.text
    assert len(quoted.sources) <= MOST_SOURCES


def test_an_outline_says_what_was_not_read_and_covers_the_rest() -> None:
    texts = [f"## Rule {number}\n\nRule {number} holds." for number in range(90)]
    sections = tuple(sections_of(cut(*texts, headings=tuple(f"Rules › Rule {number}" for number in range(90)))))
    quoted = outline(WholeDocument(DocumentRef(id="d", title="Rules"), sections, 900), "en")
    assert "the first 90 of 900 sections" in quoted.text and "**Rule 0 – Rule 2**" in quoted.text
