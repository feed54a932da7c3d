"""The blocks of a whole Markdown file, and the signs inside a line.

markdown-it-py finds the blocks; places are offsets into the text as it was given. Inline markup is read in headings
alone, so long texts are read in the time of their lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, table
from markdown_it.token import Token

from retrieval.text.emphasis import cjk_emphasis

Kind = Literal["heading", "text", "table", "code", "html"]
KINDS: dict[str, Kind] = {
    "heading_open": "heading", "paragraph_open": "text", "bullet_list_open": "text", "ordered_list_open": "text",
    "blockquote_open": "text", "table": "table", "fence": "code", "code_block": "code", "html_block": "html",
}  # fmt: skip
MAX_LABEL_CHARS = 300  # characters of a heading that are read for inline markup: links in links take quadratic time

_ANCHOR = re.compile(r"\{:? ?#[^{}\s]* ?\}\Z")
_CELL_END = re.compile(r"(?<!\\)\|")
# Wider than Markdown's own: "•" and "3、" are what people and models write.
_LIST_SIGN = re.compile(r"(?:[-*•+]|\d{1,3}[.)、])\s+")
_SIGNS = re.compile(r"\s*(?:(?:[-*•+]|\d{1,3}[.)、]|>|#{1,6})\s+)+")
_MARKUP = frozenset("\\`*_[]<>&!{}")
_EMPHASIS = re.compile(r"\*\*|__|`")


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """`text[start:end]`: whole lines. Of a heading its level, 1–6, and its words without markup."""

    kind: Kind
    start: int
    end: int
    level: int = 0
    label: str = ""


def document_blocks(text: str) -> list[MarkdownBlock]:
    """Those of the outermost level, in order: a list is one block, with all that stands in it. text: with Unix line
    ends.

    Rules (`---`) and link definitions are left out.
    """
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    tokens, blocks = _parser.parse(text), list[MarkdownBlock]()
    for at, token in enumerate(tokens):
        if token.level == 0 and token.map is not None and token.type in KINDS:
            first, last = token.map
            end = starts[first] + len(text[starts[first] : starts[last]].rstrip())
            is_heading = token.type == "heading_open"
            level, label = (int(token.tag[1:]), inline_text(tokens[at + 1].content)) if is_heading else (0, "")
            blocks.append(MarkdownBlock(KINDS[token.type], starts[first], end, level, label))
    return [block for block in blocks if block.start < block.end]


# ------------------------------------------------------------------------------------------------ tables
def is_row(line: str) -> bool:
    """Whether a line looks like a row of a table."""
    return line.lstrip().startswith("|")


def is_delimiter_row(line: str) -> bool:
    """`|---|:--:|`: what stands between a table's head and its rows."""
    return "--" in line and not line.strip().strip("|:- \t")


def row_cells(line: str) -> list[str]:
    """`| a | b \\| c |` → ["a", "b | c"]."""
    row = line.strip().removeprefix("|")
    cells = [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(row)]
    return cells[:-1] if len(cells) > 1 and not cells[-1] else cells


# ------------------------------------------------------------------------------------------------ inside a line
def list_sign(line: str) -> int:
    """The length of the sign that begins a list item, with the blanks after it; 0 where there is none."""
    match = _LIST_SIGN.match(line)
    return match.end() if match else 0


def leading_signs(text: str) -> int:
    """The length of all signs in front of a line's words: of lists, quotations and headings, and the blanks between."""
    match = _SIGNS.match(text)
    return match.end() if match else 0


def without_emphasis(text: str) -> str:
    """Without `**`, `__` and backticks."""
    return _EMPHASIS.sub("", text)


def inline_text(markdown: str) -> str:
    """A line's words: links by their text, without emphasis, HTML and a closing `{#anchor}`."""
    line = markdown[:MAX_LABEL_CHARS].rstrip()
    if _MARKUP.isdisjoint(line):  # most headings
        return " ".join(line.split())
    words = "".join(map(_words, _inline.parseInline(_ANCHOR.sub("", line))[0].children or ()))
    return " ".join(words.split())


def _words(token: Token) -> str:
    if token.type == "html_inline":
        return ""
    return " " if token.type in ("softbreak", "hardbreak") else token.content


def without_tags(html: str) -> str:
    """The text of an HTML block: without comments and tags."""
    *ended, rest = html.split("-->")
    kept = (piece.partition("<!--")[0] if "<!--" in piece else piece + "-->" for piece in ended)
    return _TAG.sub("", "".join((*kept, rest)))


_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


# ------------------------------------------------------------------------------------------------ the parsers
def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The library's table, as one token: it makes one of each cell, and of those that short rows lack, up to 65,536
    of 2 kB of text. A row holds a `|`: text that follows at once is no row."""
    if not table(state, start, end, True):
        return False
    if silent:
        return True
    token = state.push("table", "table", 0)
    line = start + 2
    while line < end and not _ends_table(state, line, end):
        line += 1
    token.map = [start, line]
    state.line = line
    return True


def _ends_table(state: StateBlock, line: int, end: int) -> bool:
    if state.sCount[line] < state.blkIndent or state.is_code_block(line):
        return True
    if "|" not in state.src[state.bMarks[line] : state.eMarks[line]]:
        return True
    return any(rule(state, line, end, True) for rule in state.md.block.ruler.getRules("blockquote"))


def _closed_quotation(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The library's quotation without what stands in it: to look for blocks in it takes a pass over all its lines for
    each quotation in a quotation."""
    level, at = state.level, len(state.tokens)
    state.level = state.md.options.maxNesting
    try:
        is_quotation = blockquote(state, start, end, silent)
    finally:
        state.level = level
    if is_quotation and not silent:
        state.tokens[at].level = level
    return is_quotation


def _block_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark")
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.at("blockquote", _closed_quotation, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return parser.enable("table").disable("inline")


_parser = _block_parser()
_inline = MarkdownIt("commonmark").use(cjk_emphasis)
