"""An answer's Markdown as HTML that is safe to put into a page.

Markdown is parsed without raw HTML, then sanitised. Images are left out: an address that a document smuggled into an
answer could carry the conversation away as soon as a browser loads it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from chat.messages.weak_marks import mark_weak, needles

MARKER = re.compile(r"\[(\d{1,3})\]")
TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "mark", "ol", "p",
    "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"a": {"href", "title", "class", "data-marker"}, "ol": {"start"}, "code": {"class"}}


def render_answer(text: str, *, markers: Collection[int], weak: Sequence[str] = ()) -> str:
    """HTML of an answer; the markers that have a source become `<a class="citation" data-marker="1">`.

    weak: its weakly supported sentences, as they stand in it; they are put into `<mark>`.
    """
    html = _markdown.render(text, {"markers": frozenset(markers), "weak": needles(weak)})
    return nh3.clean(
        html, tags=TAGS, attributes=ATTRIBUTES, url_schemes={"http", "https", "mailto"}, link_rel="noopener noreferrer"
    )


def cited_markers(text: str) -> set[int]:
    """The numbers that stand in the text as [n]."""
    return {int(number) for number in MARKER.findall(text)}


def _link_markers(state: StateCore) -> None:
    markers = state.env.get("markers", frozenset())
    for block in state.tokens:
        if block.type == "inline" and block.children:
            block.children = [piece for token in block.children for piece in _split(token, markers)]


def _split(token: Token, markers: Collection[int]) -> list[Token]:
    if token.type != "text":
        return [token]
    pieces: list[Token] = []
    position = 0
    for match in MARKER.finditer(token.content):
        if int(match[1]) in markers:
            pieces += [_text(token.content[position : match.start()]), _link(match[1])]
            position = match.end()
    return [*pieces, _text(token.content[position:])]


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _link(number: str) -> Token:
    number = str(int(number))
    link = f'<a class="citation" href="#source-{number}" data-marker="{number}">[{number}]</a>'
    return Token("html_inline", "", 0, content=link)


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The library's table, cut where the answer's tables have more cells than the answer has characters.

    The library fills up short rows, to 65,536 cells for 2 kB of text. A table whose rows are whole is never cut: each
    of its cells takes a character at least.
    """
    if start + 1 >= end:
        return False
    delimiters = state.src[state.bMarks[start + 1] : state.eMarks[start + 1]]
    columns = delimiters.strip().strip("|").count("|") + 1
    left = len(state.src) - state.env.get("cells", 0)
    found = table(state, start, min(end, start + 1 + left // columns), silent)
    if found and not silent:
        state.env["cells"] = state.env.get("cells", 0) + columns * (state.line - start - 1)
    return found


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    # "[1]: https://…" in an answer would turn its citation markers into links to elsewhere.
    parser.disable(["reference", "image"])
    parser.core.ruler.push("citation_markers", _link_markers)
    parser.core.ruler.push("weak_sentences", mark_weak)
    return parser


_markdown = _parser()
