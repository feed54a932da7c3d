"""What answers look like, case by case. tests/js/markdown.test.js reads the same file: the page draws the same."""

from __future__ import annotations

import json
import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from chat.messages.rendering import render_answer

CASES = json.loads((Path(__file__).parent.parent / "markdown_cases.json").read_text("utf-8"))
BLOCKS = "p|ul|ol|li|table|thead|tbody|tr|th|td|blockquote|pre|h[1-6]|hr|div"


class _Skeleton(HTMLParser):
    """The elements and the text, without attributes."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.parts.append(f"<{tag}></{tag}>" if tag in ("br", "hr") else f"<{tag}>")

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.parts.append(escape(data, quote=False).replace("&gt;", ">"))


def skeleton(html: str) -> str:
    """As `markup` of tests/js/page.js writes it; line ends beside blocks mean nothing, and a citation is its number."""
    parser = _Skeleton()
    parser.feed(html)
    parser.close()
    found = re.sub(rf"\n*(</?(?:{BLOCKS})>)\n*", r"\1", "".join(parser.parts))
    return re.sub(r"<a>\[(\d+)\]</a>", r"<a>\1</a>", found).replace("</br>\n", "</br>")


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_an_answer_looks_like_this(case: dict[str, str]) -> None:
    assert skeleton(render_answer(case["text"], markers={1, 12})) == case["html"]
