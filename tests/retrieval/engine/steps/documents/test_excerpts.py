"""A document's sections as its reader sees them, however its chunks were cut; what changed; the outline."""

from __future__ import annotations

from itertools import groupby

from retrieval.engine.steps.documents.compare import compare
from retrieval.engine.steps.documents.excerpts import Excerpt, excerpts_of
from tests.retrieval.engine.steps.fakes import cut


def said(excerpts: list[Excerpt]) -> list[tuple[str, list[str]]]:
    """By section."""
    sections = groupby(excerpts, key=lambda one: (one.section, one.heading))
    return [
        (heading, [one.text for excerpt in section for one in excerpt.statements])
        for (_, heading), section in sections
    ]


def test_headings_inside_one_chunk_make_sections() -> None:
    chunks = cut(
        "# Rules\n\nIn force.\n\n## 1 Loans\n\nTwelve books.\n\n## 2 Fines\n\n- EUR 1.\n- EUR 2."
    )
    assert said(excerpts_of(chunks)) == [
        ("", ["In force."]), ("1 Loans", ["Twelve books."]), ("2 Fines", ["EUR 1.", "EUR 2."])
    ]  # fmt: skip


def test_a_section_over_several_chunks_is_one_and_repeats_nothing() -> None:
    first, second = "## Loans\n\nTwelve books. Four weeks.", "Four weeks. No renewal."
    chunks = cut(
        first, second, headings=("Rules › Loans", "Rules › Loans"), gap=-len("Four weeks.")
    )
    assert said(excerpts_of(chunks)) == [("Loans", ["Twelve books.", "Four weeks.", "No renewal."])]


def test_bare_rows_of_a_table_are_a_line_each() -> None:
    assert said(excerpts_of(cut("假別 | 上限\n病假 | 20日"))) == [
        ("", ["假別；上限", "病假；20日"])
    ]


# ------------------------------------------------------------------------------------------------ what changed
def test_moved_sentences_are_no_change_and_reworded_ones_are() -> None:
    old = excerpts_of(
        cut(
            "## 1 Loans\n\nA book is lent for 3 weeks. Cards are shown.\n\n## 2 Fines\n\nNone for staff."
        )
    )
    new = excerpts_of(
        cut(
            "## 1 Loans\n\nA book is lent for 4 weeks.\n\n## 2 Fines\n\nCards are shown. Visitors pay EUR 2."
        )
    )
    changes = compare(old, new).changes
    assert [(one.kind, (one.old or one.new).text) for one in changes if (one.old or one.new)] == [  # type: ignore[union-attr]
        ("changed", "A book is lent for 3 weeks."), ("new", "Visitors pay EUR 2."), ("gone", "None for staff.")
    ]  # fmt: skip
    assert compare(old, new).same == 1
    assert compare(old, old).changes == () and compare([], []).changes == ()
