"""Markdown files: front matter, tables, and the HTML in them."""

from __future__ import annotations

import pytest

from retrieval.knowledge.ingest.blocks import ParsedDocument
from retrieval.knowledge.ingest.markup.markdown import as_seen, parse_markdown


def read(text: str) -> ParsedDocument:
    return parse_markdown(text.encode())


def texts(text: str) -> list[str]:
    return [block.text for block in read(text).blocks]


@pytest.mark.parametrize(
    "head",
    [
        '---\ntitle: "Night desk: rules"\nowner: Kestrel\nversion: 1.10\nfor: [api, web]\nsince: 2026-03-15\n---\n',
        '+++\ntitle = "Night desk: rules"\nowner = "Kestrel"\nversion = 1.10\nfor = ["api", "web"]\n'
        "since = 2026-03-15\n+++\n",
        "---\ntitle: Night desk: rules\nowner: Kestrel\nversion: 1.10\nfor: api, web\nsince: 2026-03-15\n---\n",
    ],
)
def test_front_matter_can_be_searched_as_it_is_written(head: str) -> None:
    document = read(f"{head}\nOpen at nine.\n")
    assert document.title == "Night desk: rules"
    assert [block.text for block in document.blocks] == [
        "- owner: Kestrel\n- version: 1.10\n- for: api, web\n- since: 2026-03-15",
        "Open at nine.",
    ]


@pytest.mark.parametrize("text", ["---\n\nOpen at nine.", "---\nOpen at nine.", "--- title\nOpen."])
def test_a_rule_is_no_front_matter(text: str) -> None:
    assert read(text).text.endswith(text.removeprefix("---\n").strip())


def test_front_matter_that_refers_to_itself_is_bounded() -> None:
    bomb = "\n".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" if n else "a0: &a0 x" for n in range(40)
    )
    assert len(read(f"---\n{bomb}\n---\nOpen.").text) < 10_000


def test_a_row_of_a_table_names_its_columns() -> None:
    [text] = texts(
        "| Day | Hours |\n|:--|--:|\n| Monday | 9:00<br>14:00 |\n| Sunday |\n| a \\| b | `x` | more |\n"
    )
    assert (
        text == "Day | Hours\nDay: Monday; Hours: 9:00 14:00\nDay: Sunday\nDay: a | b; Hours: `x`"
    )


def test_blocks_of_html_are_apart_and_a_summary_is_a_heading() -> None:
    page = (
        "<p>The gate</p><p>closes.</p>\n\n<ul><li>Cash</li><li>Card</li></ul>\n\n"
        "<details>\n<summary>Is there parking?</summary>\n\nFor *forty* cars.\n\n</details>\n"
    )
    assert texts(page) == [
        "The gate",
        "closes.",
        "- Cash",
        "- Card",
        "Is there parking?",
        "For *forty* cars.",
    ]


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("Press <kbd>Ctrl</kbd><kbd>K</kbd>", "Press Ctrl K"),
        ("nine<br/>to five", "nine  \nto five"),
        ("10<sup>6</sup> <b>bold</b> H<sub>2</sub>O", "10⁶ bold H2O"),
        ("&euro;&nbsp;25 &mdash; &lt;b&gt; &#42;", "€ 25 — <b> &#42;"),
        ("`<b>` and ``a ` <i>`` but <i>this</i>", "`<b>` and ``a ` <i>`` but this"),
        ("run <pod> or <https://example.org/>", "run <pod> or <https://example.org/>"),
        ("before<!-- not seen --> after", "before after"),
    ],
)
def test_inline_html_is_read_as_it_is_seen(source: str, seen: str) -> None:
    assert as_seen(source) == seen


@pytest.mark.parametrize("hiding", ["hidden", 'style="display:none"'])
def test_what_inline_html_hides_is_left_out(hiding: str) -> None:
    assert texts(f"It costs **nine** euros. <span {hiding}>It is free.</span>") == [
        "It costs nine euros."
    ]
